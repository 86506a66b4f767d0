#if Postgres
  import Foundation
  package import KVCloneCore
  @testable package import KVClonePostgres
  import KVCloneRecords

  /// A store for a test in the PostgreSQL cluster that the environment variable `KVCLONE_POSTGRES` names.
  package final class PostgresServer {
    /// The address of the cluster, or nil if the tests have none.
    package static let address = ProcessInfo.processInfo.environment["KVCLONE_POSTGRES"]

    /// Whether ``TestStore`` uses the cluster.
    package static let isDefaultEngine =
      address != nil && ProcessInfo.processInfo.environment["KVCLONE_TEST_ENGINE"] == "postgres"

    private static let isInstalled: Result<Void, any Error> = Result {
      try PostgresCluster(address ?? "").install()
    }

    package let cluster: PostgresCluster
    package let name = "test-" + UUID().uuidString

    /// Creates a store without tables, or only chooses its name.
    package init(caches: Bool, isEmpty: Bool = false) throws {
      try Self.isInstalled.get()
      var options = PostgresOptions()
      if !caches { options.cacheBytes = 0 }
      cluster = PostgresCluster(Self.address ?? "", options: options)
      if !isEmpty { try PostgresEngine.create(cluster, name: name, tables: [], .metadata, []) }
    }

    /// The store for a second process, see ``StoreLocation``; with the same cache.
    package var location: String { "\(Self.address ?? "")\t\(name)\t\(cluster.options.cacheBytes)" }

    package func engine() throws -> any StorageEngine { try PostgresEngine(cluster, name: name) }

    package func drop() {
      try? cluster.drop(name)
      cluster.close()
    }
  }
#endif
