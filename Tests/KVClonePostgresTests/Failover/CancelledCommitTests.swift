#if Postgres
  import Foundation
  import KVCloneCore
  import KVCloneRecords
  import KVCloneTestSupport
  import Testing

  @testable import KVClonePostgres

  /// Ends the waits of commits for a synchronous standby. `KVCLONE_POSTGRES_ROUNDS` is the number for each test.
  @Suite(
    "Cancelled commits", .serialized, .enabled(if: ServerInstance.isAvailable, "no PostgreSQL server is installed"))
  struct CancelledCommitTests {
    /// A store on a primary with a synchronous standby, with the receiver of the standby stopped during commits.
    private final class Fixture {
      let servers: ServerPair
      let cluster: PostgresCluster
      let engine: PostgresEngine
      let table: StorageTable

      init(resolveTimeout: Duration) throws {
        servers = try ServerPair(isSynchronous: true)
        var options = PostgresOptions()
        options.durability = .replicated
        options.resolveTimeout = resolveTimeout
        cluster = PostgresCluster(servers.address, options: options)
        try cluster.install()
        try PostgresEngine.create(cluster, name: "cancelled", tables: [], .metadata, [])
        engine = try PostgresEngine(cluster, name: "cancelled")
        table = try engine.openTables([.links], create: true)[0]
      }

      deinit {
        servers.kill()
        cluster.close()
      }

      /// Writes a key while the standby receives nothing, and calls `body` until the commit has returned.
      func write(_ key: UInt8, _ body: () throws -> Void) throws -> StoreError.Kind? {
        try servers.signalReceiver(SIGSTOP)
        let result = Locked<StoreError.Kind??>(nil)
        Thread.detachNewThread { [engine, table] in
          let failure = Self.failure(of: engine, table, key)
          result.withLock { $0 = .some(failure) }
        }
        try FailoverWriters.wait("the commit does not return") {
          if result.withLock({ $0 != nil }) { return true }
          try body()
          return false
        }
        return result.withLock { $0 ?? nil }
      }

      private static func failure(of engine: PostgresEngine, _ table: StorageTable, _ key: UInt8) -> StoreError.Kind? {
        do throws(StoreError) {
          var transaction = StorageTransaction(
            try engine.beginWrite(label: "cancelled", timeout: .seconds(120), isDryRun: false))
          try transaction.put(table, [key], [1])
          return commitFailure(transaction)
        } catch {
          return error.kind
        }
      }

      /// Continues the standby, and waits until no commit waits for it.
      func endFreeze() throws {
        try servers.signalReceiver(SIGCONT)
        try FailoverWriters.wait("commits wait for the standby") { try servers.waitingCommits() == 0 }
      }

      /// Ends the waits of the server's processes for the standby, and returns their number.
      func end(by function: String) throws -> Int {
        let text = try servers.primary.sql(
          "SELECT count(\(function)(pid)) FROM pg_stat_activity WHERE wait_event = 'SyncRep'")
        return Int(text) ?? 0
      }

      func hasOnStandby(_ key: UInt8) throws -> Bool {
        let hex = String(key, radix: 16)
        return try servers.standby.sql(
          "SELECT count(*) FROM kvclone.entry WHERE store = \(engine.store) AND tbl = \(table.handle) AND "
            + "k = '\\x\(hex.count == 1 ? "0" + hex : hex)'") == "1"
      }
    }

    private static let functions = ["pg_cancel_backend", "pg_terminate_backend"]

    @Test("a commit is unknown, never a success, if all its waits for the standby are ended", arguments: functions)
    func unconfirmed(function: String) throws {
      let fixture = try Fixture(resolveTimeout: .seconds(1))
      for round in 0..<CampaignSize.rounds(default: 2) {
        let key = UInt8(round % 250)
        var ended = 0
        let kind = try fixture.write(key) { ended += try fixture.end(by: function) }
        #expect(kind == .commitOutcomeUnknown, "round \(round)")
        #expect(ended > 0, "round \(round)")
        #expect(try !fixture.hasOnStandby(key), "round \(round): the standby received it; the test proves nothing")
        try fixture.endFreeze()
      }
    }

    @Test("a commit that is confirmed after its first wait ended is a success on both servers", arguments: functions)
    func confirmed(function: String) throws {
      let fixture = try Fixture(resolveTimeout: .seconds(120))
      for round in 0..<CampaignSize.rounds(default: 2) {
        let key = UInt8(round % 250)
        var ended = 0
        let kind = try fixture.write(key) {
          if ended == 0 { ended += try fixture.end(by: function) }
          if ended > 0 { try fixture.servers.signalReceiver(SIGCONT) }
        }
        #expect(kind == nil, "round \(round)")
        #expect(ended > 0, "round \(round): no wait was ended")
        // The standby has stored it, and replays it soon.
        try FailoverWriters.wait("the standby lacks a commit that was a success") { try fixture.hasOnStandby(key) }
      }
    }
  }
#endif
