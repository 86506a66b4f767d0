public import KVCloneCore
import KVCloneLMDB
public import KVCloneModel

/// Migrating stores that are not open.
extension ObjectStore {
  /// Returns whether a store has exactly this version of the model, so that it can be opened with it.
  ///
  /// - Throws: `storeNotFound`, `corrupted`, and the errors of opening the store.
  public static func isCompatible(at path: String, with model: ManagedObjectModel) throws(StoreError) -> Bool {
    var options = StoreOptions()
    options.isReadOnly = true
    let store = try open(at: path, options: options)
    defer { store.close() }
    return store.model.modelHash == model.modelHash
  }

  /// Returns what a migration of a store would do, and all errors, without changing the store.
  ///
  /// The plan runs the migration with its mapping policies and stage handlers, in a write transaction that is rolled
  /// back. If the plan has no errors, the migration succeeds on the same state. The plan takes as long as the
  /// migration, holds the write lock as long, and needs the disk space of the pages that it spills, which are truncated
  /// afterwards. Other processes can continue to read. A step that the models alone rule out is not run.
  ///
  /// - Parameters:
  ///   - path: the directory of the store. It must not be open in this process.
  ///   - model: the target version of the model.
  ///   - migration: options of the migration.
  ///   - options: options for opening the store.
  ///   - progress: receives progress on this thread.
  ///   - cancellation: cancels the plan from another thread.
  /// - Throws: `invalidModel`, `invalidMapping`, `invalidStage`, `cancelled`, `busy`, and the errors of opening the
  ///   store. Errors of the migration itself are in ``MigrationPlan/errors``.
  public static func planMigration(
    at path: String, to model: ManagedObjectModel, migration: MigrationOptions = MigrationOptions(),
    options: StoreOptions = StoreOptions(), progress: (@Sendable (OperationProgress) -> Void)? = nil,
    cancellation: Cancellation? = nil
  ) throws(StoreError) -> MigrationPlan {
    let dryRun = MigrationDryRun()
    let report = try withEngine(at: path, options) { (engine, options) throws(StoreError) in
      try migrate(engine, path: path, to: model, migration, options, progress, cancellation, dryRun: dryRun)
    }
    return dryRun.plan(report)
  }

  /// Migrates a store to another version of the model, in one write transaction. Keeps every object that the new
  /// version can represent.
  ///
  /// The store must not be open in this process. Other processes with the store open can continue to read their
  /// snapshots. When they write, or read data of the new version, they receive an error and must reopen the store.
  ///
  /// - Parameters:
  ///   - path: the directory of the store.
  ///   - model: the target version of the model.
  ///   - migration: options of the migration.
  ///   - options: options for opening the store.
  ///   - progress: receives progress on this thread.
  ///   - cancellation: cancels the migration from another thread.
  /// - Returns: the versions, the snapshot, and the number of objects and bytes.
  /// - Throws: `mappingRequired` (with every difference that cannot be inferred), `notConvertible`, `notUnique`,
  ///   `invalidMapping`, `invalidStage`, `stageFailed`, `invalidObject`, `cancelled`, `busy`, `diskFull`, and the
  ///   errors of opening the store. The store is unchanged if it throws.
  @discardableResult
  public static func migrate(
    at path: String, to model: ManagedObjectModel, migration: MigrationOptions = MigrationOptions(),
    options: StoreOptions = StoreOptions(), progress: (@Sendable (OperationProgress) -> Void)? = nil,
    cancellation: Cancellation? = nil
  ) throws(StoreError) -> MigrationReport {
    try withEngine(at: path, options) { (engine, options) throws(StoreError) in
      try migrate(engine, path: path, to: model, migration, options, progress, cancellation)
    }
  }

  /// Opens a store's file for writing, whatever its model is.
  private static func withEngine<R>(
    at path: String, _ options: StoreOptions, _ body: (LMDBEngine, StoreOptions) throws(StoreError) -> R
  ) throws(StoreError) -> R {
    var options = options
    options.isReadOnly = false
    if options.verifiesPagesAtOpen { try verifyPages(at: path) }
    let environment = try storeErrors { () throws(LMDBError) in
      try LMDBEnvironment.open(at: path, options: options.lmdb)
    }
    defer { environment.close() }
    return try body(LMDBEngine(environment), options)
  }
}
