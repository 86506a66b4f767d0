import KVClone
import KVCloneBranches
import KVCloneCore
import KVCloneLMDB
import KVCloneRecords
import KVCloneTracing

extension BackupRun {
  /// Backs up a store to a new directory.
  func back(
    up store: ObjectStore, to path: String, _ options: BackupOptions
  ) throws(StoreError) -> BackupResult {
    try store.engine.requireStore(for: "a backup")
    return try StoreSpan(.backup, of: store.engine).run { () throws(StoreError) in
      try makeBackup(of: store, to: path, options)
    }
  }

  private func makeBackup(
    of store: ObjectStore, to path: String, _ options: BackupOptions
  ) throws(StoreError) -> BackupResult {
    if let since = options.since {
      if options.finishesMigration {
        throw StoreError(
          .incrementalBackup,
          "an incremental backup cannot finish a migration, because it copies records unchanged; use a full backup")
      }
      if !options.includesBranches {
        throw StoreError(
          .incrementalBackup, "an incremental backup always contains branches; use a full backup to leave them out")
      }
      return try makeIncrement(of: store, to: path, since, options)
    }
    let environment = store.engine.files?.environment
    // A backup is written once; a finished migration is a store for further use.
    let isFurtherUsed = options.finishesMigration || !options.includesBranches
    let copyOnWrite = isFurtherUsed ? environment?.copyOnWrite ?? .offUnlessMirrored : .asAbove
    var copy = try storeErrors { () throws(LMDBError) in try StoreCopy(to: path, copyOnWrite: copyOnWrite) }
    if let environment {
      try copyState(of: environment, to: copy, store.path)
    } else {
      try copyEntries(of: store, to: copy)
    }
    var (renewedCount, keptCount): (UInt64, UInt64) = (0, 0)
    let omitted = options.includesBranches ? [] : try dropBranches(of: copy, store.path)
    // Deleting them has left free pages.
    if !omitted.isEmpty { copy = try copied(copy, to: path, copyOnWrite, of: store.path) }
    if options.finishesMigration {
      (renewedCount, keptCount) = try renewRecords(of: copy, store.path)
      // Rewriting records has left free pages.
      if renewedCount > 0 { copy = try copied(copy, to: path, copyOnWrite, of: store.path) }
    }
    try sync(copy)
    let verified = try verify(copy, options.verification, of: store.path)
    let byteCount = copy.byteCount
    try publish(copy)
    return BackupResult(
      byteCount: byteCount, pageCount: verified.pageCount, commit: verified.commit,
      duration: ContinuousClock.now - start, renewedCount: renewedCount, keptCount: keptCount,
      omittedBranches: omitted)
  }

  /// Deletes the branches of a copy, and marks it as no start of a chain; returns them.
  private func dropBranches(of copy: borrowing StoreCopy, _ path: String) throws(StoreError) -> [OmittedBranch] {
    defer { copy.removeReaderLock() }
    let environment = try storeErrors { () throws(LMDBError) in try copy.openEnvironment(tables: []) }
    defer { environment.close() }
    let engine = LMDBEngine(environment)
    let metadata = try engine.openTables([.metadata], create: false)[0]
    let reader = StorageTransaction(try engine.beginRead())
    let catalog = try StoreCatalog(reader, metadata)
    let format = try Metadata.format(reader, metadata)
    _ = consume reader
    let schema = try Schema(catalog, tables: try SchemaTables.open(engine, metadata, catalog))
    guard let format, let tables = try BranchTables(engine, schema.tables) else { return [] }
    let branches = try BranchRecords.all(StorageTransaction(try engine.beginRead()), tables)
    if branches.isEmpty { return [] }
    begin(.rebuild, of: copy.byteCount)
    var session = StoreContext(uuid: format.storeUUID, engine: engine).session(
      try engine.beginWrite(label: "backup", timeout: .zero), schema)
    for (name, _) in branches {
      try check()
      try BranchManager.own(&session) { (manager) throws(StoreError) in try manager.delete(name) }
    }
    let commit = try session.counter(MetadataKey.commitCounter)
    try Metadata.put(&session.storage, metadata, MetadataKey.withoutBranches, CounterValue(commit))
    try session.commitStorage()
    return branches.map { OmittedBranch($0.name, $0.value) }
  }

  /// Converts the records of a copy to the layouts of the current model; returns how many were converted, and how many
  /// stay unchanged.
  private func renewRecords(
    of copy: borrowing StoreCopy, _ path: String
  ) throws(StoreError) -> (renewed: UInt64, kept: UInt64) {
    defer { copy.removeReaderLock() }
    let environment = try storeErrors { () throws(LMDBError) in try copy.openEnvironment(tables: []) }
    defer { environment.close() }
    begin(.rebuild, of: copy.byteCount)
    guard var renewal = try RecordRenewal(environment, path, self) else { return (0, 0) }
    try renewal.renew()
    return (renewal.renewedCount, renewal.keptCount)
  }

  /// Copies a changed copy again, without the pages that are now free in it.
  private func copied(
    _ copy: borrowing StoreCopy, to path: String, _ copyOnWrite: CopyOnWrite, of source: String
  ) throws(StoreError) -> StoreCopy {
    let directory = copy.directory
    let file = try storeErrors { () throws(LMDBError) in try PageFile(at: directory, watch: watch()) }
    let next = try storeErrors { () throws(LMDBError) in try StoreCopy(to: path, copyOnWrite: copyOnWrite) }
    try self.copy(file, to: next, of: source)
    return next
  }

  /// Copies the latest committed state. The source pages can be reused by writers when this returns.
  func copyState(
    of environment: LMDBEnvironment, to copy: borrowing StoreCopy, _ source: String
  ) throws(StoreError) {
    try check()
    let file = try storeErrors { () throws(LMDBError) in try PageFile(pinning: environment, watch: watch()) }
    // LMDB selects the state by the number alone. A page of that number that is not sound would be skipped in favour of
    // the earlier state, which is not the one to back up.
    if let finding = file.metaFindings.first {
      throw StoreError(PageError(page: finding.page, problem: finding.problem))
    }
    try self.copy(file, to: copy, of: source)
  }
}
