import ArgumentParser
import Foundation
import KVClone

#if Postgres
  import KVClonePostgres
#endif

/// The option for a cluster, for commands on the cluster itself.
struct ClusterOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      """
      The URL of the database: postgresql://USER@HOST/DATABASE (default: $KVCLONE_CLUSTER). Keep passwords in .pgpass \
      or a service file.
      """, valueName: "url"))
  var cluster: String?

  /// The URL of the database, which may contain a password: never print it.
  private func url() throws -> String {
    if let cluster {
      guard !cluster.isEmpty else { throw Failure(usage: "--cluster is an empty string; give a URL") }
      return try Failure.ofUsage { () throws(StoreError) in try ClusterURL(cluster).databaseURL() }
    }
    if let cluster = ProcessInfo.processInfo.environment["KVCLONE_CLUSTER"], !cluster.isEmpty {
      return try Failure.ofUsage { () throws(StoreError) in try ClusterURL(cluster).databaseURL() }
    }
    throw Failure(usage: "no cluster is given; use --cluster URL, or set KVCLONE_CLUSTER")
  }

  #if Postgres
    /// The cluster, which connects with its first use.
    func postgres() throws -> PostgresCluster { PostgresCluster(try url()) }

    /// Runs a command that concerns no store: what is not found is the database or its schema, which is exit code 1.
    static func checked<R>(_ body: () throws -> R) throws -> R {
      do {
        return try body()
      } catch let error as StoreError where error.kind == .storeNotFound {
        throw Failure(error.kindName, error.message)
      }
    }
  #endif

  /// Checks the URL, and that no store is given, which the commands on clusters do not use.
  func check(_ global: GlobalOptions) throws {
    try StoreAddress.requireSupport()
    if global.store != nil {
      throw Failure(usage: "cluster commands take the URL of a database from --cluster; remove --store")
    }
    _ = try url()
  }
}
