#if Postgres
  public import KVCloneCore
  import KVCloneLMDB
  import KVCloneRecords

  /// A PostgreSQL server, or a primary with standbys, that keeps stores.
  ///
  /// The open stores of a cluster object share its connections. Create one per process, and keep it as long as its
  /// stores are open. It is safe to use from any thread, but not in a forked child.
  public final class PostgresCluster: Sendable {
    /// The options of the cluster and of all stores that are opened with it.
    public let options: PostgresOptions
    let pool: ConnectionPool
    /// The connections to standbys; nil if all reads use the primary.
    let standbys: StandbyReads?
    /// The threads of asynchronous reads, which wait for the network.
    let readThreads: ReadThreads
    /// The server for spans, if the address names a single one.
    let server: (address: String, port: Int?)?

    /// Creates a cluster object. Its first use connects to the server.
    ///
    /// - Parameters:
    ///   - address: a URL such as `postgresql://user@host1,host2/database?target_session_attrs=read-write`, or a list
    ///     of keywords and values, as libpq takes them. Keep passwords in `.pgpass` or a service file.
    ///   - options: the options of the cluster and of its stores.
    public init(_ address: String, options: PostgresOptions = PostgresOptions()) {
      self.options = options
      let pool = ConnectionPool(address, options)
      self.pool = pool
      standbys =
        if case .standby(let lag) = options.reads {
          StandbyReads(ConnectionPool(address, options, besides: pool), maximumLag: lag)
        } else {
          nil
        }
      readThreads = ReadThreads(count: max(2, options.connections))
      server = PostgresConnection.server(of: address)
    }

    /// Closes idle connections now, and those in use at the end of their transactions. Close the stores first: every
    /// later call of an open store throws `closed`.
    public func close() {
      pool.close()
      standbys?.pool.close()
    }

    /// Basic facts about a store in a cluster.
    public struct StoreInfo: Sendable, Hashable {
      /// The name of the store, for opening it.
      public let name: String
      /// The number of commits of the storage engine since the creation of the store. Writes of a group share one; see
      /// `HistoryTransaction.commit` for the numbers of write transactions.
      public let commitNumber: Int64
      /// The number of entries in all tables of the store, such as records, links, index entries and chunks of blobs.
      public let entryCount: Int64
    }

    /// Returns all stores of the database, sorted by name. Stores that were moved away are not listed.
    ///
    /// - Throws: `storeNotFound` if the database or the schema does not exist; `newerFormat`, `olderFormat`,
    ///   `busy`, `invalidStore`, `closed`, `io`.
    public func stores() throws(StoreError) -> [StoreInfo] {
      do {
        let found = try pool.run(
          [PostgresStatement(SchemaVersions.statement), PostgresStatement(ClusterSchema.listStores)],
          isRepeatable: true)
        if let refusal = options.schema.refusal(found[0]) { throw refusal }
        let rows = found[1]
        return (0..<rows.count).map { row in
          StoreInfo(
            name: rows.text(row, 0), commitNumber: rows.integer(row, 1) ?? 0, entryCount: rows.integer(row, 2) ?? 0)
        }
      } catch {
        throw storeError(error)
      }
    }

    /// Deletes a store with everything in it, in one transaction. Later transactions of processes that have it open
    /// throw `storeNotFound`.
    ///
    /// - Parameter name: the name of the store.
    /// - Throws: `storeNotFound` if the store does not exist; `storeMoved` if it is in another cluster now; `busy` if
    ///   another writer holds the write lock for more than 5 seconds, or if the store arrives by a move that has not
    ///   ended; `newerFormat`, `olderFormat`, `readOnly`, `invalidStore`, `closed`; `io`, after which the store may be
    ///   deleted if no server answered within ``PostgresOptions/resolveTimeout``.
    public func drop(_ name: String) throws(StoreError) { try delete(name, isMarker: false) }

    /// Deletes the marker that a store has left here when it was moved to another cluster. A store with its name can be
    /// created here then.
    ///
    /// - Parameter name: the name of the store, which is not changed.
    /// - Throws: `storeNotFound` if no store with the name was moved away from here; and the errors of ``drop(_:)``.
    public func deleteMoveMarker(_ name: String) throws(StoreError) { try delete(name, isMarker: true) }

    private func delete(_ name: String, isMarker: Bool) throws(StoreError) {
      var dropped: Int64?
      try StoreRows.change(self) { (connection, isRepeated) throws(PostgresError) in
        let found = try connection.run([
          PostgresStatement("BEGIN", isPrepared: false),
          PostgresStatement("SET LOCAL lock_timeout = 5000", isPrepared: false),
          PostgresStatement("SELECT id, state FROM kvclone.store WHERE name = $1 FOR UPDATE", [.text(name)]),
          PostgresStatement(SchemaVersions.statement),
        ])
        if let refusal = options.schema.refusal(found[3]) {
          connection.rollBack()
          return refusal
        }
        let store = found[2].count > 0 ? found[2].integer(0, 0) : nil
        // Another process may have created a store with the name since.
        if let dropped, dropped != store {
          try StoreRows.confirmDeletion(of: dropped, connection)
          return nil
        }
        guard let store else {
          connection.rollBack()
          return Self.notFound(name)
        }
        if let refusal = MoveState.refusal(found[2].integer(0, 1) ?? 0, name, deletingMarker: isMarker) {
          connection.rollBack()
          return refusal
        }
        dropped = store
        try connection.commit(
          ClusterSchema.tablesOfStores.map {
            PostgresStatement("DELETE FROM kvclone.\($0) WHERE store = $1", [.int8(store)])
          } + [PostgresStatement("DELETE FROM kvclone.store WHERE id = $1", [.int8(store)])])
        return nil
      }
    }

    static func notFound(_ name: String) -> StoreError {
      StoreError(
        .storeNotFound, "the cluster has no store \(name); check the name, or list the stores (kvclone cluster stores)")
    }

    /// The store's error for an error of any layer.
    func storeError(_ error: any Error) -> StoreError { pool.storeError(error) }
  }
#endif
