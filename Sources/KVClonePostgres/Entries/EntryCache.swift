#if Postgres
  /// Entries of a store as of one commit, by ranges of keys: everything that a range does not contain does not exist.
  ///
  /// A value: a transaction keeps the state of its begin while others replace it.
  struct EntryCache: @unchecked Sendable {
    /// All entries of one table from a key up to another one.
    struct Range {
      /// Ranges that grow by commits are divided above this number of rows, or of bytes: a change copies one of them.
      static let (rowLimit, byteLimit) = (512, 128 << 10)
      /// The memory of a range and of its three arrays without their elements, rounded up as the allocator does: most
      /// of what a range of one small entry needs.
      static let overhead = 240

      /// The first key, included; empty at the beginning of the table.
      let low: [UInt8]
      /// The end, not included; nil at the end of the table.
      let high: [UInt8]?
      private(set) var rows: [EntryRow]
      private var rowByteCount: Int
      /// The memory that the rows keep, at most: an owner can have more entries than these.
      private var keptByteCount: Int
      /// Increases with each use by a fetch or a commit.
      fileprivate var order = 0

      /// - Parameter keptByteCount: nil for rows that one owner keeps.
      init(low: [UInt8], high: [UInt8]?, rows: [EntryRow], keptByteCount: Int? = nil) {
        self.low = low
        self.high = high
        self.rows = rows
        let bounds = Self.overhead + low.count + (high?.count ?? 0)
        rowByteCount = rows.reduce(bounds) { $0 + $1.byteCount }
        self.keptByteCount = keptByteCount ?? rows.first?.owner.byteCount ?? 0
      }

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

      /// The number of bytes of the entries, or of the memory that they keep.
      var byteCount: Int { max(rowByteCount, keptByteCount) }

      /// Copies the rows if they keep much more memory than they need.
      mutating func compact() {
        guard keptByteCount > 2 * rowByteCount + 1024 else { return }
        rows = EntryRow.copies(of: rows)
        keptByteCount = rowByteCount
      }

      /// The part from a row up to another one.
      func part(_ indices: Swift.Range<Int>, low: [UInt8], high: [UInt8]?) -> Range {
        var part = Range(low: low, high: high, rows: Array(rows[indices]), keptByteCount: keptByteCount)
        part.order = order
        part.compact()
        return part
      }

      /// Changes the entry of a key; nil deletes it.
      mutating func set(_ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer?) {
        let index = index(of: key)
        if index < rows.count, keyOrder(rows[index].key, key) == 0 {
          rowByteCount -= rows[index].byteCount
          if value == nil { rows.remove(at: index) }
        } else if let value {
          rows.insert(EntryRow(copyOf: key, value), at: index)
          rowByteCount += rows[index].byteCount
          keptByteCount += rows[index].byteCount
          return
        } else {
          return
        }
        if let value {
          rows[index] = EntryRow(copyOf: key, value)
          rowByteCount += rows[index].byteCount
          keptByteCount += rows[index].byteCount
        }
        compact()
      }
    }

    /// The ranges of each table, ascending and disjoint.
    private var tables: [UInt32: [Range]] = [:]
    private(set) var byteCount = 0
    private var lastOrder = 0

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
      var range = range
      range.compact()
      range.order = nextOrder()
      byteCount += range.byteCount
      var ranges = tables.removeValue(forKey: table) ?? []
      let place = range.low.withUnsafeBytes { Self.place(of: $0, in: ranges) } + 1
      ranges.insert(range, at: place)
      tables[table] = ranges
    }

    private mutating func nextOrder() -> Int {
      lastOrder += 1
      return lastOrder
    }

    /// Adds ranges that are ascending, and overlap none.
    mutating func insert(contentsOf new: [Range], _ table: UInt32) {
      let order = nextOrder()
      let old = tables.removeValue(forKey: table) ?? []
      var merged: [Range] = []
      merged.reserveCapacity(old.count + new.count)
      var place = 0
      for var range in new {
        while place < old.count, old[place].low.lexicographicallyPrecedes(range.low) {
          merged.append(old[place])
          place += 1
        }
        range.compact()
        range.order = order
        byteCount += range.byteCount
        merged.append(range)
      }
      merged += old[place...]
      tables[table] = merged
    }

    /// Removes the ranges that have keys from `low` up to `high`, or to the end of the table if it is nil.
    mutating func removeOverlapping(_ table: UInt32, from low: [UInt8], to high: [UInt8]?) {
      guard var ranges = tables.removeValue(forKey: table) else { return }
      var first = max(0, low.withUnsafeBytes { Self.place(of: $0, in: ranges) })
      if first < ranges.count, let end = ranges[first].high, !low.lexicographicallyPrecedes(end) { first += 1 }
      // The last one that begins before the end.
      var last = high?.withUnsafeBytes { Self.place(of: $0, in: ranges) } ?? ranges.count - 1
      if last >= 0, ranges[last].low == high { last -= 1 }
      if first <= last {
        for range in ranges[first...last] { byteCount -= range.byteCount }
        ranges.removeSubrange(first...last)
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
        parts.append(range.part(0..<index, low: range.low, high: Array(key)))
      }
      let next = successor(of: key)
      if range.high.map({ next.lexicographicallyPrecedes($0) }) ?? true {
        parts.append(
          range.part(index + (isPresent ? 1 : 0)..<range.rows.count, low: next, high: range.high))
      }
      replace(table, place, parts)
    }

    /// Applies a change that this process has committed.
    ///
    /// - Parameter value: nil if the key was deleted.
    mutating func apply(_ table: UInt32, _ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer?) {
      let order = nextOrder()
      // Taken out, so that the range is changed in place if no other transaction has it.
      guard var ranges = tables.removeValue(forKey: table) else { return }
      defer { tables[table] = ranges }
      let place = Self.place(of: key, in: ranges)
      guard place >= 0, ranges[place].contains(key) else { return }
      let before = ranges[place].byteCount
      ranges[place].set(key, value)
      ranges[place].order = order
      byteCount += ranges[place].byteCount - before
      let range = ranges[place]
      guard range.rows.count > (range.byteCount > Range.byteLimit ? 8 : Range.rowLimit) else { return }
      // Keys mostly arrive in ascending order: the full part stays full.
      let isLast = keyOrder(range.rows[range.rows.count - 1].key, key) == 0
      let middle = isLast ? range.rows.count - 1 : range.rows.count / 2
      let limit = Array(range.rows[middle].key)
      let parts = [
        range.part(0..<middle, low: range.low, high: limit),
        range.part(middle..<range.rows.count, low: limit, high: range.high),
      ]
      byteCount += parts.reduce(-range.byteCount) { $0 + $1.byteCount }
      ranges.replaceSubrange(place...place, with: parts)
    }

    private mutating func replace(_ table: UInt32, _ place: Int, _ parts: [Range]) {
      guard var ranges = tables.removeValue(forKey: table) else { return }
      byteCount += parts.reduce(-ranges[place].byteCount) { $0 + $1.byteCount }
      ranges.replaceSubrange(place...place, with: parts)
      if !ranges.isEmpty { tables[table] = ranges }
    }

    /// Removes the ranges that were used least recently, until there is room for so many bytes.
    ///
    /// - Parameter limit: the size that the cache must not exceed. A quarter of it is freed at once.
    mutating func makeRoom(for newByteCount: Int, limit: Int) {
      guard byteCount + newByteCount > limit else { return }
      let target = max(0, limit / 4 * 3 - newByteCount)
      var left = byteCount
      var end = 0
      let uses = tables.values.joined().map { ($0.order, $0.byteCount) }.sorted { $0.0 < $1.0 }
      for (order, byteCount) in uses {
        if left <= target, order > end { break }
        left -= byteCount
        end = order
      }
      for (table, ranges) in tables {
        let kept = ranges.filter { $0.order > end }
        tables[table] = kept.isEmpty ? nil : kept
      }
      byteCount = left
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
