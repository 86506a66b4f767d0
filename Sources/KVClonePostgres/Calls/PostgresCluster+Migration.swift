#if Postgres
  public import KVClone
  public import KVCloneModel

  extension PostgresCluster {
    /// Plans the migration of a store in a cluster by running it in a transaction that is rolled back.
    ///
    /// - Throws: `StoreError`: `storeNotFound`, `busy`, `cancelled`, `io`. The plan contains the reasons for which the
    ///   migration would fail.
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
    /// - Throws: `StoreError`: `storeNotFound`, `mappingRequired`, `busy`, `cancelled`, `io`, and the errors of the
    ///   objects. Nothing is changed if it throws.
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
