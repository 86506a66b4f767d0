#if Postgres
  import Foundation
  import KVCloneCore
  import KVCloneTestSupport

  @testable import KVClonePostgres

  /// A database of one test in the shared cluster, without the schema.
  final class ScratchDatabase {
    private let name = "kvclone_test_\(UInt32.random(in: 0..<(.max)))"
    private let owner = PostgresCluster(PostgresServer.address ?? "")
    private var clusters: [PostgresCluster] = []

    init() throws { _ = try owner.pool.run([PostgresStatement("CREATE DATABASE \(name)")]) }

    deinit {
      for cluster in clusters { cluster.close() }
      _ = try? owner.pool.run([PostgresStatement("DROP DATABASE \(name) WITH (FORCE)")])
      owner.close()
    }

    /// A process's view of the database, with a library that knows these versions of the schema.
    func cluster(_ versions: SchemaVersions = .library) -> PostgresCluster {
      var options = PostgresOptions()
      options.schema = versions
      let cluster = PostgresCluster((PostgresServer.address ?? "") + " dbname=" + name, options: options)
      clusters.append(cluster)
      return cluster
    }

    /// Runs a statement, and returns the first column of the first row as an integer.
    @discardableResult
    func integer(_ text: String) throws -> Int64? {
      let rows = try (clusters.first ?? cluster()).pool.run([PostgresStatement(text)])[0]
      return rows.count > 0 ? rows.integer(0, 0) : nil
    }
  }
#endif
