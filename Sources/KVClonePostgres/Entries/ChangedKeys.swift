#if Postgres
  /// The changes of a commit, which other processes read to update their caches: keys, or ranges of keys.
  struct ChangedKeys {
    /// The list of keys ends above this length; a commit that is larger names one range for each table.
    private static let byteLimit = 32 << 10

    private(set) var bytes: [UInt8] = []
    private var ranges: [UInt32: (low: [UInt8], high: [UInt8])] = [:]
    private var hasRanges = false

    /// Adds a range of keys, from the first to the last one. The commit then names ranges only.
    mutating func add(_ table: UInt32, from low: [UInt8], through high: [UInt8]) {
      hasRanges = true
      widen(table, low, high)
    }

    private mutating func widen(_ table: UInt32, _ low: [UInt8], _ high: [UInt8]) {
      if let known = ranges[table] {
        ranges[table] = (
          low.lexicographicallyPrecedes(known.low) ? low : known.low,
          known.high.lexicographicallyPrecedes(high) ? high : known.high
        )
      } else {
        ranges[table] = (low, high)
      }
    }

    /// Adds changes, which are in the order of their keys.
    mutating func add(_ table: UInt32, _ changes: Overlay.Table) {
      guard let first = changes.blocks.first?.first, let last = changes.blocks.last?.last else { return }
      widen(table, Array(first.key), Array(last.key))
      if hasRanges { return }
      for block in changes.blocks {
        for change in block { append(table, change.key) }
        if bytes.count > Self.byteLimit {
          hasRanges = true
          return
        }
      }
    }

    private mutating func append(_ table: UInt32, _ key: UnsafeRawBufferPointer) {
      append(UInt16(table))
      append(UInt16(key.count))
      bytes.append(contentsOf: key)
    }

    private mutating func append(_ value: UInt16) {
      bytes.append(UInt8(value >> 8))
      bytes.append(UInt8(value & 0xFF))
    }

    /// The list for the row of the commit: a first byte of 0 and keys, or of 1 and pairs of a first and a last key.
    var encoded: [UInt8] {
      guard hasRanges else { return [0] + bytes }
      var list = ChangedKeys()
      for (table, range) in ranges.sorted(by: { $0.key < $1.key }) {
        range.low.withUnsafeBytes { list.append(table, $0) }
        range.high.withUnsafeBytes { list.append(table, $0) }
      }
      return [1] + list.bytes
    }

    /// Removes from a cache what a commit changed.
    ///
    /// - Returns: false if the list is unreadable; the cache then has to be emptied.
    static func remove(_ encoded: UnsafeRawBufferPointer, from cache: inout EntryCache) -> Bool {
      read(encoded) { table, first, last in
        if let last {
          cache.removeOverlapping(table, from: Array(first), to: successor(of: last))
        } else {
          cache.remove(table, first)
        }
      }
    }

    /// Calls `body` with each table and key, or with each table and the first and the last key of a range.
    ///
    /// - Returns: false if the list is unreadable.
    static func read(
      _ encoded: UnsafeRawBufferPointer,
      _ body: (UInt32, UnsafeRawBufferPointer, UnsafeRawBufferPointer?) -> Void
    ) -> Bool {
      guard let kind = encoded.first, kind <= 1 else { return false }
      var place = 1
      func next() -> (table: UInt32, key: UnsafeRawBufferPointer)? {
        guard place + 4 <= encoded.count else { return nil }
        let table = UInt32(encoded[place]) << 8 | UInt32(encoded[place + 1])
        let count = Int(encoded[place + 2]) << 8 | Int(encoded[place + 3])
        guard place + 4 + count <= encoded.count else { return nil }
        defer { place += 4 + count }
        return (table, UnsafeRawBufferPointer(rebasing: encoded[place + 4..<place + 4 + count]))
      }
      while place < encoded.count {
        guard let first = next() else { return false }
        if kind == 0 {
          body(first.table, first.key, nil)
        } else {
          guard let last = next(), last.table == first.table else { return false }
          body(first.table, first.key, last.key)
        }
      }
      return true
    }
  }
#endif
