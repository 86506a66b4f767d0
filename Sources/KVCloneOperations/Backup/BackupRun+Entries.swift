import KVCloneBranches
import KVCloneCore
import KVCloneLMDB
import KVCloneRecords

extension BackupRun {
  /// Copies the latest committed state entry by entry, for an engine without a data file.
  func copyEntries(of store: ObjectStore, to copy: borrowing StoreCopy) throws(StoreError) {
    try check()
    begin(.copy)
    let branches = try BranchTables.all(of: store.engine, store.schema.tables)
    let session = try pinnedSession(of: store, owner: "backup")
    try BranchTables.require(branches, in: session.storage, session.schema.tables)
    let own = session.schema.tables.withRedirects
    let tables = own + branches
    let codes = tables.map(\.code)
    let catalog = try StoreCatalog(session.storage, session.schema.tables.metadata)
    guard Set(own.map(\.code)) == Set(catalog.tableCodes) else {
      throw StoreError(
        .incompatibleModel,
        "another process has migrated the store at \(store.path) to another model version; close the store and open it "
          + "again")
    }
    defer { copy.removeReaderLock() }
    let environment = try storeErrors { () throws(LMDBError) in
      try copy.openEnvironment(tables: codes.compactMap(\.name))
    }
    defer { environment.close() }
    let target = LMDBEngine(environment)
    let opened = try target.openTables(codes, create: false)
    let sink = IncrementSink(try target.beginWrite(label: "backup", timeout: .zero), opened, self)
    for table in tables { try sink.append(table, of: session) }
    try check()
    try sink.backend.commit()
  }
}
