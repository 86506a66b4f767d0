#if Postgres
  import KVCloneCore

  /// The copy of a store at its new place, until it is the store. All its transactions check that the copy still
  /// belongs to this move: another process may have begun a move of the same store since.
  struct MoveTarget {
    let cluster: PostgresCluster
    let name: String
    /// The id of the copy in the cluster.
    let store: Int64
    /// The id of the move.
    let move: [UInt8]

    /// A row of a store, by its name.
    struct Row {
      let store: Int64
      let state: Int64
      let move: [UInt8]
    }

    static func row(_ name: String, in cluster: PostgresCluster) throws(StoreError) -> Row? {
      do {
        return row(try cluster.pool.run([PostgresStatement(MoveState.ofStore, [.text(name)])], isRepeatable: true)[0])
      } catch {
        throw cluster.storeError(error)
      }
    }

    private static func row(_ rows: PostgresRows) -> Row? {
      guard rows.count > 0, let store = rows.integer(0, 0), let state = rows.integer(0, 1) else { return nil }
      return Row(store: store, state: state, move: Array(rows.bytes(0, 2)))
    }

    // MARK: Beginning

    /// Creates the row of the copy, or takes that of an interrupted move over.
    ///
    /// The lock of the source is held, which is not moved: a copy that is complete is not the store then, and cannot
    /// become it.
    static func claim(
      _ name: String, in cluster: PostgresCluster, move: [UInt8], _ source: MoveSource
    ) throws(StoreError) -> MoveTarget {
      var store: Int64?
      try StoreRows.change(cluster) { (connection, _) throws(PostgresError) in
        let found = try connection.run([
          PostgresStatement("BEGIN", isPrepared: false),
          PostgresStatement("SET LOCAL lock_timeout = 5000", isPrepared: false),
          PostgresStatement(MoveState.ofStore + " FOR UPDATE", [.text(name)]),
        ])
        // With the lock of the target's row: a move that has the source's lock by now has not completed its copy yet,
        // and finds another id, or it completed the copy before, and this lock is lost.
        guard source.isLocked else {
          connection.rollBack()
          return StoreError(.busy, "the server has ended the lock of the store \(name); nothing was changed, try again")
        }
        guard let row = row(found[2]) else {
          store = try insert(name, MoveState.arriving, move, connection)
          return nil
        }
        switch MoveState.part(of: row.state) {
        case MoveState.moved:
          // Processes that have the store open here know the old id.
          _ = try connection.run(deletion(of: row.store))
          store = try insert(name, MoveState.arriving + MoveState.replacesMarker, move, connection)
        case MoveState.arriving, MoveState.arrived:
          store = row.store
          try connection.commit([
            PostgresStatement(
              """
              UPDATE kvclone.store SET state = \(MoveState.arriving) | (state & \(MoveState.replacesMarker)), \
              move = $2 WHERE id = $1
              """, [.int8(row.store), .bytea(move)])
          ])
        default:
          connection.rollBack()
          return exists(name)
        }
        return nil
      }
      guard let store else { throw PostgresCluster.notFound(name) }
      return MoveTarget(cluster: cluster, name: name, store: store, move: move)
    }

    static func exists(_ name: String) -> StoreError {
      StoreError(
        .storeExists, "the destination has a store \(name) already; rename or drop it, or choose another destination")
    }

    private static func insert(
      _ name: String, _ state: Int64, _ move: [UInt8], _ connection: PostgresConnection
    ) throws(PostgresError) -> Int64? {
      let made = try connection.run(
        "INSERT INTO kvclone.store (name, number, state, move) VALUES ($1, 0, $2::int4, $3) RETURNING id",
        [.text(name), .int4(Int32(state)), .bytea(move)])
      try connection.commit([])
      return made.integer(0, 0)
    }

    private static func deletion(of store: Int64) -> [PostgresStatement] {
      ClusterSchema.tablesOfStores.map {
        PostgresStatement("DELETE FROM kvclone.\($0) WHERE store = $1", [.int8(store)])
      } + [PostgresStatement("DELETE FROM kvclone.store WHERE id = $1", [.int8(store)])]
    }

    // MARK: Copying

    /// Runs `body` in a transaction of the copy, and commits it with the statements that it returns.
    private func change(_ body: (PostgresConnection) throws(PostgresError) -> [PostgresStatement]) throws(StoreError) {
      let pool = cluster.pool
      do {
        let (connection, results) = try pool.take(until: pool.deadline) {
          [
            PostgresStatement("BEGIN", isPrepared: false),
            PostgresStatement(
              "SELECT state FROM kvclone.store WHERE id = $1 AND move = $2 AND state & 3 = 1 FOR UPDATE",
              [.int8(store), .bytea(move)]),
          ]
        }
        // The deletion of many entries takes long, and the server is silent until its end.
        connection.responseTimeout = nil
        defer { pool.give(back: connection) }
        do {
          guard results[1].count > 0 else { throw lost }
          try connection.commit(try body(connection))
        } catch {
          connection.rollBack()
          throw error
        }
      } catch {
        throw cluster.storeError(error)
      }
    }

    /// The error for a copy that another move has taken over.
    private var lost: StoreError {
      StoreError(
        .busy, "the copy of the store \(name) was dropped, or taken over by another move; wait for that one, or repeat")
    }

    /// Deletes all entries of an interrupted copy, and creates tables.
    func clear(tables: some Sequence<UInt32>) throws(StoreError) {
      try change { _ in
        ClusterSchema.tablesOfStores.map {
          PostgresStatement("DELETE FROM kvclone.\($0) WHERE store = $1", [.int8(store)])
        } + tables.map { ClusterSchema.makeTable(store, $0) }
      }
    }

    func make(tables: some Sequence<UInt32>) throws(StoreError) {
      try change { _ in tables.map { ClusterSchema.makeTable(store, $0) } }
    }

    /// Adds entries with keys that the table does not have.
    func add(_ table: UInt32, _ rows: PostgresRows) throws(StoreError) {
      try change { (connection) throws(PostgresError) in
        try connection.copy(
          into: table, of: store, (0..<rows.count).lazy.map { (rows.bytes($0, 0), rows.bytes($0, 1)) })
        return [Tally.add(rows.count, store, table)]
      }
    }

    /// Deletes the entries from a first to a last key.
    func delete(_ table: UInt32, from low: [UInt8], through high: [UInt8]) throws(StoreError) {
      try change { _ in
        [
          PostgresStatement(
            """
            WITH old AS (DELETE FROM kvclone.entry WHERE store = $1 AND tbl = $2 AND k >= $3 AND k <= $4 RETURNING 1) \
            UPDATE kvclone.tally SET entries = entries - (SELECT count(*) FROM old) WHERE store = $1 AND tbl = $2
            """, [.int8(store), .int4(Int32(table)), .bytea(low), .bytea(high)])
        ]
      }
    }

    /// Applies changes of single entries.
    func apply(_ overlay: Overlay) throws(StoreError) {
      try change { _ in EntryChanges(overlay, store).statements }
    }

    // MARK: Verifying

    func entryCounts() throws(StoreError) -> [UInt32: Int64] {
      let rows = try run("SELECT tbl, entries FROM kvclone.tally WHERE store = $1", [.int8(store)])
      var counts: [UInt32: Int64] = [:]
      for row in 0..<rows.count { counts[UInt32(rows.integer(row, 0) ?? 0)] = rows.integer(row, 1) }
      return counts
    }

    func scan(_ table: UInt32, _ body: (PostgresRows) throws(StoreError) -> Void) throws(StoreError) {
      try EntryPages.scan(table, of: store, from: [], through: nil, body) { (text, values) throws(StoreError) in
        try run(text, values)
      }
    }

    private func run(_ text: String, _ values: [PostgresValue]) throws(StoreError) -> PostgresRows {
      do {
        return try cluster.pool.run([PostgresStatement(text, values)], isRepeatable: true)[0]
      } catch {
        throw cluster.storeError(error)
      }
    }

    // MARK: Ending

    /// Makes the copy complete as of a commit. It becomes the store when the source is marked with the id of the move.
    func complete(_ commit: SharedCache.Commit) throws(StoreError) {
      try StoreRows.change(cluster) { (connection, isRepeated) throws(PostgresError) in
        let found = try connection.run([
          PostgresStatement("BEGIN", isPrepared: false),
          PostgresStatement("SET LOCAL lock_timeout = 5000", isPrepared: false),
          PostgresStatement(
            "SELECT state FROM kvclone.store WHERE id = $1 AND move = $2 AND state & 1 = 1 FOR UPDATE",
            [.int8(store), .bytea(move)]),
        ])
        guard found[2].count > 0 else {
          connection.rollBack()
          return lost
        }
        try connection.commit([
          PostgresStatement(
            """
            INSERT INTO kvclone.commit (store, number, token, changed) VALUES ($1, $2, $3, '\\x00') \
            ON CONFLICT DO NOTHING
            """, [.int8(store), .int8(commit.number), .bytea(commit.token)]),
          PostgresStatement(
            "UPDATE kvclone.store SET state = state | \(MoveState.arrived), number = $2 WHERE id = $1",
            [.int8(store), .int8(commit.number)]),
        ])
        return nil
      }
    }

    /// Makes a complete copy an incomplete one: the source is not marked, and its lock is held.
    func reopen() throws(StoreError) {
      do {
        _ = try cluster.pool.run([
          PostgresStatement(
            "UPDATE kvclone.store SET state = state & ~2 WHERE id = $1 AND move = $2 AND state & 1 = 1",
            [.int8(store), .bytea(move)])
        ])
      } catch {
        throw cluster.storeError(error)
      }
    }

    /// Makes the copy the store: the source is marked.
    func finish() throws(StoreError) {
      try StoreRows.change(cluster) { (connection, _) throws(PostgresError) in
        let found = try connection.run([
          PostgresStatement("BEGIN", isPrepared: false),
          PostgresStatement("SET LOCAL lock_timeout = 5000", isPrepared: false),
          PostgresStatement(
            "SELECT state FROM kvclone.store WHERE id = $1 AND move = $2 FOR UPDATE", [.int8(store), .bytea(move)]),
        ])
        let state = found[2].count > 0 ? found[2].integer(0, 0) ?? 0 : nil
        guard let state, state == 0 || MoveState.part(of: state) == MoveState.arrived else {
          connection.rollBack()
          return lost
        }
        try connection.commit([
          PostgresStatement("UPDATE kvclone.store SET state = 0 WHERE id = $1", [.int8(store)])
        ])
        return nil
      }
    }

    /// Deletes the incomplete copy of this move. A marker that it has replaced returns.
    func discard() throws(StoreError) {
      try StoreRows.change(cluster) { (connection, _) throws(PostgresError) in
        let found = try connection.run([
          PostgresStatement("BEGIN", isPrepared: false),
          PostgresStatement("SET LOCAL lock_timeout = 5000", isPrepared: false),
          PostgresStatement(
            "SELECT state FROM kvclone.store WHERE id = $1 AND move = $2 AND state & 3 = 1 FOR UPDATE",
            [.int8(store), .bytea(move)]),
        ])
        guard found[2].count > 0, let state = found[2].integer(0, 0) else {
          // Deleted by an earlier attempt, or not this move's any more.
          try connection.commit([])
          return nil
        }
        var statements = Self.deletion(of: store)
        if state & MoveState.replacesMarker != 0 {
          statements.removeLast()
          statements.append(
            PostgresStatement(
              "UPDATE kvclone.store SET state = \(MoveState.moved) WHERE id = $1", [.int8(store)]))
        }
        try connection.commit(statements)
        return nil
      }
    }
  }
#endif
