#if Postgres
  import KVCloneCore
  import KVCloneRecords

  /// The entries of a store that is moved, in one state: by a read transaction, or under the lock of the store's row.
  final class MoveSource {
    let cluster: PostgresCluster
    let store: Int64
    private let connection: PostgresConnection
    /// The last commit of the state.
    let commit: SharedCache.Commit
    private var isOpen = true

    private init(
      _ cluster: PostgresCluster, _ store: Int64, _ name: String, until deadline: ContinuousClock.Instant,
      isLocking: Bool = false, _ begin: () -> [PostgresStatement]
    ) throws(StoreError) {
      self.cluster = cluster
      self.store = store
      do {
        let (connection, results) = try cluster.pool.take(until: deadline, isLocking: isLocking) {
          begin() + [PostgresStatement(Self.last, [.int8(store)])]
        }
        let rows = results[results.count - 1]
        let state = rows.count > 0 ? rows.integer(0, 0) : nil
        guard state == 0, let number = rows.integer(0, 1), !rows.isNull(0, 2) else {
          connection.rollBack()
          cluster.pool.give(back: connection)
          throw state.flatMap { MoveState.refusal($0, name) } ?? PostgresCluster.notFound(name)
        }
        self.connection = connection
        commit = SharedCache.Commit(number: number, token: Array(rows.bytes(0, 2)))
      } catch {
        throw cluster.storeError(error)
      }
    }

    private static let last = """
      SELECT s.state, s.number, (SELECT token FROM kvclone.commit WHERE store = s.id AND number = s.number) \
      FROM kvclone.store s WHERE s.id = $1
      """

    /// Begins a read transaction.
    static func reading(_ engine: PostgresEngine) throws(StoreError) -> MoveSource {
      try MoveSource(engine.cluster, engine.store, engine.name, until: engine.cluster.pool.deadline) {
        [PostgresStatement("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY", isPrepared: false)]
      }
    }

    /// Locks the row of the store: until ``end()``, nothing is committed to it.
    static func locking(_ engine: PostgresEngine, timeout: Duration) throws(StoreError) -> MoveSource {
      let deadline = ContinuousClock.now + timeout
      return try MoveSource(engine.cluster, engine.store, engine.name, until: deadline, isLocking: true) {
        [
          PostgresStatement("BEGIN", isPrepared: false), WriterSession.settings(engine, "move", deadline - .now),
          PostgresStatement("SELECT number FROM kvclone.store WHERE id = $1 FOR UPDATE", [.int8(engine.store)]),
        ]
      }
    }

    deinit { end() }

    /// Ends the transaction without changes.
    func end() {
      guard isOpen else { return }
      isOpen = false
      connection.rollBack()
      cluster.pool.give(back: connection)
    }

    /// Whether the lock is still held: the server ends a transaction that is idle for too long.
    var isLocked: Bool { (try? connection.run("SELECT 1")) != nil }

    /// Commits a change of the locked row, and ends the transaction.
    ///
    /// - Throws: an error after which the outcome has to be looked up.
    func commit(_ statement: PostgresStatement) throws(PostgresError) {
      isOpen = false
      defer { cluster.pool.give(back: connection) }
      do throws(PostgresError) {
        try connection.commit([statement])
      } catch {
        connection.rollBack()
        throw error
      }
    }

    private func run(_ text: String, _ values: [PostgresValue]) throws(StoreError) -> PostgresRows {
      do throws(PostgresError) { return try connection.run(text, values) } catch { throw cluster.storeError(error) }
    }

    /// The tables of the store, and the number of entries of each.
    func entryCounts() throws(StoreError) -> [UInt32: Int64] {
      let rows = try run("SELECT tbl, entries FROM kvclone.tally WHERE store = $1", [.int8(store)])
      var counts: [UInt32: Int64] = [:]
      for row in 0..<rows.count { counts[UInt32(rows.integer(row, 0) ?? 0)] = rows.integer(row, 1) }
      return counts
    }

    /// The commits from one on, in order.
    func commits(from number: Int64, limit: Int) throws(StoreError) -> PostgresRows {
      try run(
        "SELECT number, token, changed FROM kvclone.commit WHERE store = $1 AND number >= $2 ORDER BY number LIMIT $3",
        [.int8(store), .int8(number), .int8(Int64(limit))])
    }

    /// The entries of keys that exist, in any order.
    func entries(_ table: UInt32, of keys: PostgresArray) throws(StoreError) -> PostgresRows {
      try run(EntryReader.listed, [.int8(store), .int4(Int32(table)), keys.value])
    }

    /// Calls `body` with the entries of a range in the order of their keys, a few MiB at a time.
    ///
    /// - Parameter last: the last key; nil for the end of the table.
    func scan(
      _ table: UInt32, from low: [UInt8] = [], through last: [UInt8]? = nil,
      _ body: (PostgresRows) throws(StoreError) -> Void
    ) throws(StoreError) {
      try EntryPages.scan(table, of: store, from: low, through: last, body) { (text, values) throws(StoreError) in
        try run(text, values)
      }
    }
  }

  /// Reads a range of entries in pages of bounded size.
  enum EntryPages {
    private static let firstRowCount: Int64 = 64
    private static let byteCount = 4 << 20
    private static let rowLimit: Int64 = 8192

    static func scan(
      _ table: UInt32, of store: Int64, from low: [UInt8], through last: [UInt8]?,
      _ body: (PostgresRows) throws(StoreError) -> Void,
      _ run: (String, [PostgresValue]) throws(StoreError) -> PostgresRows
    ) throws(StoreError) {
      var (low, count) = (low, firstRowCount)
      while true {
        var values = [PostgresValue.int8(store), .int4(Int32(table)), .bytea(low), .int8(count)]
        if let last { values.append(.bytea(last.withUnsafeBytes { successor(of: $0) })) }
        let rows = try run(last == nil ? EntryReader.forwards : EntryReader.forwardsToEnd, values)
        if rows.count > 0 { try body(rows) }
        guard rows.count == Int(count) else { return }
        low = successor(of: rows.bytes(rows.count - 1, 0))
        count = min(rowLimit, count * 2, max(1, Int64(byteCount / max(1, rows.byteCount / rows.count))))
      }
    }
  }
#endif
