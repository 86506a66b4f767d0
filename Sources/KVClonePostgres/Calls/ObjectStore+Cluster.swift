#if Postgres
  public import KVClone
  public import KVCloneModel
  import KVCloneRecords

  extension ObjectStore {
    /// Creates a store in a cluster, and opens it.
    ///
    /// - Parameters:
    ///   - name: the name of the store in the cluster: 1 to 255 bytes of UTF-8 without zero bytes.
    ///   - cluster: the cluster, with the schema `kvclone` installed.
    ///   - model: the model of the store.
    ///   - options: the options to open the store with. Those about the data file have no effect.
    /// - Returns: the open store. Its `path` is the name.
    /// - Throws: `storeExists`; `invalidModel` with the rules that the model breaks; `invalidDestination` if the name
    ///   is invalid; `storeNotFound` if the database or the schema does not exist; `busy` if no connection is
    ///   available; `readOnly` on a standby; `invalidStore` if ``PostgresOptions/durability`` is not satisfied;
    ///   `diskFull`; `closed`; `io`, after which the store may exist if the connection was lost.
    public static func create(
      _ name: String, on cluster: PostgresCluster, model: ManagedObjectModel, options: StoreOptions = StoreOptions()
    ) throws(StoreError) -> ObjectStore {
      try PostgresCluster.requireValid(name: name)
      let new = try StoreOpening.newStore(model, options)
      try PostgresEngine.create(cluster, name: name, tables: new.tables, .metadata, new.entries)
      return try open(name, on: cluster, options: options)
    }

    /// Opens a store in a cluster, or creates it if it does not exist and a model is given.
    ///
    /// A process may open a store more than once. Each open store has a cache of its own.
    ///
    /// - Parameters:
    ///   - name: the name of the store in the cluster.
    ///   - cluster: the cluster, with the schema `kvclone` installed.
    ///   - model: the expected model, as for `open(at:model:options:)`; nil for the model that the store contains.
    ///   - options: the options to open the store with. Those about the data file have no effect.
    /// - Returns: the open store. Its `path` is the name.
    /// - Throws: `storeNotFound`, also if the database or the schema does not exist; `storeExists` if another process
    ///   creates the store at the same time; `incompatibleModel`; `newerFormat`, `olderFormat`; `invalidStore`, also if
    ///   ``PostgresOptions/durability`` is not satisfied; `corrupted`; `busy` if no connection is available, or if a
    ///   writer blocks a model change or migration; and the errors of creating a store.
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

  /// Copies whole stores between a directory and a cluster, and between clusters.
  ///
  /// A copy has every entry of the latest committed state, including snapshots and history. It is the same store with
  /// the same UUID. Writers of the source continue, and their later commits are not part of the copy. All entries are
  /// read back, and their number and checksum are compared for each table. Memory use is constant.
  ///
  /// The destination must not exist. It becomes a store with the last transaction of the copy, and an error removes
  /// everything. A killed process leaves a store in the cluster that cannot be opened; ``PostgresCluster/drop(_:)``
  /// deletes it.
  extension ObjectStore {
    /// Copies a store from a directory to a cluster.
    ///
    /// - Parameters:
    ///   - path: the directory, which must not be open in this process.
    ///   - name: the name of the new store, at most 255 bytes.
    ///   - progress: receives the number of entries on this thread. The phases are `copy` and `verify`.
    ///   - cancellation: cancels the copy from another thread.
    /// - Throws: `StoreError`: `storeNotFound` (the directory, or the schema of the cluster); `storeExists`;
    ///   `invalidDestination` (the name); `unsupportedByEngine` (a value above 256 MiB); `corrupted` (the copy differs);
    ///   `busy`; `cancelled`; `io`.
    @available(*, noasync, message: "call it on a separate thread")
    @discardableResult
    public static func copy(
      at path: String, to cluster: PostgresCluster, as name: String,
      progress: (@Sendable (OperationProgress) -> Void)? = nil, cancellation: Cancellation? = nil
    ) throws(StoreError) -> CopyResult {
      let source = try open(at: path, options: .readOnly)
      defer { source.close() }
      return try CopyRun(source, CopyProgress(progress, cancellation)).copy(to: cluster, as: name)
    }

    /// Copies a store from a cluster to a new directory.
    ///
    /// - Parameters:
    ///   - name: the name of the store in the cluster.
    ///   - path: the directory to create. Its parent must exist, and nothing may exist at the path.
    ///   - progress: receives the number of entries on this thread. The phases are `copy`, `sync` and `verify`.
    ///   - cancellation: cancels the copy from another thread.
    /// - Throws: `StoreError`: `storeNotFound`; `storeExists`; `invalidDestination`; `diskFull`; `corrupted` (the copy
    ///   differs); `busy`; `cancelled`; `io`.
    @available(*, noasync, message: "call it on a separate thread")
    @discardableResult
    public static func copy(
      _ name: String, from cluster: PostgresCluster, to path: String,
      progress: (@Sendable (OperationProgress) -> Void)? = nil, cancellation: Cancellation? = nil
    ) throws(StoreError) -> CopyResult {
      let source = try open(name, on: cluster, options: .readOnly)
      defer { source.close() }
      return try CopyRun(source, CopyProgress(progress, cancellation)).copy(to: path)
    }

    /// Copies a store from a cluster to another one, or to another name in the same cluster.
    ///
    /// Uses two connections, which may be of the same ``PostgresCluster``.
    ///
    /// - Parameters:
    ///   - name: the name of the store in the cluster.
    ///   - other: the cluster of the copy.
    ///   - newName: the name of the copy, at most 255 bytes.
    ///   - progress: receives the number of entries on this thread. The phases are `copy` and `verify`.
    ///   - cancellation: cancels the copy from another thread.
    /// - Throws: `StoreError`: `storeNotFound` (the store, or the schema of the other cluster); `storeExists`;
    ///   `invalidDestination` (the name); `corrupted` (the copy differs); `busy`; `cancelled`; `io`.
    @available(*, noasync, message: "call it on a separate thread")
    @discardableResult
    public static func copy(
      _ name: String, from cluster: PostgresCluster, to other: PostgresCluster, as newName: String,
      progress: (@Sendable (OperationProgress) -> Void)? = nil, cancellation: Cancellation? = nil
    ) throws(StoreError) -> CopyResult {
      let source = try open(name, on: cluster, options: .readOnly)
      defer { source.close() }
      return try CopyRun(source, CopyProgress(progress, cancellation)).copy(to: other, as: newName)
    }
  }

  extension StoreOptions {
    fileprivate static var readOnly: StoreOptions {
      var options = StoreOptions()
      options.isReadOnly = true
      return options
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
