#if Postgres
  public import KVClone

  /// Copies whole stores between a directory and a cluster, and between clusters.
  ///
  /// A copy has every entry of the latest committed state, including snapshots and history. It is the same store with
  /// the same UUID. Writers of the source continue, and their later commits are not part of the copy. All entries are
  /// read back, and their number and checksum are compared for each table. Memory use is constant.
  ///
  /// The destination must not exist. It becomes a store with the last transaction of the copy, and an error removes
  /// everything. A killed process leaves a store in the cluster that cannot be opened; ``PostgresCluster/drop(_:)``
  /// deletes it.
  extension PostgresCluster {
    /// Copies a store from a directory to the cluster.
    ///
    /// - Parameters:
    ///   - path: the directory, which must not be open in this process.
    ///   - name: the name of the new store, at most 255 bytes.
    ///   - progress: receives the number of entries on this thread. The phases are `copy` and `verify`.
    ///   - cancellation: cancels the copy from another thread.
    /// - Throws: `StoreError`: `storeNotFound` (the directory, or the schema of the cluster); `storeExists`;
    ///   `storeMoved` (a store with the name was moved away from the cluster); `invalidDestination` (the name);
    ///   `unsupportedByEngine` (a value above 256 MiB); `corrupted` (the copy differs); `busy`; `cancelled`; `io`.
    @available(*, noasync, message: "call it on a separate thread")
    @discardableResult
    public func copyStore(
      at path: String, as name: String,
      progress: (@Sendable (OperationProgress) -> Void)? = nil, cancellation: Cancellation? = nil
    ) throws(StoreError) -> CopyResult {
      let source = try ObjectStore.open(at: path, options: .readOnly)
      defer { source.close() }
      return try CopyRun(source, CopyProgress(progress, cancellation)).copy(to: self, as: name)
    }

    /// Copies a store from the cluster to a new directory.
    ///
    /// - Parameters:
    ///   - name: the name of the store in the cluster.
    ///   - path: the directory to create. Its parent must exist, and nothing may exist at the path.
    ///   - progress: receives the number of entries on this thread. The phases are `copy`, `sync` and `verify`.
    ///   - cancellation: cancels the copy from another thread.
    /// - Throws: `StoreError`: `storeNotFound`; `storeMoved`; `storeExists`; `invalidDestination`; `diskFull`;
    ///   `corrupted` (the copy differs); `busy`; `cancelled`; `io`.
    @available(*, noasync, message: "call it on a separate thread")
    @discardableResult
    public func copyStore(
      _ name: String, to path: String,
      progress: (@Sendable (OperationProgress) -> Void)? = nil, cancellation: Cancellation? = nil
    ) throws(StoreError) -> CopyResult {
      let source = try openStore(name, options: .readOnly, usesStandbys: false)
      defer { source.close() }
      return try CopyRun(source, CopyProgress(progress, cancellation)).copy(to: path)
    }

    /// Copies a store to another cluster, or to another name in the same cluster.
    ///
    /// Uses two connections, which may be of the same ``PostgresCluster``.
    ///
    /// - Parameters:
    ///   - name: the name of the store in the cluster.
    ///   - other: the cluster of the copy.
    ///   - newName: the name of the copy, at most 255 bytes.
    ///   - progress: receives the number of entries on this thread. The phases are `copy` and `verify`.
    ///   - cancellation: cancels the copy from another thread.
    /// - Throws: `StoreError`: `storeNotFound` (the store, or the schema of the other cluster); `storeMoved`;
    ///   `storeExists`; `invalidDestination` (the name); `corrupted` (the copy differs); `busy`; `cancelled`; `io`.
    @available(*, noasync, message: "call it on a separate thread")
    @discardableResult
    public func copyStore(
      _ name: String, to other: PostgresCluster, as newName: String,
      progress: (@Sendable (OperationProgress) -> Void)? = nil, cancellation: Cancellation? = nil
    ) throws(StoreError) -> CopyResult {
      let source = try openStore(name, options: .readOnly, usesStandbys: false)
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
#endif
