#if Postgres
  import KVCloneCore
  import KVCloneRecords

  /// Brings a copy to the state of its source: completely at first, then by what commits have changed.
  final class MoveCopy {
    /// The commits of which the changes are applied together.
    static let commitCount = 128
    /// The keys that one statement reads: chunks of blobs are long.
    private static func keyCount(_ table: UInt32) -> Int { table == UInt32(TableCode.blobs.rawValue) ? 32 : 512 }

    private let target: MoveTarget
    private let progress: CopyProgress
    /// The commit of the source that the copy shows; nil before it is complete.
    private(set) var position: SharedCache.Commit?
    private var tables: Set<UInt32> = []
    /// Whether the entries have been compared since everything was copied.
    private(set) var isVerified = false
    /// The number of commits of which the changes were applied.
    private(set) var followedCommitCount = 0

    init(_ target: MoveTarget, _ progress: CopyProgress) {
      self.target = target
      self.progress = progress
    }

    // MARK: Copying

    /// Copies everything.
    func copy(_ source: MoveSource) throws(StoreError) {
      position = nil
      isVerified = false
      let counts = try source.entryCounts()
      try progress.begin(.copy, of: UInt64(max(0, counts.values.reduce(0, +))))
      try target.clear(tables: counts.keys.sorted())
      tables = Set(counts.keys)
      for table in counts.keys.sorted() {
        try source.scan(table) { (rows) throws(StoreError) in
          try target.add(table, rows)
          try advance(rows)
        }
      }
      position = source.commit
    }

    private func advance(_ rows: PostgresRows) throws(StoreError) {
      for row in 0..<rows.count { try progress.advance(rows.bytes(row, 0).count + rows.bytes(row, 1).count) }
    }

    // MARK: Following

    /// The changes of the next commits of the source.
    struct Step {
      fileprivate(set) var delta = MoveDelta()
      fileprivate(set) var commitCount = 0
      fileprivate var last: SharedCache.Commit
    }

    /// Reads the changes of the next commits, at most ``commitCount`` of them; nil if the server does not list them, or
    /// lists others after a failover: everything has to be copied again.
    func step(_ source: MoveSource) throws(StoreError) -> Step? {
      guard let position else { return nil }
      let rows = try source.commits(from: position.number, limit: Self.commitCount + 1)
      guard rows.count > 0, rows.integer(0, 0) == position.number,
        rows.bytes(0, 1).elementsEqual(position.token)
      else { return nil }
      var step = Step(last: position)
      for row in 1..<max(1, rows.count) {
        guard rows.integer(row, 0) == step.last.number + 1, step.delta.add(rows.bytes(row, 2)) else { return nil }
        step.last = SharedCache.Commit(number: step.last.number + 1, token: Array(rows.bytes(row, 1)))
        step.commitCount += 1
      }
      return step
    }

    /// Applies all commits up to the state of the source. Copies everything if they are not listed.
    func follow(_ source: MoveSource) throws(StoreError) {
      let new = Set(try source.entryCounts().keys).subtracting(tables)
      if !new.isEmpty, position != nil {
        try target.make(tables: new.sorted())
        tables.formUnion(new)
      }
      while position != source.commit {
        guard let step = try step(source), step.commitCount > 0 else { return try copy(source) }
        try apply(step, source)
      }
    }

    private func apply(_ step: Step, _ source: MoveSource) throws(StoreError) {
      for (table, ranges) in step.delta.ranges {
        for range in ranges {
          try target.delete(table, from: range.low, through: range.high)
          try source.scan(table, from: range.low, through: range.high) { (rows) throws(StoreError) in
            try target.add(table, rows)
            try advance(rows)
          }
        }
      }
      var overlay = Overlay()
      for (table, keys) in step.delta.keys {
        let keys = keys.sorted { $0.lexicographicallyPrecedes($1) }
        for start in stride(from: 0, to: keys.count, by: Self.keyCount(table)) {
          let part = keys[start..<min(keys.count, start + Self.keyCount(table))]
          try collect(table, part, source, in: overlay)
          if overlay.byteCount > 4 << 20 {
            try target.apply(overlay)
            overlay = Overlay()
          }
        }
      }
      if !overlay.isEmpty { try target.apply(overlay) }
      position = step.last
      followedCommitCount += step.commitCount
    }

    private func collect(
      _ table: UInt32, _ keys: ArraySlice<[UInt8]>, _ source: MoveSource, in overlay: Overlay
    ) throws(StoreError) {
      var list = PostgresArray.ofBytea
      for key in keys {
        key.withUnsafeBytes {
          list.append($0)
          overlay.set(table, $0, nil)
        }
      }
      let rows = try source.entries(table, of: list)
      for row in 0..<rows.count { overlay.set(table, rows.bytes(row, 0), rows.bytes(row, 1)) }
      try advance(rows)
    }

    // MARK: Verifying

    private struct Digest: Equatable {
      var entryCount: Int64 = 0
      var byteCount: UInt64 = 0
      private var hash: UInt64 = 0

      mutating func add(_ rows: PostgresRows) {
        for row in 0..<rows.count {
          let (key, value) = (rows.bytes(row, 0), rows.bytes(row, 1))
          entryCount += 1
          byteCount += UInt64(key.count + value.count)
          hash = XXH3.hash(value, seed: XXH3.hash(key, seed: hash))
        }
      }
    }

    /// Compares all entries of the copy with the source, in the state to which it was brought.
    ///
    /// - Returns: the number of bytes of the keys and values.
    func verify(_ source: MoveSource) throws(StoreError) -> UInt64 {
      let counts = try source.entryCounts()
      try progress.begin(.verify, of: UInt64(max(0, counts.values.reduce(0, +))) * 2)
      var byteCount: UInt64 = 0
      for table in counts.keys.sorted() {
        var (expected, found) = (Digest(), Digest())
        try source.scan(table) { (rows) throws(StoreError) in
          expected.add(rows)
          try advance(rows)
        }
        try target.scan(table) { (rows) throws(StoreError) in
          found.add(rows)
          try advance(rows)
        }
        guard expected == found else { throw different(table, "the entries or their checksums differ") }
        byteCount += expected.byteCount
      }
      try verifyCounts(source)
      isVerified = true
      return byteCount
    }

    /// Compares the numbers of entries of all tables.
    func verifyCounts(_ source: MoveSource) throws(StoreError) {
      let (expected, found) = (try source.entryCounts(), try target.entryCounts())
      for table in Set(expected.keys).union(found.keys).sorted() where expected[table] != found[table] {
        throw different(
          table, "\(found[table] ?? 0) entries are counted instead of \(expected[table] ?? 0)")
      }
    }

    private func different(_ table: UInt32, _ problem: String) -> StoreError {
      let name = UInt16(exactly: table).flatMap { TableCode(rawValue: $0).name } ?? "\(table)"
      return StoreError(
        .corrupted,
        "the copy differs from the store \(target.name) in the table \(name): \(problem); check the disks of both, and "
          + "move it again")
    }
  }
#endif
