#if Postgres
  public import KVClone
  public import KVCloneModel
  import KVCloneRecords

  extension PostgresCluster {
    /// Creates a store in the cluster, in which the schema `kvclone` is installed, and opens it.
    ///
    /// - Parameters:
    ///   - name: the name of the store in the cluster: 1 to 255 bytes of UTF-8 without zero bytes.
    ///   - model: the model of the store.
    ///   - options: the options to open the store with. See ``StoreOptions`` for those about the data file.
    /// - Returns: the open store. Its `path` is the name.
    /// - Throws: `storeExists`; `storeMoved` if a store with the name was moved away from the cluster; `invalidModel`
    ///   with the rules that the model breaks; `invalidDestination` if the name is invalid; `storeNotFound` if the
    ///   database or the schema does not exist; `busy` if no connection is available; `readOnly` on a standby;
    ///   `invalidStore` if ``PostgresOptions/durability`` is not satisfied; `unsupportedByEngine` for an option that
    ///   needs a data file; `diskFull`; `closed`; `io`, after which the store may exist if no server answered within
    ///   ``PostgresOptions/resolveTimeout``.
    public func createStore(
      _ name: String, model: ManagedObjectModel, options: StoreOptions = StoreOptions()
    ) throws(StoreError) -> ObjectStore {
      try Self.requireValid(name: name)
      try StoreOpening.requireHonored(options, by: nil)
      let new = try StoreOpening.newStore(model, options)
      try PostgresEngine.create(self, name: name, tables: new.tables, .metadata, new.entries)
      return try openStore(name, options: options)
    }

    /// Opens a store in the cluster, or creates it if it does not exist and a model is given.
    ///
    /// A process may open a store more than once. Each open store has a cache of its own.
    ///
    /// - Parameters:
    ///   - name: the name of the store in the cluster.
    ///   - model: the expected model, as for `open(at:model:options:)`; nil for the model that the store contains.
    ///   - options: the options to open the store with. See ``StoreOptions`` for those about the data file.
    /// - Returns: the open store. Its `path` is the name.
    /// - Throws: `storeNotFound`, also if the database or the schema does not exist; `storeMoved`; `incompatibleModel`;
    ///   `newerFormat`, `olderFormat`; `invalidStore`, also if ``PostgresOptions/durability`` is not satisfied;
    ///   `corrupted`; `busy` if no connection is available, if a writer blocks a model change or migration, or if the
    ///   store arrives by a move that has not ended; and the errors of creating a store.
    public func openStore(
      _ name: String, model: ManagedObjectModel? = nil, options: StoreOptions = StoreOptions()
    ) throws(StoreError) -> ObjectStore {
      try openStore(name, model: model, options: options, usesStandbys: true)
    }

    /// - Parameter usesStandbys: whether reads use the standbys of ``PostgresOptions/reads``, once the store is open.
    func openStore(
      _ name: String, model: ManagedObjectModel? = nil, options: StoreOptions, usesStandbys: Bool
    ) throws(StoreError) -> ObjectStore {
      let engine: PostgresEngine
      do throws(StoreError) {
        engine = try PostgresEngine(self, name: name)
      } catch {
        if error.kind == .storeNotFound, let model, !options.isReadOnly {
          do throws(StoreError) {
            return try createStore(name, model: model, options: options)
          } catch  where error.kind == .storeExists {
            // Another process has created it since.
          }
          engine = try PostgresEngine(self, name: name)
        } else {
          throw error
        }
      }
      let store = try StoreOpening.open(engine, path: name, model: model, options: options)
      if usesStandbys { engine.beginUseOfStandbys() }
      return store
    }
  }

  extension PostgresCluster {
    /// - Throws: `invalidDestination` if a store cannot have this name.
    static func requireValid(name: String) throws(StoreError) {
      guard !name.isEmpty, name.utf8.count <= 255, !name.utf8.contains(0) else {
        throw StoreError(
          .invalidDestination, "a store in a cluster needs a name of 1 to 255 bytes without zero bytes; choose another")
      }
    }
  }
#endif
