import KVCloneBranches
package import KVCloneCore
import KVCloneLMDB
import KVCloneRecords

extension StoreStatistics {
  /// Reads the counters of a store.
  ///
  /// - Parameter headerLimit: the number of objects above which entities with a common root entity are not counted,
  ///   because that reads the headers of their records.
  package init(of store: ObjectStore, headerLimit: Int = .max) throws(StoreError) {
    // Before this call's own reader is one of them.
    let readers = try ReaderListing.readers(of: store)
    let branches = try BranchTables(store.engine, store.schema.tables)
    let session = try store.readSession()
    let schema = store.schema
    let tables = (schema.tables.withRedirects + (branches?.all ?? [])).sorted { $0.code.rawValue < $1.code.rawValue }
    let sizes = try session.storage.sizes(tables)
    let state = session.storage.stateNumber
    let facts = try store.engine.facts()
    let free = StoreStatistics.FreePages(
      sizes.freed.map { ($0.state, UInt64($0.pages)) }, last: state, oldestLag: readers.first?.lag)
    let usedPages = 2 + (sizes.tables + sizes.own).reduce(0) { $0 + $1.pages }
    let objectCount = try ObjectCounts.total(session)
    let counts =
      try objectCount > headerLimit
      ? ObjectCounts.ofTables(session) : ObjectCounts(session, usingTableSizes: true).byEntity
    self.init(
      uuid: store.uuid, commit: try session.counter(MetadataKey.commitCounter), fileBytes: facts.fileBytes,
      mapBytes: facts.mapBytes, pageSize: facts.pageSize, pageCount: usedPages + free.count, freePages: free,
      objectCount: objectCount, counts: counts,
      tables: schema.statistics(of: zip(tables.map(\.code), sizes.tables).map { ($0, $1) }, own: sizes.own),
      snapshotCount: try Snapshots.namedCount(session.storage, schema.tables),
      readerCount: readers.count, oldestReader: readers.first, writer: store.engine.writer())
  }
}

extension StoreInfo {
  /// Counts the objects of a store.
  init(of store: ObjectStore) throws(StoreError) {
    let session = try store.readSession()
    let counts = try ObjectCounts(session, usingTableSizes: false)
    // The first snapshot, index or migration raises it, in other processes too.
    let format = try Metadata.format(session.storage, store.schema.tables.metadata)
    self.init(
      uuid: store.uuid, formatVersion: Int(format?.version ?? store.formatVersion), modelName: store.model.name,
      modelVersion: store.model.versionIdentifier, modelHash: store.model.modelHash.hex, objectCount: counts.total,
      counts: counts.byEntity, fileBytes: try store.engine.facts().fileBytes,
      commit: try session.counter(MetadataKey.commitCounter),
      snapshotCount: try Snapshots.namedCount(session.storage, store.schema.tables))
  }
}

extension Snapshots {
  /// Returns the number of snapshots without those that were created for branches, which have no name of their own.
  static func namedCount(_ storage: borrowing StorageTransaction, _ tables: SchemaTables) throws(StoreError) -> Int {
    if try Metadata.counter(storage, tables.metadata, MetadataKey.layer) == 0 {
      return Int(clamping: try storage.entryCount(tables.snapshots))
    }
    return try all(storage, tables).count { !$0.value.isHidden }
  }
}

extension Schema {
  /// Returns the statistics of tables by their documented names.
  func statistics(of tables: [(code: TableCode, sizes: TreeSizes)], own: [TreeSizes]) -> [TableStatistics] {
    tables.map { TableStatistics(tableName($0.code), hasObjects: $0.code.rootCode != nil, $0.sizes) }
      + zip(["list of tables", "list of free pages"], own).map { TableStatistics($0, $1) }
  }

  /// Returns the name of a table: that of its root entity, if it contains objects.
  func tableName(_ code: TableCode) -> String {
    guard let root = code.rootCode else { return code.name ?? "table \(code.rawValue)" }
    return entity(code: root)?.name ?? "removed entity \(root)"
  }
}

extension StoreStatistics.FreePages {
  /// - Parameters:
  ///   - freed: the numbers of freed pages, by the commit that freed them.
  ///   - last: the last commit, in the engine's own count.
  ///   - oldestLag: the lag of the oldest reader in commits; nil without readers.
  init(_ freed: [(state: UInt64, pages: UInt64)], last: UInt64, oldestLag: UInt64?) {
    // As in `RetainedPages.count`.
    let oldest = last > oldestLag ?? 0 ? last - (oldestLag ?? 0) : 0
    var (reusable, held, recent) = (0, 0, 0)
    for (state, pages) in freed {
      let pages = Int(clamping: pages)
      if state >= last { recent += pages } else if state >= oldest { held += pages } else { reusable += pages }
    }
    self.init(reusable: reusable, held: held, recent: recent)
  }
}
