import KVCloneBranches
import KVCloneCore
import KVCloneLMDB
import KVCloneRecords

extension StatisticsRun {
  /// Reads every page of a store.
  static func walk(
    _ store: ObjectStore, _ progress: (@Sendable (OperationProgress) -> Void)?, _ cancellation: Cancellation?
  ) throws(StoreError) -> DeepStatistics {
    try store.engine.requireStore(for: "the statistics of pages")
    let environment = try store.engine.requireFiles(for: "statistics of pages").environment
    let readers = try ReaderListing.readers(of: store)
    // Whether another process has migrated the store.
    _ = try store.readSession()
    let facts = try store.engine.facts()
    let watch = PageWatch.reporting(facts, progress, cancellation)
    let file = try storeErrors { () throws(LMDBError) in try PageFile(pinning: environment, watch: watch) }
    let run = StatisticsRun(store.schema)
    let isFirst = { (name: String) in name.hasPrefix("objects-") || name == TableCode.overlays.name }
    let census = PageCensus(first: isFirst, visit: { run.visit($0, $1, $2) })
    let map = try storeErrors { () throws(LMDBError) in try file.walk(census) { run.begin($0) } }
    if cancellation?.isCancelled == true { throw StoreError(.cancelled, "the statistics were cancelled") }
    if let finding = map.findings.first(where: { !$0.problem.isHarmless }) {
      throw StoreError(PageError(page: finding.page, problem: finding.problem))
    }
    if let failure = run.failure { throw failure }
    let metadata = StorageTable(code: .metadata, handle: 0)
    let storage = StorageTransaction(try PageFileEngine(file, map).beginReading())
    let commit = try Metadata.counter(storage, metadata, MetadataKey.commitCounter)
    let tables = BranchTables(of: store.schema.tables) { StorageTable(code: $0, handle: 0) }
    // Empty for a file without the table.
    let branches = try BranchRecords.all(storage, tables)
    return run.result(
      census, map, facts, branches: branches, snapshotCount: try Snapshots.namedCount(storage, store.schema.tables),
      commit: commit, state: file.meta?.commitNumber ?? 0, store: store, readers: readers)
  }
}
