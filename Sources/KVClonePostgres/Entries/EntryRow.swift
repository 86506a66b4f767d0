#if Postgres
  /// The memory of keys and values, as long as it exists.
  class RowMemory: @unchecked Sendable {
    /// The number of bytes that it occupies.
    let byteCount: Int

    init(byteCount: Int) { self.byteCount = byteCount }
  }

  /// A key and its value in memory that `owner` keeps.
  struct EntryRow {
    let key: UnsafeRawBufferPointer
    let value: UnsafeRawBufferPointer
    let owner: RowMemory

    /// The number of bytes of the entry, with an allowance for the row and its part of the owner.
    var byteCount: Int { key.count + value.count + 96 }
  }

  /// Copies of keys and values in one block.
  private final class EntryBlock: RowMemory, @unchecked Sendable {
    private let memory: UnsafeMutableRawBufferPointer
    private var used = 0

    init(dataCount: Int) {
      // One more byte, so that an empty value has an address, too.
      memory = .allocate(byteCount: dataCount + 1, alignment: 8)
      super.init(byteCount: dataCount + 64)
    }

    deinit { memory.deallocate() }

    func copy(_ bytes: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
      let place = UnsafeMutableRawBufferPointer(rebasing: memory[used..<used + bytes.count])
      place.copyMemory(from: bytes)
      used += bytes.count
      return UnsafeRawBufferPointer(place)
    }
  }

  extension EntryRow {
    init(copyOf key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) {
      let block = EntryBlock(dataCount: key.count + value.count)
      self.init(key: block.copy(key), value: block.copy(value), owner: block)
    }

    /// Copies rows into one block, so that they keep no larger memory.
    static func copies(of rows: [EntryRow]) -> [EntryRow] {
      let block = EntryBlock(dataCount: rows.reduce(0) { $0 + $1.key.count + $1.value.count })
      return rows.map { EntryRow(key: block.copy($0.key), value: block.copy($0.value), owner: block) }
    }
  }
#endif
