#if Postgres
  import Foundation
  import KVCloneCore

  /// The settings of a write transaction on the server, by which others recognize it.
  enum WriterSession {
    /// The longest name that the server keeps, in bytes.
    private static let nameLimit = 63

    /// Sets limits for the transaction, and a name for it in `pg_stat_activity`.
    static func settings(_ engine: PostgresEngine, _ label: String, _ timeout: Duration) -> PostgresStatement {
      PostgresStatement(
        """
        SELECT set_config('application_name', $1, true), set_config('lock_timeout', $2, true), \
        set_config('idle_in_transaction_session_timeout', $3, true)
        """,
        [
          .text(name(prefix(engine) + label)),
          // 0 would be no limit.
          .text("\(max(1, timeout.milliseconds))ms"),
          .text("\(max(1, engine.cluster.options.writerIdleLimit.milliseconds))ms"),
        ])
    }

    /// A text that the server takes as a name: without zero bytes, and cut between characters.
    static func name(_ text: String) -> String {
      var name = String(text.unicodeScalars.filter { $0 != "\0" })
      while name.utf8.count > nameLimit { name.unicodeScalars.removeLast() }
      return name
    }

    private static func prefix(_ engine: PostgresEngine) -> String { "kvclone writes \(engine.store): " }

    private static let find = """
      SELECT pid, COALESCE(host(client_addr), 'local'), application_name, extract(epoch FROM xact_start)::float8 \
      FROM pg_stat_activity WHERE datname = current_database() AND starts_with(application_name, $1) \
      AND wait_event_type IS DISTINCT FROM 'Lock' AND xact_start IS NOT NULL ORDER BY xact_start LIMIT 1
      """

    /// The write transaction of the store that is open, of any process.
    static func holder(_ engine: PostgresEngine) -> WriteLockHolder? {
      let statement = PostgresStatement(find, [.text(prefix(engine))])
      let rows = try? engine.cluster.pool.run([statement], isRepeatable: true)
      guard let rows = rows?.first, rows.count > 0, let process = rows.integer(0, 0) else { return nil }
      let seconds = Double(bitPattern: UInt64(bitPattern: rows.integer(0, 3) ?? 0))
      return WriteLockHolder(
        processID: Int32(truncatingIfNeeded: process), processName: "server process for " + rows.text(0, 1),
        label: String(rows.text(0, 2).dropFirst(prefix(engine).count)), since: Date(timeIntervalSince1970: seconds),
        isThisProcess: engine.turn.serverProcess == Int32(truncatingIfNeeded: process))
    }
  }
#endif
