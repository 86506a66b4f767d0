#if Postgres
  /// The changes of a write transaction that the server does not have yet: per table, in the order of the keys.
  final class Overlay {
    struct Change {
      let key: UnsafeRawBufferPointer
      /// Nil if the key is deleted.
      let value: UnsafeRawBufferPointer?
    }

    /// The changes of one table, in blocks, so that an insertion moves few of them.
    struct Table {
      private static let blockLimit = 256

      private(set) var blocks: [[Change]] = []
      private(set) var count = 0

      /// The block that has a key, or would have it, and the index of the first change at or behind it.
      private func place(of key: UnsafeRawBufferPointer) -> (block: Int, index: Int) {
        var (low, high) = (0, blocks.count)
        while low < high {
          let middle = (low + high) / 2
          if keyOrder(blocks[middle][0].key, key) <= 0 { low = middle + 1 } else { high = middle }
        }
        let block = max(0, low - 1)
        guard block < blocks.count else { return (0, 0) }
        (low, high) = (0, blocks[block].count)
        while low < high {
          let middle = (low + high) / 2
          if keyOrder(blocks[block][middle].key, key) < 0 { low = middle + 1 } else { high = middle }
        }
        return (block, low)
      }

      func change(of key: UnsafeRawBufferPointer) -> Change? {
        let (block, index) = place(of: key)
        guard block < blocks.count, index < blocks[block].count, keyOrder(blocks[block][index].key, key) == 0 else {
          return nil
        }
        return blocks[block][index]
      }

      /// The first change at or behind a key.
      func next(from key: UnsafeRawBufferPointer) -> Change? {
        let (block, index) = place(of: key)
        guard block < blocks.count else { return nil }
        if index < blocks[block].count { return blocks[block][index] }
        return block + 1 < blocks.count ? blocks[block + 1][0] : nil
      }

      /// The last change before a key, or the last one of all if the key is empty.
      func previous(before key: UnsafeRawBufferPointer) -> Change? {
        if key.isEmpty { return blocks.last?.last }
        let (block, index) = place(of: key)
        guard block < blocks.count else { return nil }
        if index > 0 { return blocks[block][index - 1] }
        return block > 0 ? blocks[block - 1].last : nil
      }

      mutating func set(_ change: Change) {
        if blocks.isEmpty {
          blocks.append([change])
          count = 1
          return
        }
        let (block, index) = place(of: change.key)
        if index < blocks[block].count, keyOrder(blocks[block][index].key, change.key) == 0 {
          blocks[block][index] = change
          return
        }
        blocks[block].insert(change, at: index)
        count += 1
        guard blocks[block].count > Self.blockLimit else { return }
        // Keys mostly arrive in ascending order: the full block stays full.
        let isLast = block == blocks.count - 1 && index == blocks[block].count - 1
        let middle = isLast ? Self.blockLimit : Self.blockLimit / 2
        let tail = Array(blocks[block][middle...])
        blocks[block].removeSubrange(middle...)
        blocks.insert(tail, at: block + 1)
      }
    }

    private(set) var tables: [UInt32: Table] = [:]
    private var memory: [UnsafeMutableRawBufferPointer] = []
    private var used = 0
    /// The number of bytes of all keys and values, including replaced ones.
    private(set) var byteCount = 0

    private static let blockLength = 256 << 10

    deinit { for block in memory { block.deallocate() } }

    var isEmpty: Bool { tables.isEmpty }

    func table(_ table: UInt32) -> Table? { tables[table] }

    /// Stores a change. The bytes are copied.
    func set(_ table: UInt32, _ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer?) {
      let change = Change(key: copy(key), value: value.map(copy))
      tables[table, default: Table()].set(change)
    }

    private func copy(_ bytes: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
      byteCount += bytes.count + 16
      // An empty value has an address, too.
      let length = max(1, bytes.count)
      if memory.last.map({ $0.count - used < length }) ?? true {
        memory.append(.allocate(byteCount: max(length, Self.blockLength), alignment: 16))
        used = 0
      }
      let block = memory[memory.count - 1]
      let place = UnsafeMutableRawBufferPointer(rebasing: block[used..<used + bytes.count])
      place.copyMemory(from: bytes)
      used += length
      return UnsafeRawBufferPointer(place)
    }
  }
#endif
