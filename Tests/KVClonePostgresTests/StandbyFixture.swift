#if Postgres
  import Foundation
  import KVClone
  import KVCloneCore
  import KVCloneRecords
  import KVCloneTestSupport

  @testable import KVClonePostgres

  /// A primary and a standby of one test, and cluster objects as of several processes.
  final class StandbyFixture {
    let primary: ServerInstance
    let standby: ServerInstance
    private var clusters: [PostgresCluster] = []

    init(standbySettings: [String: String] = [:]) throws {
      primary = try ServerInstance()
      standby = try ServerInstance(standbyOf: primary, name: "standby", settings: standbySettings)
      try cluster(.primary).install()
    }

    deinit {
      for cluster in clusters { cluster.close() }
    }

    /// The address of both servers, which leads to the primary.
    var address: String {
      "host=\(primary.directory),\(standby.directory) user=kvclone dbname=postgres target_session_attrs=read-write"
    }

    /// A cluster object that tries a standby with each read.
    func cluster(
      _ reads: PostgresOptions.ReadPreference = .standby(maximumLag: .seconds(3600)), _ address: String? = nil,
      cacheBytes: Int = 32 << 20
    ) -> PostgresCluster {
      var options = PostgresOptions()
      options.reads = reads
      options.cacheBytes = cacheBytes
      options.watchInterval = .milliseconds(10)
      let cluster = PostgresCluster(address ?? self.address, options: options)
      cluster.standbys?.intervals = .init(unreachable: .zero, behind: .zero, replay: .milliseconds(20))
      clusters.append(cluster)
      return cluster
    }

    /// An engine with reads from standbys, with the tables of ``makeStore()``.
    func engine(_ cluster: PostgresCluster) throws -> PostgresEngine {
      let engine = try PostgresEngine(cluster, name: "entries")
      _ = try engine.openTables([.links, .blobs], create: false)
      engine.beginUseOfStandbys()
      return engine
    }

    /// Creates a store without objects, and returns a table of it.
    func makeStore() throws -> StorageTable {
      let cluster = cluster(.primary)
      try PostgresEngine.create(cluster, name: "entries", tables: [], .metadata, [])
      return try PostgresEngine(cluster, name: "entries").openTables([.links, .blobs], create: true)[0]
    }

    func write(
      _ engine: PostgresEngine, _ body: (inout StorageTransaction) throws -> Void
    ) throws {
      var transaction = StorageTransaction(
        try engine.beginWrite(label: "test", timeout: .seconds(10), isDryRun: false))
      try body(&transaction)
      try transaction.commit()
    }

    /// Waits until a condition holds.
    func wait(_ what: String, _ condition: () throws -> Bool) throws {
      for _ in 0..<3000 {
        if try condition() { return }
        usleep(10_000)
      }
      throw Timeout(expected: what)
    }

    private struct Timeout: Error {
      let expected: String
    }

    /// Waits until the standby has replayed everything.
    func catchUp() throws {
      let place = try primary.sql("SELECT pg_current_wal_lsn()")
      try wait("the standby has replayed \(place)") {
        try standby.sql("SELECT pg_last_wal_replay_lsn() >= '\(place)'") == "t"
      }
    }

    /// Stops the replay: the standby receives commits, and does not show them.
    func pause() throws {
      try catchUp()
      try standby.sql("SELECT pg_wal_replay_pause()")
      try wait("the replay is paused") { try standby.sql("SELECT pg_get_wal_replay_pause_state()") == "paused" }
    }

    func resume() throws {
      try standby.sql("SELECT pg_wal_replay_resume()")
      try catchUp()
    }

    /// The number of connections of the engine to a server.
    func connectionCount(_ server: ServerInstance, _ condition: String = "true") throws -> Int {
      let text = try server.sql(
        "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend' AND application_name <> 'psql' AND "
          + condition)
      return Int(text) ?? -1
    }
  }

  extension PostgresEngine {
    /// Whether a read that begins now uses a standby.
    var readsOnStandby: Bool {
      get throws { (try beginRead() as? PostgresReader)?.isOnStandby ?? false }
    }
  }

  extension ObjectStore {
    /// Whether a read that begins now uses a standby.
    var readsOnStandby: Bool {
      get throws { try (engine as? PostgresEngine)?.readsOnStandby ?? false }
    }

    func tagCount() throws -> Int { try read { tx in try tx.count(entity: "Tag") } }

    func addTag(_ name: String) throws { try insert("Tag", ["name": .string(name)]) }
  }
#endif
