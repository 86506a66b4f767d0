import KVCloneLMDB

extension ObjectStore {
  /// Looks for damage, everywhere but in what LMDB keeps to itself: every record, both sides of every relationship,
  /// every list, the counts of large values, every index entry, the counters and the model.
  ///
  /// It reads one consistent state; writers go on meanwhile. It takes time linear in the store's size, and memory that
  /// grows only with the number of large values (8 bytes each) and of damages. It does not stop at damage, whatever it
  /// is, but tells all of it, up to ``CheckOptions/maximumDamages``.
  ///
  /// What breaks a rule of the model (a required value that is nil) is no damage: commits look after that.
  ///
  /// - Throws: what keeps the file from being read at all: `closed`, `forked`, `readersFull`, `io`. Never `damaged`.
  public func check(_ options: CheckOptions = CheckOptions()) throws(StoreError) -> CheckReport {
    let run = CheckRun(schema: schema, options: options)
    try checkTables(run)
    try run.reading("the list of free pages") { () throws(StoreError) in try checkPages(run) }
    return CheckReport(
      objectCount: run.objectCount, pageCount: try engine.facts().pageCount, damages: run.damages,
      isTruncated: run.isFull)
  }

  /// Every page is either used or free. The audit reads the last commit, so it counts only if nobody committed meanwhile.
  private func checkPages(_ run: CheckRun) throws(StoreError) {
    guard !run.isFull, let environment = (engine as? LMDBEngine)?.environment else { return }
    for _ in 0..<3 {
      let (before, audit, after) = try storeErrors { () throws(LMDBError) in
        (try environment.info().commitNumber, try environment.auditPages(), try environment.info().commitNumber)
      }
      guard before == after else { continue }
      if !audit.isConsistent {
        run.report(
          .pageLeak,
          "of \(audit.total) pages, \(audit.used) are in use and \(audit.free) are free, which does not add up; compact "
            + "the store")
      }
      return
    }
  }

  private func checkTables(_ run: CheckRun) throws(StoreError) {
    let session = try readSession()
    try session.check(run)
  }
}

extension Session {
  /// Everything in tables, as this transaction sees it. The order matters: later steps are silent about what earlier ones
  /// found unreadable.
  borrowing func check(_ run: CheckRun) throws(StoreError) {
    try run.reading("the metadata") { () throws(StoreError) in try checkMetadata(run) }
    try checkRecords(run)
    try run.reading("the lists") { () throws(StoreError) in try checkLists(run) }
    try checkLinks(run)
    try run.reading("the indexes") { () throws(StoreError) in try checkIndexes(run) }
    try checkBlobs(run)
    // Not through `reading`, which does nothing once the report is full, and says what was said already.
    do throws(StoreError) { try nameReferrers(run) } catch { guard error.kind == .damaged else { throw error } }
  }
}
