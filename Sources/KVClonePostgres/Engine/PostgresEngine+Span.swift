#if Postgres
  import KVCloneTracing

  extension PostgresEngine {
    var productName: String { "PostgreSQL" }

    var spanTarget: SpanTarget { SpanTarget(name: name, server: cluster.server) }
  }
#endif
