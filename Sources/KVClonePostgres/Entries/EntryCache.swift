#if Postgres
  /// Entries of a store as of one commit, by ranges of keys: everything that a range does not contain does not exist.
  ///
  /// A value: a transaction keeps the state of its begin while others replace it.
  struct EntryCache: @unchecked Sendable {
    /// All entries of one table from a key up to another one.
    struct Range {
      /// The first key, included; empty at the beginning of the table.
      var low: [UInt8]
      /// The end, not included; nil at the end of the table.
      var high: [UInt8]?
      var rows: [EntryRow]

      /// The index of the first row at or behind a key.
      func index(of key: UnsafeRawBufferPointer) -> Int {
        var (low, high) = (0, rows.count)
        while low < high {
          let middle = (low + high) / 2
          if keyOrder(rows[middle].key, key) < 0 { low = middle + 1 } else { high = middle }
        }
        return low
      }

      func contains(_ key: UnsafeRawBufferPointer) -> Bool {
        low.order(to: key) <= 0 && (high.map { $0.order(to: key) > 0 } ?? true)
      }

      /// The number of bytes of the entries, with an allowance for each.
      var byteCount: Int { rows.reduce(64) { $0 + $1.key.count + $1.value.count + 56 } }
    }

    /// The ranges of each table, ascending and disjoint.
    private var tables: [UInt32: [Range]] = [:]
    private(set) var byteCount = 0

    /// The range that contains a key, or nil.
    func range(_ table: UInt32, at key: UnsafeRawBufferPointer) -> Range? {
      guard let ranges = tables[table] else { return nil }
      let place = Self.place(of: key, in: ranges)
      guard place >= 0, ranges[place].contains(key) else { return nil }
      return ranges[place]
    }

    /// The range that ends at a key: it contains the keys directly before it. An empty key is the end of the table.
    func range(_ table: UInt32, endingAt key: UnsafeRawBufferPointer) -> Range? {
      guard let ranges = tables[table], let last = ranges.last else { return nil }
      if key.isEmpty { return last.high == nil ? last : nil }
      let place = Self.place(of: key, in: ranges)
      for candidate in [place, place - 1] where candidate >= 0 {
        let range = ranges[candidate]
        if range.low.order(to: key) < 0, range.high.map({ $0.order(to: key) >= 0 }) ?? true { return range }
      }
      return nil
    }

    /// The index of the last range that begins at or before a key; -1 without one.
    private static func place(of key: UnsafeRawBufferPointer, in ranges: [Range]) -> Int {
      var (low, high) = (0, ranges.count)
      while low < high {
        let middle = (low + high) / 2
        if ranges[middle].low.order(to: key) <= 0 { low = middle + 1 } else { high = middle }
      }
      return low - 1
    }

    /// Adds a range. Replaces those that it overlaps.
    mutating func insert(_ range: Range, _ table: UInt32) {
      removeOverlapping(table, from: range.low, to: range.high)
      byteCount += range.byteCount
      var ranges = tables.removeValue(forKey: table) ?? []
      let place = range.low.withUnsafeBytes { Self.place(of: $0, in: ranges) } + 1
      ranges.insert(range, at: place)
      tables[table] = ranges
    }

    /// Adds ranges that are ascending, and overlap none.
    mutating func insert(contentsOf new: [Range], _ table: UInt32) {
      byteCount += new.reduce(0) { $0 + $1.byteCount }
      let old = tables.removeValue(forKey: table) ?? []
      var merged: [Range] = []
      merged.reserveCapacity(old.count + new.count)
      var place = 0
      for range in old {
        while place < new.count, new[place].low.lexicographicallyPrecedes(range.low) {
          merged.append(new[place])
          place += 1
        }
        merged.append(range)
      }
      merged += new[place...]
      tables[table] = merged
    }

    /// Removes the ranges that have keys from `low` up to `high`, or to the end of the table if it is nil.
    mutating func removeOverlapping(_ table: UInt32, from low: [UInt8], to high: [UInt8]?) {
      guard var ranges = tables.removeValue(forKey: table) else { return }
      ranges.removeAll { range in
        let beginsBefore = high.map { range.low.lexicographicallyPrecedes($0) } ?? true
        let endsBehind = range.high.map { low.lexicographicallyPrecedes($0) } ?? true
        if beginsBefore && endsBehind { byteCount -= range.byteCount }
        return beginsBefore && endsBehind
      }
      if !ranges.isEmpty { tables[table] = ranges }
    }

    /// Removes everything about a key, which another process has changed.
    mutating func remove(_ table: UInt32, _ key: UnsafeRawBufferPointer) {
      guard let ranges = tables[table] else { return }
      let place = Self.place(of: key, in: ranges)
      guard place >= 0, ranges[place].contains(key) else { return }
      let range = ranges[place]
      let index = range.index(of: key)
      let isPresent = index < range.rows.count && keyOrder(range.rows[index].key, key) == 0
      var parts: [Range] = []
      if range.low.order(to: key) < 0 {
        parts.append(Range(low: range.low, high: Array(key), rows: Array(range.rows[..<index])))
      }
      let next = successor(of: key)
      if range.high.map({ next.lexicographicallyPrecedes($0) }) ?? true {
        parts.append(Range(low: next, high: range.high, rows: Array(range.rows[(index + (isPresent ? 1 : 0))...])))
      }
      replace(table, place, parts)
    }

    /// Applies a change that this process has committed.
    ///
    /// - Parameter value: nil if the key was deleted.
    mutating func apply(_ table: UInt32, _ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer?) {
      guard let ranges = tables[table] else { return }
      let place = Self.place(of: key, in: ranges)
      guard place >= 0, ranges[place].contains(key) else { return }
      var range = ranges[place]
      let index = range.index(of: key)
      let isPresent = index < range.rows.count && keyOrder(range.rows[index].key, key) == 0
      switch (value, isPresent) {
      case (let value?, true): range.rows[index] = EntryRow(copyOf: key, value)
      case (let value?, false): range.rows.insert(EntryRow(copyOf: key, value), at: index)
      case (nil, true): range.rows.remove(at: index)
      case (nil, false): return
      }
      replace(table, place, [range])
    }

    private mutating func replace(_ table: UInt32, _ place: Int, _ parts: [Range]) {
      guard var ranges = tables.removeValue(forKey: table) else { return }
      byteCount += parts.reduce(-ranges[place].byteCount) { $0 + $1.byteCount }
      ranges.replaceSubrange(place...place, with: parts)
      if !ranges.isEmpty { tables[table] = ranges }
    }

    mutating func removeAll(of table: UInt32) {
      for range in tables.removeValue(forKey: table) ?? [] { byteCount -= range.byteCount }
    }

    mutating func removeAll() {
      tables = [:]
      byteCount = 0
    }
  }
#endif
