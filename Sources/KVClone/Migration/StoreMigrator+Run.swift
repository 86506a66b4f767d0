import KVCloneBranches
import KVCloneCore
import KVCloneModel
import KVCloneRecords
import KVCloneTracing

/// Migrates stores to another version of the model, in one write transaction.
extension StoreMigrator {
  /// Migrates a store with any engine.
  static func migrate(
    _ engine: any StorageEngine, path: String, to model: ManagedObjectModel, _ migration: MigrationOptions,
    _ options: StoreOptions, _ progress: (@Sendable (OperationProgress) -> Void)? = nil,
    _ cancellation: Cancellation? = nil, dryRun: MigrationDryRun? = nil
  ) throws(StoreError) -> MigrationReport {
    if dryRun != nil {
      return try attemptMigration(engine, path: path, to: model, migration, options, progress, cancellation, dryRun)
    }
    return try StoreSpan(.migrate, of: engine).run { () throws(StoreError) in
      try attemptMigration(engine, path: path, to: model, migration, options, progress, cancellation, nil)
    }
  }

  private static func attemptMigration(
    _ engine: any StorageEngine, path: String, to model: ManagedObjectModel, _ migration: MigrationOptions,
    _ options: StoreOptions, _ progress: (@Sendable (OperationProgress) -> Void)?, _ cancellation: Cancellation?,
    _ dryRun: MigrationDryRun?
  ) throws(StoreError) -> MigrationReport {
    try retryIfMapFull { () throws(StoreError) in
      for _ in 0..<attempts {
        let run = MigrationRun(progress, cancellation, dryRun: dryRun)
        if let report = try runMigration(engine, path: path, to: model, migration, options, run) { return report }
      }
      throw StoreError(.busy, "other processes migrate the store repeatedly; try again")
    }
  }

  /// The number of attempts, if other processes finish migrations at the same time.
  private static var attempts: Int { 5 }

  /// Nil if another process has changed the model's version while this one waited for the lock.
  private static func runMigration(
    _ engine: any StorageEngine, path: String, to model: ManagedObjectModel, _ migration: MigrationOptions,
    _ options: StoreOptions, _ run: MigrationRun
  ) throws(StoreError) -> MigrationReport? {
    guard let metadata = try engine.openTables([.metadata], create: false).first else {
      throw StoreError(.invalidStore, "\(path) is not a store of this library")
    }
    let storage = StorageTransaction(try engine.beginRead())
    guard let format = try Metadata.format(storage, metadata) else {
      throw StoreError(.invalidStore, "\(path) is an LMDB file, but not a store of this library")
    }
    try format.requireReadable(at: path)
    let catalog = try StoreCatalog(storage, metadata)
    _ = consume storage
    let tables = try SchemaTables.open(engine, metadata, catalog)
    let start = ContinuousClock.now
    let schema = try Schema(catalog, tables: tables, transformers: options.transformers)
    let label = run.dryRun == nil ? "migration" : "migration plan"
    var writing = StorageTransaction(
      try engine.beginWrite(label: label, timeout: options.busyTimeout, isDryRun: run.dryRun != nil))
    guard try Metadata.counter(writing, metadata, MetadataKey.catalog) == catalog.number else { return nil }
    let commit = try Metadata.counter(writing, metadata, MetadataKey.commitCounter)
    try writing.record(schema, commit: commit + 1)
    let planner = try MigrationPlanner(from: catalog, to: model, migration)
    let branches =
      planner.works.allSatisfy(\.keepsBranches) ? [] : try BranchRecords.names(in: &writing, tables)
    let session = StoreContext(uuid: format.storeUUID, engine: engine).session(writing, schema, commit: commit + 1)
    run.stepCount = planner.stepCount
    let plan = try planner.plan(session)
    if let dryRun = run.dryRun {
      guard dryRun.begin(plan) else { return MigrationReport(at: catalog.model, after: ContinuousClock.now - start) }
    } else {
      try plan.requirePossible()
    }
    if planner.isEmpty { return MigrationReport(at: catalog.model, after: ContinuousClock.now - start) }
    var tally = MigrationTally()
    do throws(StoreError) {
      if !branches.isEmpty { throw .branches(branches, prevent: "this migration") }
      tally = try StoreMigrator(session).migrate(by: planner, migration, options, run)
    } catch {
      try run.refuse(error)
    }
    return MigrationReport(
      versions: [catalog.model.versionIdentifier] + planner.versions, stages: planner.stages, tally,
      warnings: plan.steps.flatMap(\.warnings), duration: ContinuousClock.now - start)
  }
}

extension MigrationReport {
  /// The report of a migration without work.
  fileprivate init(at model: ManagedObjectModel, after duration: Duration) {
    self.init(versions: [model.versionIdentifier], stages: [], MigrationTally(), duration: duration)
  }

  fileprivate init(
    versions: [String], stages: [String], _ tally: MigrationTally, warnings: [ModelWarning] = [], duration: Duration
  ) {
    self.init(
      versions: versions, stages: stages, snapshot: tally.snapshot, rewrittenCount: tally.rewrittenCount,
      movedCount: tally.movedCount, createdCount: tally.createdCount, deletedCount: tally.deletedCount,
      byteCount: tally.byteCount, warnings: warnings, duration: duration)
  }
}
