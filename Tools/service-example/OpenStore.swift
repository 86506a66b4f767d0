#if Service
  import KVClone

  #if Postgres
    import KVClonePostgres
  #endif

  /// Opens a store in a directory or, by its URL, in a cluster. Creates it if it does not exist.
  func openStore(at place: String, model: ManagedObjectModel) throws -> ObjectStore {
    #if Postgres
      if PostgresStoreURL.isURL(place) {
        let url = try PostgresStoreURL(place)
        // The longest wait of others for a process that stops or loses its network during a write.
        var cluster = PostgresOptions()
        cluster.writerIdleLimit = .seconds(5)
        // Longer than that, so that their writes do not fail.
        var options = StoreOptions()
        options.busyTimeout = .seconds(20)
        return try PostgresCluster(url.database, options: cluster).openStore(url.name, model: model, options: options)
      }
    #endif
    return try ObjectStore.open(at: place, model: model)
  }
#endif
