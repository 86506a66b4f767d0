#if Postgres
  import Glibc
  import KVCloneCore

  /// Transactions that create or delete whole stores. They run again if the connection was lost during their commit,
  /// and find out whether the earlier attempt took effect.
  enum StoreRows {
    /// Runs a transaction until its outcome is known.
    ///
    /// - Parameter body: begins and commits a transaction; the argument is whether an earlier attempt may have taken
    ///   effect. It returns the reason if nothing is to be changed, or nil after a commit.
    static func change(
      _ cluster: PostgresCluster,
      _ body: (PostgresConnection, _ isRepeated: Bool) throws(PostgresError) -> StoreError?
    ) throws(StoreError) {
      let end = ContinuousClock.now + cluster.options.resolveTimeout
      var isRepeated = false
      while true {
        do {
          if let reason = try attempt(cluster, end, isRepeated, body) { throw reason }
          return
        } catch let error as PostgresError where error.isConnectionLost && ContinuousClock.now < end {
          isRepeated = true
          cluster.pool.closeIdle()
          usleep(20_000)
        } catch {
          let error = cluster.storeError(error)
          // No server can be reached yet, or the earlier attempt still commits.
          guard isRepeated, [.io, .busy].contains(error.kind), ContinuousClock.now < end else { throw error }
          usleep(200_000)
        }
      }
    }

    private static func attempt(
      _ cluster: PostgresCluster, _ end: ContinuousClock.Instant, _ isRepeated: Bool,
      _ body: (PostgresConnection, Bool) throws(PostgresError) -> StoreError?
    ) throws -> StoreError? {
      let connection = try cluster.pool.take(until: isRepeated ? end : cluster.pool.deadline, isShort: true)
      if isRepeated { connection.deadline = end }
      // The deletion of a large store takes long, and the server is silent until its end.
      connection.responseTimeout = nil
      defer {
        connection.deadline = nil
        cluster.pool.give(back: connection)
      }
      do throws(PostgresError) {
        return try body(connection, isRepeated)
      } catch {
        connection.rollBack()
        throw error
      }
    }

    /// Whether a store was created with a token. Commits a write then, which makes the creation durable, too, where
    /// replication is synchronous.
    static func isCreated(_ name: String, _ token: [UInt8], _ connection: PostgresConnection) throws(PostgresError)
      -> Bool
    {
      let found = try connection.run([
        PostgresStatement(
          """
          SELECT s.id FROM kvclone.store s WHERE s.name = $1 \
          AND (SELECT c.token FROM kvclone.commit c WHERE c.store = s.id AND c.number = 0) = $2 FOR UPDATE
          """, [.text(name), .bytea(token)])
      ])
      guard found[0].count > 0, let store = found[0].integer(0, 0) else { return false }
      try connection.commit([
        PostgresStatement("UPDATE kvclone.store SET number = number WHERE id = $1", [.int8(store)])
      ])
      return true
    }

    /// Commits a write without an effect, which makes the deletion of a store durable, too, where replication is
    /// synchronous.
    static func confirmDeletion(of store: Int64, _ connection: PostgresConnection) throws(PostgresError) {
      try connection.commit([
        PostgresStatement(
          "INSERT INTO kvclone.stager (store, byte, owner, until) VALUES ($1, 0, '', now()) ON CONFLICT DO NOTHING",
          [.int8(store)]),
        PostgresStatement("DELETE FROM kvclone.stager WHERE store = $1 AND byte = 0", [.int8(store)]),
      ])
    }
  }
#endif
