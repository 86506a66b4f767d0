#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
package import KVCloneCore
import KVCloneLMDB
package import KVCloneModel
package import KVCloneRecords

/// Creates, opens and migrates the directory of a store, and assembles the store from its parts.
package enum StoreOpening {
  /// Prepares the process for a faster first opening of a store. Call it before the program has a second thread.
  package static func prepareProcess() { LMDBLibrary.prepareProcess() }

  /// Returns the tables of a new store, and the entries of its table `metadata`.
  package static func newStore(
    _ model: ManagedObjectModel, _ options: StoreOptions
  ) throws(StoreError) -> (tables: [TableCode], entries: [(key: [UInt8], value: [UInt8])]) {
    let warnings: [ModelWarning]
    do {
      warnings = try model.validate()
    } catch {
      throw StoreError(.invalidModel, "\(error)")
    }
    // Contradictions that no object can satisfy would otherwise show up only at a save.
    for warning in warnings where warning.kind.isContradiction { options.logger?.warning("model: \(warning)") }
    let catalog = try StoreCatalog(new: model)
    return (catalog.tableCodes, try catalog.entries(uuid: UUID(), created: Date()))
  }

  static func create(
    at path: String, model: ManagedObjectModel, _ options: StoreOptions
  ) throws(StoreError) -> ObjectStore {
    let new = try newStore(model, options)
    let environment: LMDBEnvironment
    do {
      environment = try LMDBEnvironment.create(
        at: path, tables: new.tables.compactMap(\.name), options: options.lmdb
      ) { transaction in
        let metadata = try transaction.environment.table(named: TableCode.metadata.name ?? "")
        for (key, value) in new.entries { try transaction.put(metadata, key.span.bytes, value.span.bytes) }
      }
    } catch let error as LMDBError {
      throw StoreError(error)
    } catch {
      throw StoreError(.io, "the store at \(path) could not be created: \(error)")
    }
    return try adopt(environment, path: path, model: nil, options: options)
  }

  static func open(
    at path: String, model: ManagedObjectModel?, _ options: StoreOptions
  ) throws(StoreError) -> ObjectStore {
    if options.verifiesPagesAtOpen { try PageVerification.verify(at: path) }
    let environment: LMDBEnvironment
    do throws(LMDBError) {
      environment = try LMDBEnvironment.open(at: path, options: options.lmdb)
    } catch {
      if case .storeNotFound = error, let model { return try create(at: path, model: model, options) }
      throw StoreError(error)
    }
    return try adopt(environment, path: path, model: model, options: options)
  }

  /// Assembles a store from an open environment, and closes the environment if that fails.
  private static func adopt(
    _ environment: LMDBEnvironment, path: String, model: ManagedObjectModel?, options: StoreOptions
  ) throws(StoreError) -> ObjectStore {
    do throws(StoreError) {
      if environment.isShorterThanLastPage { try PageVerification.verify(of: environment, path: path) }
      logFindings(environment, options)
      return try open(LMDBEngine(environment), path: path, model: model, options: options)
    } catch {
      environment.close()
      throw error
    }
  }

  /// Opens the store in a storage engine, and does what earlier processes left undone.
  package static func open(
    _ engine: any StorageEngine, path: String, model: ManagedObjectModel?, options: StoreOptions
  ) throws(StoreError) -> ObjectStore {
    let store = try assemble(engine, path: path, model: model, options: options)
    // One read transaction for both.
    var hasValues = false
    BlobStaging.sweep(store) { hasValues = DerivedRefresh.hasValues(in: $0) }
    if !hasValues { try DerivedRebuild.run(store) }
    return store
  }

  /// Assembles a store from a storage engine of any kind.
  package static func assemble(
    _ engine: any StorageEngine, path: String, model: ManagedObjectModel?, options: StoreOptions
  ) throws(StoreError) -> ObjectStore {
    try requireHonored(options, by: engine)
    options.logUnused(by: engine)
    guard let metadata = try engine.openTables([.metadata], create: false).first else {
      throw StoreError(.invalidStore, "\(path) is not a KVClone store; check the path")
    }
    let storage = StorageTransaction(try engine.beginRead())
    guard let format = try Metadata.format(storage, metadata) else {
      throw StoreError(
        .invalidStore,
        engine.files == nil
          ? "the store \(path) is incomplete: the copy that creates it has not ended; wait, or delete it and copy again"
          : "\(path) is an LMDB file, but not a KVClone store; check the path")
    }
    try format.requireReadable(at: path)
    var catalog = try StoreCatalog(storage, metadata)
    _ = consume storage
    if let model, catalog.needsMigration(to: model) {
      guard let migration = options.automaticMigration, !options.isReadOnly else {
        throw incompatible(catalog.model, model, path)
      }
      _ = try StoreMigrator.migrate(engine, path: path, to: model, migration, options)
      catalog = try StoreCatalog(StorageTransaction(try engine.beginRead()), metadata)
    }
    let stored = catalog
    if let model, model != catalog.model { catalog = try catalog.adopting(model) }
    let tables = try SchemaTables.open(engine, metadata, catalog)
    if !options.isReadOnly {
      catalog = try ModelAdoption.update(catalog, replacing: stored, engine, tables, format, options)
    }
    let schema = try Schema(catalog, tables: tables, transformers: options.transformers)
    // Earlier errors contain the given path; the store's own path survives a change of the working directory.
    let store = ObjectStore(
      path: engine.files?.directory ?? path, uuid: format.storeUUID, options: options, engine: engine, schema: schema,
      formatVersion: format.version,
      resources: [PinnedSnapshots(limit: options.pinnedSnapshotLimits(of: engine).limit), OpenBranches()])
    if let tracksHistory = options.tracksHistory, !options.isReadOnly {
      try StoreHistory(store).turn(on: tracksHistory)
    }
    return store
  }

  /// Refuses options that promise something about a data file, for an engine without one. Options that only tune a data
  /// file have no effect there.
  ///
  /// - Parameter engine: nil before the store of an engine without a data file is created.
  /// - Throws: `unsupportedByEngine`.
  package static func requireHonored(_ options: StoreOptions, by engine: (any StorageEngine)?) throws(StoreError) {
    if engine?.space != nil { return }
    if options.maximumFileBytes != nil {
      throw StoreError(
        .unsupportedByEngine,
        "StoreOptions.maximumFileBytes limits a data file, and this storage engine has none; leave it nil, and limit "
          + "the number of objects by maximumObjectCount, or the size by the database server")
    }
    if options.verifiesPagesAtOpen {
      throw StoreError(
        .unsupportedByEngine,
        "StoreOptions.verifiesPagesAtOpen verifies a data file, and this storage engine has none; leave it false, and "
          + "check the open store (ObjectStore.check), or the pages by tools of the database server")
    }
  }

  /// Returns the error for a store with another model version, with the differences.
  private static func incompatible(_ held: ManagedObjectModel, _ given: ManagedObjectModel, _ path: String)
    -> StoreError
  {
    let difference = ModelDifference(from: held, to: given)
    let real = difference.changes.filter { $0.work != .none }
    let told = real.prefix(10).map(\.description).joined(separator: "; ")
    let more = real.count > 10 ? "; and \(real.count - 10) more" : ""
    let advice =
      difference.refusals.isEmpty
      ? "migrate it (StoreOptions.automaticMigration, or kvclone migrate)"
      : "a migration cannot be inferred for all of them (kvclone migrate --plan shows why)"
    return StoreError(
      .incompatibleModel,
      "the store at \(path) has model version \(held.versionIdentifier), not "
        + "\(given.versionIdentifier): \(told)\(more); \(advice), or open it with the model version that it has",
      entity: real.first?.entity, property: real.first?.property)
  }

  /// Logs unusual properties of the library or the file that are no reason to reject the store.
  private static func logFindings(_ environment: LMDBEnvironment, _ options: StoreOptions) {
    guard let logger = options.logger else { return }
    if LMDBLibrary.destroysMutexes {
      // Processes that use this library do not endanger each other.
      logger.notice(
        """
        LMDB \(LMDBLibrary.version) destroys the mutexes of lock.mdb when mdb_stat or another plain LMDB program \
        closes the store (ITS#10095); run such programs only while no process opens the store, or install an LMDB \
        release other than 0.9.26 to 0.9.31
        """)
    }
    if !options.isReadOnly, options.spillBudget > 0, !environment.isSpillSupported {
      logger.warning(
        "this LMDB cannot spill dirty pages on demand; large write transactions keep all dirty pages in memory")
    }
    if environment.readsWithoutLock {
      logger.warning(
        "opened read-only without a lock file; safe only while no process writes the file through another mount")
    }
  }

  // MARK: Migrating

  /// Plans the migration of a store that is not open.
  static func planMigration(
    at path: String, to model: ManagedObjectModel, _ migration: MigrationOptions, _ options: StoreOptions,
    _ progress: (@Sendable (OperationProgress) -> Void)?, _ cancellation: Cancellation?
  ) throws(StoreError) -> MigrationPlan {
    let dryRun = MigrationDryRun()
    let report = try migrate(at: path, to: model, migration, options, progress, cancellation, dryRun: dryRun)
    return dryRun.plan(report)
  }

  /// Plans the migration of a store in a storage engine of any kind, which is not open otherwise.
  package static func planMigration(
    _ engine: any StorageEngine, path: String, to model: ManagedObjectModel, _ migration: MigrationOptions,
    _ options: StoreOptions, _ progress: (@Sendable (OperationProgress) -> Void)?, _ cancellation: Cancellation?
  ) throws(StoreError) -> MigrationPlan {
    try requireHonored(options, by: engine)
    let dryRun = MigrationDryRun()
    let report = try StoreMigrator.migrate(
      engine, path: path, to: model, migration, options, progress, cancellation, dryRun: dryRun)
    return dryRun.plan(report)
  }

  /// Migrates a store in a storage engine of any kind, which is not open otherwise.
  package static func migrate(
    _ engine: any StorageEngine, path: String, to model: ManagedObjectModel, _ migration: MigrationOptions,
    _ options: StoreOptions, _ progress: (@Sendable (OperationProgress) -> Void)?, _ cancellation: Cancellation?
  ) throws(StoreError) -> MigrationReport {
    try requireHonored(options, by: engine)
    return try StoreMigrator.migrate(engine, path: path, to: model, migration, options, progress, cancellation)
  }

  /// Migrates a store that is not open, regardless of its model.
  static func migrate(
    at path: String, to model: ManagedObjectModel, _ migration: MigrationOptions, _ options: StoreOptions,
    _ progress: (@Sendable (OperationProgress) -> Void)?, _ cancellation: Cancellation?,
    dryRun: MigrationDryRun? = nil
  ) throws(StoreError) -> MigrationReport {
    var options = options
    options.isReadOnly = false
    if options.verifiesPagesAtOpen { try PageVerification.verify(at: path) }
    let environment = try storeErrors { () throws(LMDBError) in
      try LMDBEnvironment.open(at: path, options: options.lmdb)
    }
    defer { environment.close() }
    return try StoreMigrator.migrate(
      LMDBEngine(environment), path: path, to: model, migration, options, progress, cancellation, dryRun: dryRun)
  }
}
