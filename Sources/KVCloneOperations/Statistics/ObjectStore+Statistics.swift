import KVClone
public import KVCloneCore
import KVCloneLMDB
import KVCloneRecords

extension ObjectStore {
  /// Returns cheap statistics: the size of the file and its tables, free pages, readers, and the write lock holder.
  ///
  /// The call reads only counters that LMDB maintains: the sizes of the B+trees and the free list. A service can
  /// therefore call it every few seconds, regardless of the size of the store. One exception: if several entities share
  /// a root entity, it counts their objects by reading record headers, as ``info()`` does, at some millions per second.
  ///
  /// - Throws: `readersFull`, `closed`, `forked`, `corrupted`, `io`.
  public func statistics() throws(StoreError) -> StoreStatistics {
    // Before a reader of our own is one of them.
    let readers = try activeReaders()
    let session = try readSession()
    let tables = schema.tables.withRedirects
    let sizes = try session.storage.sizes(tables)
    let state = session.storage.stateNumber
    let facts = try engine.facts()
    let free = StoreStatistics.FreePages(
      sizes.freed.map { ($0.state, UInt64($0.pages)) }, last: state, oldestLag: readers.first?.lag)
    let usedPages = 2 + (sizes.tables + sizes.own).reduce(0) { $0 + $1.pages }
    let counts = try ObjectCounts(session, usingTableSizes: true)
    return StoreStatistics(
      uuid: uuid, commit: try session.counter(MetadataKey.commitCounter), fileBytes: facts.fileBytes,
      mapBytes: facts.mapBytes, pageSize: facts.pageSize, pageCount: usedPages + free.count, freePages: free,
      objectCount: counts.total, counts: counts.byEntity,
      tables: statistics(of: zip(tables.map(\.code), sizes.tables).map { ($0, $1) }, own: sizes.own),
      snapshotCount: Int(clamping: try session.storage.entryCount(schema.tables.snapshots)),
      readerCount: readers.count, oldestReader: readers.first, writer: writeLockHolder)
  }

  /// Tables by the names that people know.
  func statistics(of tables: [(code: TableCode, sizes: TreeSizes)], own: [TreeSizes]) -> [TableStatistics] {
    var found: [TableStatistics] = []
    for (code, sizes) in tables {
      found.append(TableStatistics(schema.tableName(code), hasObjects: code.rootCode != nil, sizes))
    }
    for (name, sizes) in zip(["list of tables", "list of free pages"], own) {
      found.append(TableStatistics(name, sizes))
    }
    return found
  }
}

extension Schema {
  /// What a table is called: by its root entity, where it has objects.
  func tableName(_ code: TableCode) -> String {
    guard let root = code.rootCode else { return code.name ?? "table \(code.rawValue)" }
    return entity(code: root)?.name ?? "removed entity \(root)"
  }
}

extension StoreStatistics.FreePages {
  /// - Parameters:
  ///   - freed: by the commit that freed them, how many pages.
  ///   - last: the last commit, by the engine's own count.
  ///   - oldestLag: how far the oldest reader is behind; nil where there is none.
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
