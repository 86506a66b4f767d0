#if Postgres
  import KVCloneCore
  import KVCloneLMDB
  import KVCloneRecords

  /// A read transaction: the state of the store at its begin, in a transaction of the server that sees no later commit.
  final class PostgresReader: StorageBackend {
    private let engine: PostgresEngine
    private let pool: ConnectionPool
    private let connection: PostgresConnection
    private let entries: EntryReader
    private let commitRead: SharedCache.Commit
    private var counts: [UInt32: UInt64] = [:]

    init(_ engine: PostgresEngine) throws(StoreError) {
      let begun = try ReadRoute(engine).begin()
      (connection, pool, commitRead, entries) = (begun.connection, begun.pool, begun.commit, begun.entries)
      self.engine = engine
    }

    deinit {
      engine.cache.keep(entries.cache, as: commitRead)
      connection.send([PostgresStatement("COMMIT", isPrepared: false)])
      pool.give(back: connection)
    }

    /// Whether the transaction is one of a standby.
    var isOnStandby: Bool { pool !== engine.cluster.pool }

    var stateNumber: UInt64 { UInt64(commitRead.number) }

    var nextIndexID: UInt16 { .max }

    func get(_ table: StorageTable, _ key: UnsafeRawBufferPointer) throws(StoreError) -> UnsafeRawBufferPointer? {
      try PostgresKey.check(key)
      return try entries.entry(table.handle, key)?.value
    }

    func seek(_ table: StorageTable, _ key: UnsafeRawBufferPointer, _ mode: StorageSeek) throws(StoreError)
      -> StorageEntryPointers?
    {
      if !key.isEmpty { try PostgresKey.check(key) }
      let found: EntryRow?
      switch mode {
      case .atOrAfter: found = try entries.next(table.handle, from: key)
      case .atOrBefore:
        if key.isEmpty { return nil }
        let end = successor(of: key)
        found = try end.withBytes { (end) throws(StoreError) in
          try entries.previous(table.handle, before: end)
        }
      }
      return found.map { StorageEntryPointers(key: $0.key, value: $0.value) }
    }

    func scan(
      _ table: StorageTable, from key: UnsafeRawBufferPointer, before end: UnsafeRawBufferPointer,
      _ body: (borrowing RawSpan, borrowing RawSpan) throws(StoreError) -> Bool
    ) throws(StoreError) {
      if !key.isEmpty { try PostgresKey.check(key) }
      try entries.scan(table.handle, from: key, before: end) { (row) throws(StoreError) in
        try body(RawSpan(_unsafeBytes: row.key), RawSpan(_unsafeBytes: row.value))
      }
    }

    func entryCount(_ table: StorageTable) throws(StoreError) -> UInt64 {
      if let count = counts[table.handle] { return count }
      let count = try entries.count(table.handle)
      counts[table.handle] = count
      return count
    }

    func beginReadScope() -> Int { entries.lentCount }

    func endReadScope(_ mark: Int) { entries.release(to: mark) }

    func prefetchWindow(isAscending: Bool) -> Int { 2048 }

    func prefetch(_ table: StorageTable, _ keys: UnsafeRawBufferPointer, stride: Int, _ mode: StorageSeek?) {
      entries.prefetch(table.handle, keys, stride: stride, mode)
    }

    func put(_ table: StorageTable, _ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) throws(StoreError) {
      throw PostgresKey.readOnly
    }

    func append(_ table: StorageTable, _ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer)
      throws(StoreError)
    {
      throw PostgresKey.readOnly
    }

    func delete(_ table: StorageTable, _ key: UnsafeRawBufferPointer) throws(StoreError) -> Bool {
      throw PostgresKey.readOnly
    }

    func commit() throws(StoreError) {}

    func abort() {}
  }

  enum PostgresKey {
    /// As in a data file: the key of a previous state contains another key of at most `FormatLimits.maximumKeyLength`.
    static let maximumLength = 511

    static func check(_ key: UnsafeRawBufferPointer) throws(StoreError) {
      guard (1...maximumLength).contains(key.count) else {
        throw StoreError(.limitExceeded, "a key has 1 to \(maximumLength) bytes, not \(key.count)")
      }
    }

    static var readOnly: StoreError {
      StoreError(.readOnly, "a read transaction cannot write; use ObjectStore.write")
    }
  }
#endif
