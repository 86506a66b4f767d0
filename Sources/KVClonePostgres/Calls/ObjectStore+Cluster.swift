#if Postgres
  public import KVClone
  public import KVCloneModel
  import KVCloneRecords

  extension ObjectStore {
    /// Creates a store in a cluster.
    ///
    /// - Parameter name: the name of the store in the cluster, at most 255 bytes.
    /// - Throws: `StoreError`: `storeExists`; `invalidModel`; `storeNotFound` if the schema is not installed; `io`.
    public static func create(
      _ name: String, on cluster: PostgresCluster, model: ManagedObjectModel, options: StoreOptions = StoreOptions()
    ) throws(StoreError) -> ObjectStore {
      try PostgresCluster.requireValid(name: name)
      let new = try StoreOpening.newStore(model, options)
      try PostgresEngine.create(cluster, name: name, tables: new.tables, .metadata, new.entries)
      return try open(name, on: cluster, options: options)
    }

    /// Opens a store in a cluster.
    ///
    /// - Parameter model: the model that the store must have, or nil for any. If there is no store and a model is given,
    ///   the store is created, as by `open(at:model:options:)`.
    /// - Throws: `StoreError`: `storeNotFound`; `incompatibleModel`; `newerFormat`; `io`.
    public static func open(
      _ name: String, on cluster: PostgresCluster, model: ManagedObjectModel? = nil,
      options: StoreOptions = StoreOptions()
    ) throws(StoreError) -> ObjectStore {
      let engine: PostgresEngine
      do throws(StoreError) {
        engine = try PostgresEngine(cluster, name: name)
      } catch {
        if error.kind == .storeNotFound, let model, !options.isReadOnly {
          return try create(name, on: cluster, model: model, options: options)
        }
        throw error
      }
      return try StoreOpening.open(engine, path: name, model: model, options: options)
    }
  }
#endif
