import KVCloneCore
import KVCloneLMDB

extension BackupRun {
  /// Restores a chain of backups to a new directory.
  func restore(_ sources: [String], to path: String) throws(StoreError) -> BackupResult {
    guard let source = sources.first else {
      throw StoreError(.storeNotFound, "no source to restore from; give the path of a backup")
    }
    if Set(sources).count < sources.count {
      throw ChainLink.broken("a path is given twice")
    }
    try check()
    let file = try storeErrors { () throws(LMDBError) in try PageFile(at: source, watch: watch()) }
    if IncrementFile.isOne(file) {
      let increment = try IncrementFile(file, path: source, self)
      throw ChainLink.broken(
        "\(source) is an incremental backup that starts from the snapshot \(increment.value.sinceName) of commit "
          + "\(increment.value.sinceCommit); restore a backup with that snapshot before it")
    }
    // Checked before the long read, and again after it.
    let copy = try storeErrors { () throws(LMDBError) in try StoreCopy(to: path, copyOnWrite: .offUnlessMirrored) }
    var increments: [IncrementFile] = []
    if sources.count > 1 { increments = try openChain(file, sources) }
    try copyChecked(file, source, to: copy)
    var entryCount: UInt64?
    if !increments.isEmpty { entryCount = try put(increments, into: copy) }
    try sync(copy)
    let verified = try verify(copy, increments.isEmpty ? .values : .everything, of: source)
    for increment in increments { try requireCurrent(increment.file, increment.path) }
    let byteCount = copy.byteCount
    try publish(copy)
    return BackupResult(
      byteCount: byteCount, pageCount: verified.pageCount, commit: verified.commit,
      duration: ContinuousClock.now - start, entryCount: entryCount)
  }

  /// Checks a backup completely, and copies it.
  private func copyChecked(
    _ file: PageFile, _ source: String, to copy: borrowing StoreCopy
  ) throws(StoreError) {
    begin(.check, of: 2 * file.byteCount)
    let map = try storeErrors { () throws(LMDBError) in try file.walk(maximumFindings: 10) }
    complete(file.byteCount)
    let report: CheckReport
    do throws(StoreError) {
      report = try FileCheck.check(file, map, CheckOptions(readData: true, maximumIssues: 10), source)
    } catch {
      try check()
      try requireCurrent(file, source)
      throw error
    }
    try check()
    try requireCurrent(file, source)
    // Leaked pages are not copied. A page that is both in use and free belongs to an older state, even if it is sound.
    try refuse(report.issues.filter { $0.kind != .pageLeak }, source)
    if let page = map.findings.first(where: { $0.problem == .usedAndFree })?.page {
      throw StoreError(
        .corrupted,
        """
        the store at \(source) is corrupted: page \(page) is both in use and on the free list, so its content may be \
        older than the store's state; salvage the readable objects; nothing was copied
        """)
    }
    if map.isTruncated {
      throw StoreError(
        .corrupted,
        "the free list of the store at \(source) is corrupted; run `check` to see the extent; nothing was copied")
    }
    try self.copy(file, to: copy, of: source)
  }

  // MARK: Chains

  /// Opens the incremental backups, and checks that each matches its predecessor.
  private func openChain(
    _ base: PageFile, _ sources: [String]
  ) throws(StoreError) -> [IncrementFile] {
    var increments: [IncrementFile] = []
    for path in sources.dropFirst() {
      let file = try storeErrors { () throws(LMDBError) in try PageFile(at: path, watch: watch()) }
      begin(.check, of: 2 * file.byteCount)
      increments.append(try IncrementFile(file, path: path, self))
    }
    var link = try reading(base, sources[0]) { () throws(StoreError) in try Self.chainLink(base, sources[0]) }
    for increment in increments {
      try link.requireFit(increment, StorageTransaction(try increment.engine.beginReading()))
      link = try ChainLink(increment)
    }
    return increments
  }

  /// Returns the description of a backup, before all of it is checked.
  private static func chainLink(_ file: PageFile, _ path: String) throws(StoreError) -> ChainLink {
    let map = try storeErrors { () throws(LMDBError) in try file.tableMap() }
    let engine = PageFileEngine(file, map)
    let format = try engine.format(path)
    let session = StoreContext(uuid: format.storeUUID).session(try engine.beginReading(), try .unknown())
    return try ChainLink(session, format, path)
  }

  /// Applies incremental backups to a copy, in order.
  private func put(
    _ increments: [IncrementFile], into copy: borrowing StoreCopy
  ) throws(StoreError) -> UInt64 {
    var entryCount: UInt64 = 0
    do {
      let environment = try storeErrors { () throws(LMDBError) in try copy.openEnvironment(tables: []) }
      defer { environment.close() }
      var path = "the backup"
      for increment in increments {
        begin(.apply, of: increment.file.byteCount)
        do throws(StoreError) {
          let step = try ChainStep(increment, to: LMDBEngine(environment), path, self)
          entryCount += try step.run()
        } catch {
          try check()
          throw error
        }
        path = increment.path
      }
    }
    copy.removeReaderLock()
    return entryCount
  }
}
