#if Postgres
  public import KVClone
  public import KVCloneModel

  extension PostgresCluster {
    /// Plans the migration of a store in a cluster by running it in a transaction that is rolled back.
    ///
    /// - Parameters:
    ///   - name: the name of the store in the cluster.
    ///   - model: the model to migrate to.
    ///   - migration: the mapping models and stages.
    ///   - options: the options to open the store with.
    ///   - progress: receives the progress on this thread.
    ///   - cancellation: cancels the call from another thread.
    /// - Returns: the plan, with the reasons for which the migration would fail.
    /// - Throws: `StoreError`: `storeNotFound`, `storeMoved`, `busy`, `cancelled`, `io`.
    @available(*, noasync, message: "call it on a separate thread")
    public func planMigration(
      _ name: String, to model: ManagedObjectModel,
      migration: MigrationOptions = MigrationOptions(), options: StoreOptions = StoreOptions(),
      progress: (@Sendable (OperationProgress) -> Void)? = nil, cancellation: Cancellation? = nil
    ) throws(StoreError) -> MigrationPlan {
      let engine = try PostgresEngine(self, name: name)
      defer { engine.close() }
      return try StoreOpening.planMigration(
        engine, path: name, to: model, migration, options, progress, cancellation)
    }

    /// Migrates a store in a cluster to another version of its model, in one write transaction.
    ///
    /// The store must not be open in this process. Other processes that have it open must open it again.
    ///
    /// - Parameters:
    ///   - name: the name of the store in the cluster.
    ///   - model: the model to migrate to.
    ///   - migration: the mapping models and stages.
    ///   - options: the options to open the store with.
    ///   - progress: receives the progress on this thread.
    ///   - cancellation: cancels the call from another thread.
    /// - Throws: `StoreError`: `storeNotFound`, `storeMoved`, `mappingRequired`, `busy`, `cancelled`, `io`, and the
    ///   errors of the objects, after which nothing has changed; `commitOutcomeUnknown`.
    @available(*, noasync, message: "call it on a separate thread")
    @discardableResult
    public func migrate(
      _ name: String, to model: ManagedObjectModel,
      migration: MigrationOptions = MigrationOptions(), options: StoreOptions = StoreOptions(),
      progress: (@Sendable (OperationProgress) -> Void)? = nil, cancellation: Cancellation? = nil
    ) throws(StoreError) -> MigrationReport {
      let engine = try PostgresEngine(self, name: name)
      defer { engine.close() }
      return try StoreOpening.migrate(engine, path: name, to: model, migration, options, progress, cancellation)
    }
  }
#endif
