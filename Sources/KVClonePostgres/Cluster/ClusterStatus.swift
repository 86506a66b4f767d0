#if Postgres
  public import KVCloneCore

  extension PostgresCluster {
    /// The state of the server that the connections of a cluster lead to.
    public struct Status: Sendable, Hashable, Codable {
      /// The role of the server in replication.
      public enum Role: String, Sendable, Hashable, Codable {
        /// The server takes writes.
        case primary
        /// The server replays the writes of a primary.
        case standby
      }

      /// A standby that streams from the server.
      public struct Standby: Sendable, Hashable, Codable {
        /// The standby's `application_name`; nil if the user may not see it.
        public let name: String?
        /// `startup`, `catchup`, `streaming`, `backup` or `stopping`; nil if the user may not see it.
        public let state: String?
        /// `sync`, `quorum`, `potential` or `async`; nil if the user may not see it.
        public let synchronization: String?
        /// The number of bytes of the write-ahead log that the standby has not replayed; nil if it is not known.
        public let lagBytes: Int64?
        /// The time from a commit to its replay, in seconds, as last measured; nil if the standby has been idle since,
        /// or if it is not known.
        public let lagSeconds: Double?
      }

      /// The version of the server, such as `15.18`.
      public let serverVersion: String
      /// The role of the server.
      public let role: Role
      /// The setting `synchronous_commit` of a new connection.
      public let synchronousCommit: String
      /// The setting `synchronous_standby_names`; empty if no commit waits for a standby.
      public let synchronousStandbyNames: String
      /// The version of the schema `kvclone`; nil if it is not installed.
      public let schemaVersion: Int?
      /// The number of stores; nil if the schema is not installed.
      public let storeCount: Int?
      /// The number of connections to all databases of the server, this one included.
      public let connectionCount: Int
      /// The setting `max_connections`.
      public let connectionLimit: Int
      /// The standbys that stream from the server, by name. Their details need the privileges of `pg_monitor`.
      public let standbys: [Standby]
      /// On a standby, the age of the last replayed commit in seconds; 0 if everything received is replayed, also if
      /// the standby receives nothing at present; nil on a primary, and if it is not known.
      public let replayDelaySeconds: Double?
    }

    /// Returns the state of the server: its role, durability, connections and replication.
    ///
    /// Needs no schema. With several hosts in the address, describes the one that libpq connects to.
    ///
    /// - Throws: `busy` if no connection is available; `storeNotFound` if the database does not exist; `invalidStore`
    ///   if ``PostgresOptions/durability`` is not satisfied; `forked`; `closed`; `io`.
    public func status() throws(StoreError) -> Status {
      do {
        let found = try pool.run(
          [
            PostgresStatement(Self.serverState), PostgresStatement(Self.standbyStates),
            PostgresStatement(Self.schemaTables),
          ], isRepeatable: true)
        var (version, storeCount): (Int64?, Int64?)
        if found[2].integer(0, 0) == 2 {
          let rows = try pool.run([PostgresStatement(Self.schemaState)])[0]
          (version, storeCount) = (rows.optionalInteger(0, 0), rows.optionalInteger(0, 1))
        }
        let server = found[0]
        return Status(
          serverVersion: server.text(0, 0), role: server.integer(0, 1) == 1 ? .standby : .primary,
          synchronousCommit: server.text(0, 2), synchronousStandbyNames: server.text(0, 3),
          schemaVersion: version.map { Int($0) }, storeCount: storeCount.map { Int($0) },
          connectionCount: Int(server.integer(0, 4) ?? 0), connectionLimit: Int(server.integer(0, 5) ?? 0),
          standbys: (0..<found[1].count).map { Self.standby(found[1], $0) },
          replayDelaySeconds: server.optionalInteger(0, 6).map { Double($0) / 1000 })
      } catch {
        throw storeError(error)
      }
    }

    private static func standby(_ rows: PostgresRows, _ row: Int) -> Status.Standby {
      Status.Standby(
        name: rows.optionalText(row, 0), state: rows.optionalText(row, 1), synchronization: rows.optionalText(row, 2),
        lagBytes: rows.optionalInteger(row, 3), lagSeconds: rows.optionalInteger(row, 4).map { Double($0) / 1000 })
    }

    private static let serverState = """
      SELECT current_setting('server_version'), pg_is_in_recovery()::int4, current_setting('synchronous_commit'), \
      current_setting('synchronous_standby_names'), \
      (SELECT COALESCE(sum(numbackends), 0)::int8 FROM pg_stat_database), current_setting('max_connections')::int8, \
      CASE WHEN NOT pg_is_in_recovery() THEN NULL \
      WHEN pg_last_wal_receive_lsn() = pg_last_wal_replay_lsn() THEN 0 \
      ELSE (extract(epoch FROM now() - pg_last_xact_replay_timestamp()) * 1000)::int8 END
      """

    private static let standbyStates = """
      SELECT application_name, state, sync_state, pg_wal_lsn_diff(CASE WHEN pg_is_in_recovery() \
      THEN pg_last_wal_receive_lsn() ELSE pg_current_wal_lsn() END, replay_lsn)::int8, \
      (extract(epoch FROM replay_lag) * 1000)::int8 FROM pg_stat_replication ORDER BY application_name, pid
      """

    private static let schemaTables = """
      SELECT count(*) FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace \
      WHERE n.nspname = 'kvclone' AND c.relname IN ('schema_version', 'store')
      """

    private static let schemaState = """
      SELECT (SELECT version FROM kvclone.schema_version WHERE id = 1), \
      (SELECT count(*) FROM kvclone.store WHERE state & 3 <> \(MoveState.moved))
      """
  }

  extension PostgresRows {
    fileprivate func optionalInteger(_ row: Int, _ column: Int) -> Int64? {
      isNull(row, column) ? nil : integer(row, column)
    }

    fileprivate func optionalText(_ row: Int, _ column: Int) -> String? {
      isNull(row, column) ? nil : text(row, column)
    }
  }
#endif
