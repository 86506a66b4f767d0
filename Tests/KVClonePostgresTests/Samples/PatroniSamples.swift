#if Postgres
  import Foundation
  import KVClonePostgres

  private func connect() {
    var options = PostgresOptions()
    options.durability = .replicated
    options.resolveTimeout = .seconds(60)
    let cluster = PostgresCluster(
      "postgresql://app@db1,db2,db3/kv?target_session_attrs=read-write&sslmode=verify-full", options: options)
    cluster.close()
  }
#endif
