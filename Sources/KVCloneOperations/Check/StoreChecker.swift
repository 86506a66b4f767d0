import KVCloneCore

/// Checks the tables of a store in one transaction.
struct StoreChecker: ~Copyable {
  let session: Session

  init(_ session: consuming Session) {
    self.session = session
  }

  /// Checks all tables. The order matters: later checks do not repeat what earlier ones found unreadable.
  borrowing func check(_ run: CheckRun) throws(StoreError) {
    try run.reading("the metadata") { () throws(StoreError) in try checkMetadata(run) }
    try checkHistory(run)
    try checkSnapshots(run)
    try checkBranchTables(run)
    if session.schema.entities.isEmpty { return try checkSums(run) }
    try checkObjects(run)
    try checkUploads(run)
    try checkBranches(run)
  }

  /// Checks the objects of a store or of a branch, with their lists, index entries and blobs.
  borrowing func checkObjects(_ run: CheckRun) throws(StoreError) {
    try checkRecords(run)
    try checkRetiredRecords(run)
    try run.reading("the lists") { () throws(StoreError) in try checkLists(run) }
    try checkLinks(run)
    try run.reading("the indexes") { () throws(StoreError) in try checkIndexes(run) }
    try checkBlobs(run)
    // Not through `reading`, which does nothing once the report is full, and would report twice.
    do throws(StoreError) { try nameReferrers(run) } catch { guard error.kind == .corrupted else { throw error } }
  }
}
