#if Postgres
  import Foundation
  import KVClone
  import KVCloneCore
  import KVCloneRecords
  import KVCloneTestSupport

  @testable import KVClonePostgres

  /// Two processes' views of one store in the cluster of the tests: each has its own connections and cache.
  final class ClusterFixture {
    static var address: String? { PostgresServer.address }
    static var isAvailable: Bool { address != nil }

    let server: PostgresServer
    let clusters: [PostgresCluster]
    let engines: [PostgresEngine]
    let table: StorageTable

    init(options: PostgresOptions = PostgresOptions(), processes: Int = 2) throws {
      let server = try PostgresServer(caches: true)
      self.server = server
      clusters = (0..<processes).map { _ in PostgresCluster(PostgresServer.address ?? "", options: options) }
      engines = try clusters.map { try PostgresEngine($0, name: server.name) }
      table = try engines[0].openTables([.links, .blobs], create: true)[0]
      for engine in engines.dropFirst() { _ = try engine.openTables([.links, .blobs], create: false) }
    }

    deinit {
      for cluster in clusters { cluster.close() }
      server.drop()
    }

    func write(_ process: Int = 0, _ body: (inout StorageTransaction) throws -> Void) throws {
      var transaction = StorageTransaction(
        try engines[process].beginWrite(label: "test", timeout: .seconds(10), isDryRun: false))
      try body(&transaction)
      try transaction.commit()
    }

    /// Another process's view of the store, with its own cluster object.
    func engine(_ address: String, options: PostgresOptions = PostgresOptions()) throws -> PostgresEngine {
      let engine = try PostgresEngine(PostgresCluster(address, options: options), name: server.name)
      _ = try engine.openTables([.links, .blobs], create: false)
      return engine
    }

    /// Ends the server's processes of all connections that a test has opened by other cluster objects.
    func terminate(_ condition: String) throws {
      try sql(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND "
          + "datname = current_database() AND " + condition)
      usleep(50_000)
    }

    func entries(_ process: Int = 0) throws -> [MemoryEntry] {
      let transaction = StorageTransaction(try engines[process].beginRead())
      return try transaction.entries(table)
    }

    /// Runs a statement on a connection of its own.
    @discardableResult
    func sql(_ text: String, _ values: [PostgresValue] = []) throws -> PostgresRows {
      try clusters[0].pool.run([PostgresStatement(text, values, isPrepared: false)])[0]
    }
  }
#endif
