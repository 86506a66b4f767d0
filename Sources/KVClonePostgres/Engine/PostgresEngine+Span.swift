#if Postgres
  import KVCloneTracing

  extension PostgresEngine {
    var spanTarget: SpanTarget { SpanTarget(name: name, server: cluster.server) }
  }
#endif
