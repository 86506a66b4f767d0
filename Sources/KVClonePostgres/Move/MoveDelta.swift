#if Postgres
  import KVCloneCore

  /// The keys and ranges of keys that commits have changed.
  struct MoveDelta {
    private(set) var keys: [UInt32: Set<[UInt8]>] = [:]
    /// Per table, disjoint ranges from a first to a last key.
    private(set) var ranges: [UInt32: [(low: [UInt8], high: [UInt8])]] = [:]

    var keyCount: Int { keys.values.reduce(0) { $0 + $1.count } }
    var hasRanges: Bool { !ranges.isEmpty }

    /// Adds the list of a commit.
    ///
    /// - Returns: false if the list is unreadable; everything may have changed then.
    mutating func add(_ encoded: UnsafeRawBufferPointer) -> Bool {
      ChangedKeys.read(encoded) { table, low, high in
        if let high {
          add(table, Array(low), Array(high))
        } else {
          keys[table, default: []].insert(Array(low))
        }
      }
    }

    private mutating func add(_ table: UInt32, _ low: [UInt8], _ high: [UInt8]) {
      var (low, high) = (low, high)
      var kept: [(low: [UInt8], high: [UInt8])] = []
      for range in ranges[table] ?? [] {
        if high.lexicographicallyPrecedes(range.low) || range.high.lexicographicallyPrecedes(low) {
          kept.append(range)
        } else {
          if range.low.lexicographicallyPrecedes(low) { low = range.low }
          if high.lexicographicallyPrecedes(range.high) { high = range.high }
        }
      }
      ranges[table] = kept + [(low, high)]
    }
  }
#endif
