#if Postgres
  import Foundation
  import KVClone
  import KVCloneCore
  import KVCloneRecords
  import KVCloneTestSupport

  @testable import KVClonePostgres

  /// Two processes' views of one store in the cluster of the tests: each has its own connections and cache.
  final class ClusterFixture {
    static var isAvailable: Bool { PostgresServer.address != nil }

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
