public import KVCloneCore
public import KVCloneModel

/// Creates, opens and migrates stores.
extension ObjectStore {
  /// Creates a store: a directory with mode 0700.
  ///
  /// The directory is complete and synced before it gets its name. If creation fails, no directory is left at `path`.
  ///
  /// - Parameters:
  ///   - path: the directory of the new store. Its parent directory must exist.
  ///   - model: the model. It is stored in the file.
  ///   - options: the options to open the new store with.
  /// - Returns: the new store, open.
  /// - Throws: `storeExists`; `invalidModel` with the rules that the model breaks; `invalidDestination`, and errors of
  ///   the file system.
  public static func create(at path: String, model: ManagedObjectModel, options: StoreOptions = StoreOptions())
    throws(StoreError) -> ObjectStore
  {
    try StoreOpening.create(at: path, model: model, options)
  }

  /// Opens a store, or creates it if it does not exist and a model is given.
  ///
  /// - Parameters:
  ///   - path: the directory of the store.
  ///   - model: the expected model. With nil, the store is opened with the model that it contains, and a missing store
  ///     is an error. With a model, a missing store is created, and an existing one must contain a model with the same
  ///     hash. Parts that the hash excludes (userInfo, defaults, bounds, the order of declarations) are taken from this
  ///     model and stored. A store with another model version is migrated if ``StoreOptions/automaticMigration`` is
  ///     set.
  ///   - options: the options to open the store with.
  /// - Returns: the open store.
  /// - Throws: `storeNotFound`, `incompatibleModel`, `newerFormat`, `olderFormat`, `invalidStore`, `alreadyOpen`,
  ///   `corrupted`, `busy` if a writer blocks a model change or migration, and errors of the file system.
  public static func open(at path: String, model: ManagedObjectModel? = nil, options: StoreOptions = StoreOptions())
    throws(StoreError) -> ObjectStore
  {
    try StoreOpening.open(at: path, model: model, options)
  }

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
  /// The store must not be open in this process. The parameters are those of
  /// ``migrate(at:to:migration:options:progress:cancellation:)``.
  ///
  /// - Throws: `invalidModel`, `invalidMapping`, `invalidStage`, `cancelled`, `busy`, and the errors of opening the
  ///   store. Errors of the migration itself are in ``MigrationPlan/errors``.
  public static func planMigration(
    at path: String, to model: ManagedObjectModel, migration: MigrationOptions = MigrationOptions(),
    options: StoreOptions = StoreOptions(), progress: (@Sendable (OperationProgress) -> Void)? = nil,
    cancellation: Cancellation? = nil
  ) throws(StoreError) -> MigrationPlan {
    try StoreOpening.planMigration(at: path, to: model, migration, options, progress, cancellation)
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
    try StoreOpening.migrate(at: path, to: model, migration, options, progress, cancellation)
  }
}
