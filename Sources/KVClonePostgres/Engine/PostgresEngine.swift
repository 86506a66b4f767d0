#if Postgres
  import KVCloneCore
  import KVCloneLMDB
  import KVCloneRecords
  import Synchronization

  /// The storage engine of one store in a cluster.
  final class PostgresEngine: StorageEngine {
    /// PostgreSQL's limit for a value is 1 GiB, and a message holds several copies.
    static let maximumValueLength = 256 << 20

    let cluster: PostgresCluster
    let name: String
    /// The id of the store in the cluster.
    let store: Int64
    let cache: SharedCache
    let seen = SeenCommit()
    let turn = WriteTurn()
    let commits = CommitPoll()
    private let tables: Mutex<Set<UInt32>>
    private let isClosed = Atomic(false)
    private let usesStandbys = Atomic(false)

    /// Finds a store by its name, and reads its table `metadata` into the cache, in one round trip.
    init(_ cluster: PostgresCluster, name: String) throws(StoreError) {
      let results: [PostgresRows]
      do {
        results = try cluster.pool.run(OpeningState.statements(name), isRepeatable: true)
      } catch {
        throw cluster.storeError(error)
      }
      let rows = results[1]
      guard rows.count > 0, let store = rows.integer(0, 0) else { throw PostgresCluster.notFound(name) }
      if let refusal = cluster.options.schema.refusal(rows, from: 2) { throw refusal }
      if let refusal = MoveState.refusal(rows.integer(0, 4) ?? 0, name) { throw refusal }
      self.cluster = cluster
      self.name = name
      self.store = store
      cache = SharedCache(byteLimit: cluster.options.cacheBytes)
      let found = (0..<rows.count).compactMap { row in
        rows.isNull(row, 1) ? nil : rows.integer(row, 1).flatMap { UInt32(exactly: $0) }
      }
      tables = Mutex(Set(found))
      OpeningState.keep(results, in: cache)
    }

    /// Creates a store with entries of one table, in one transaction.
    static func create(
      _ cluster: PostgresCluster, name: String, tables: [TableCode], _ table: TableCode,
      _ entries: [(key: [UInt8], value: [UInt8])]
    ) throws(StoreError) {
      let token = CommitToken.random()
      let exists = StoreError(
        .storeExists, "the cluster has a store \(name) already; open it, or choose another name")
      try StoreRows.change(cluster) { (connection, isRepeated) throws(PostgresError) in
        // Waits for a server process that still commits the row of an earlier attempt.
        let made = try connection.run([
          PostgresStatement("BEGIN", isPrepared: false), PostgresStatement(ClusterSchema.makeStore, [.text(name)]),
          PostgresStatement(SchemaVersions.statement),
        ])
        if let refusal = cluster.options.schema.refusal(made[2]) {
          connection.rollBack()
          return refusal
        }
        guard made[1].count > 0, let store = made[1].integer(0, 0) else {
          if isRepeated, try StoreRows.isCreated(name, token, connection) { return nil }
          let found = try connection.run(MoveState.ofStore, [.text(name)])
          connection.rollBack()
          return (found.count > 0 ? MoveState.refusal(found.integer(0, 1) ?? 0, name) : nil) ?? exists
        }
        let overlay = Overlay()
        for entry in entries {
          entry.key.withUnsafeBytes { key in
            entry.value.withUnsafeBytes { overlay.set(UInt32(table.rawValue), key, $0) }
          }
        }
        try connection.commit(
          tables.map { ClusterSchema.makeTable(store, UInt32($0.rawValue)) }
            + EntryChanges(overlay, store).statements
            + ClusterSchema.commit(store, SharedCache.Commit(number: 0, token: token), [0]))
        return nil
      }
    }

    var cacheLimit: Int { max(1 << 20, cluster.options.cacheBytes) }

    func hasTable(_ table: UInt32) -> Bool { tables.withLock { $0.contains(table) } }

    func noteTables(_ made: Set<UInt32>) {
      if !made.isEmpty { tables.withLock { $0.formUnion(made) } }
    }

    /// The standbys that reads use now; nil for the primary.
    var standbys: StandbyReads? { usesStandbys.load(ordering: .relaxed) ? cluster.standbys : nil }

    /// Makes reads use standbys from now on. Opening a store reads the primary, because it decides about writes by the
    /// last state.
    func beginUseOfStandbys() { usesStandbys.store(true, ordering: .relaxed) }

    private func requireOpen() throws(StoreError) {
      if isClosed.load(ordering: .relaxed) { throw StoreError(.closed, "the store was closed") }
    }

    func openTables(_ codes: [TableCode], create: Bool) throws(StoreError) -> [StorageTable] {
      try requireOpen()
      let handles = codes.map { UInt32($0.rawValue) }
      if !handles.allSatisfy(hasTable) {
        if create {
          let writer = try PostgresWriter(self, label: "open", timeout: .seconds(30), isDryRun: false)
          _ = try writer.makeTables(codes)
          try writer.commit()
        } else {
          // Another process may have created them.
          let found = try PostgresEngine(cluster, name: name)
          noteTables(found.tables.withLock { $0 })
        }
      }
      guard handles.allSatisfy(hasTable) else {
        throw StoreError(.invalidStore, "a table of the store \(name) is missing")
      }
      return zip(codes, handles).map { StorageTable(code: $0, handle: $1) }
    }

    func beginRead() throws(StoreError) -> any StorageBackend {
      try requireOpen()
      return try PostgresReader(self)
    }

    func beginWrite(label: String, timeout: Duration, isDryRun: Bool) throws(StoreError) -> any StorageBackend {
      try requireOpen()
      return try PostgresWriter(self, label: label, timeout: timeout, isDryRun: isDryRun)
    }

    func watchCommits(_ body: @escaping @Sendable () -> Void) -> (any CommitWatch)? {
      commits.watch(
        every: cluster.options.watchInterval, { [weak self] in self.flatMap { ReadRoute($0).commitNumber() } }, body)
    }

    func writer() -> WriteLockHolder? { WriterSession.holder(self) }

    func uploadLeases() throws(StoreError) -> (any UploadLeases)? { PostgresUploads(cluster, store: store) }

    func facts() throws(StoreError) -> StorageFacts {
      StorageFacts(fileBytes: 0, pageCount: 0, pageSize: FormatLimits.pageSize)
    }

    func close() { isClosed.store(true, ordering: .relaxed) }
  }
#endif
