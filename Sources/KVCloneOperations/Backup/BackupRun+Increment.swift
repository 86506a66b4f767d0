import KVClone
import KVCloneBranches
import KVCloneCore
import KVCloneLMDB
import KVCloneModel
import KVCloneRecords

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

extension BackupRun {
  /// Creates an incremental backup: the changes since a snapshot, in a file with the format of a store.
  ///
  /// The entries are collected in no order of keys. They therefore go to a separate LMDB file first, which sorts them
  /// with a few MiB of memory, and are then copied like a backup, into full pages.
  func makeIncrement(
    of store: ObjectStore, to path: String, _ since: String, _ options: BackupOptions
  ) throws(StoreError) -> BackupResult {
    let copy = try storeErrors { () throws(LMDBError) in try StoreCopy(to: path) }
    let increment: (commit: UInt64, entryCount: UInt64)
    do {
      // Deleted before the backup gets its name: after that, no sweep would remove its remains.
      let scratch = try storeErrors { () throws(LMDBError) in try StoreCopy(to: path) }
      try check()
      begin(.gather)
      increment = try gather(store, since, into: scratch, copy)
    }
    try sync(copy)
    let pageCount = try verifyIncrement(copy, options.verification, of: store.path)
    let byteCount = copy.byteCount
    try publish(copy)
    return BackupResult(
      byteCount: byteCount, pageCount: pageCount, commit: increment.commit, duration: ContinuousClock.now - start,
      since: since, entryCount: increment.entryCount)
  }

  /// Collects the changes in `scratch`, and copies that.
  private func gather(
    _ store: ObjectStore, _ since: String, into scratch: borrowing StoreCopy, _ copy: borrowing StoreCopy
  ) throws(StoreError) -> (commit: UInt64, entryCount: UInt64) {
    // Before the reader begins, which would not see a table that is created later.
    guard let redirects = try store.engine.openTables([.redirects], create: false).first else {
      throw StoreError(.corrupted, "the table redirects is missing in the store at \(store.path); run `check`")
    }
    let branches = try BranchTables(store.engine, store.schema.tables)
    let session = try pinnedSession(of: store, owner: "backup")
    try BranchTables.require(branches?.all ?? [], in: session.storage, session.schema.tables)
    try Self.requireNoMigration(since, session)
    let codes = ([redirects] + session.schema.tables.all + (branches?.all ?? [])).map(\.code) + [.deletions]
    let environment = try storeErrors { () throws(LMDBError) in
      try scratch.openEnvironment(tables: codes.compactMap(\.name))
    }
    defer { environment.close() }
    let target = LMDBEngine(environment)
    let tables = try target.openTables(codes, create: false)
    let increment: IncrementValue
    let sink = IncrementSink(try target.beginWrite(label: "increment", timeout: .zero), tables, self)
    do {
      let gathering = try IncrementGathering(
        session, since: since, redirects: redirects, branches, path: store.path, sink)
      increment = try gathering.run()
      // The reader has ended: writers can reuse the store's pages.
    }
    try sink.backend.commit()
    try check()
    let file = try storeErrors { () throws(LMDBError) in try PageFile(pinning: environment, watch: watch()) }
    try self.copy(file, to: copy, of: store.path)
    return (increment.commit, sink.entryCount)
  }

  /// Rejects a base from before a migration, which changes the meaning of its data.
  private static func requireNoMigration(_ since: String, _ session: borrowing Session) throws(StoreError) {
    let snapshot = try Snapshots.existing(session.storage, session.schema.tables, since)
    let then = try StoreCatalog(session.storage, session.schema.tables.metadata, number: UInt64(snapshot.modelNumber))
    let now = session.schema
    if then.codes.former == now.codes.former, then.model.modelHash == now.model.modelHash,
      SchemaCodes.storeAlike(then.codes, then.model, as: now.codes, now.model)
    {
      return
    }
    throw StoreError(
      .incompatibleModel,
      "the store was migrated to another model version after the snapshot \(since); make a full backup, and a new "
        + "snapshot for later incremental backups")
  }

  /// Begins a session for a long read, with the model of its state: another process may have given the store other
  /// indexes.
  func pinnedSession(of store: ObjectStore, owner: String) throws(StoreError) -> Session {
    let storage = StorageTransaction(try store.engine.beginPinnedRead(owner: owner))
    let catalog = try StoreCatalog(storage, store.schema.tables.metadata)
    let schema = try Schema(catalog, tables: store.schema.tables, transformers: store.schema.transformers)
    return store.context.session(storage, schema)
  }

  /// Verifies a new incremental backup, and returns its number of pages.
  func verifyIncrement(
    _ copy: borrowing StoreCopy, _ verification: BackupOptions.Verification, of source: String
  ) throws(StoreError) -> Int {
    let directory = copy.directory
    begin(.verify, of: verification == .none ? nil : 2 * copy.byteCount)
    if verification == .none { return Int(copy.byteCount) / LMDBLimits.pageSize }
    return try IncrementFile(at: directory, named: source, self).map.pageCount
  }
}
