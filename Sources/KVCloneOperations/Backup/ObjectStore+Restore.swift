public import KVCloneCore
import KVCloneLMDB
import KVCloneRecords

extension ObjectStore {
  /// Restores a store from a full backup, or from any store without a writer: checks it, copies it, and verifies the
  /// copy.
  ///
  /// The source is untrusted: all of it is checked first, without mapping the file. The source stays unchanged, except
  /// that a write-ahead log left by a killed process is checkpointed, as at every opening. The new store is the same
  /// store with the same UUID.
  ///
  /// - Parameters:
  ///   - source: the directory of the backup.
  ///   - path: the directory to create. Its parent must exist, and nothing may exist at the path.
  ///   - progress: receives progress on the thread that runs the restore.
  ///   - cancellation: cancels the restore from another thread.
  /// - Throws: `storeNotFound`, `invalidStore`, `corrupted` (the source), `newerFormat`, `olderFormat`, `busy` (the
  ///   source is being written), `alreadyOpen` (in this process; use
  ///   ``backup(to:options:progress:cancellation:)-(_,_,_,Cancellation?)``), `storeExists`, `diskFull`, `cancelled`,
  ///   `io`. No partial output remains.
  @available(*, noasync, message: "use the asynchronous form")
  @discardableResult
  public static func restore(
    from source: String, to path: String, progress: (@Sendable (OperationProgress) -> Void)? = nil,
    cancellation: Cancellation? = nil
  ) throws(StoreError) -> BackupResult {
    try runRestore([source], path, BackupRun(progress, cancellation))
  }

  /// Restores a store from asynchronous code, on a separate thread.
  ///
  /// Cancelling the task ends the restore with `cancelled` and removes partial output.
  @discardableResult
  public static func restore(
    from source: String, to path: String, progress: (@Sendable (OperationProgress) -> Void)? = nil,
    cancellation: Cancellation = Cancellation()
  ) async throws(StoreError) -> BackupResult {
    let run = BackupRun(progress, cancellation)
    return try await cancellation.onOwnThread { () throws(StoreError) in try runRestore([source], path, run)
    }
  }

  /// Restores a store from a full backup and the incremental backups after it, in the order of their creation.
  ///
  /// All sources are validated before anything is written. The result contains all snapshots of the store. It is
  /// checked as a whole before it appears at the path.
  ///
  /// - Parameters:
  ///   - sources: the directories: a full backup, then incremental backups (``BackupOptions/since``).
  ///   - path: the directory to create. Its parent must exist, and nothing may exist at the path.
  ///   - progress: receives progress on the thread that runs the restore.
  ///   - cancellation: cancels the restore from another thread.
  /// - Throws: `brokenChain` (the sources do not belong together, or have another order; the message names the missing
  ///   one), `corrupted`, and the errors of the restore of a full backup.
  @available(*, noasync, message: "use the asynchronous form")
  @discardableResult
  public static func restore(
    from sources: [String], to path: String, progress: (@Sendable (OperationProgress) -> Void)? = nil,
    cancellation: Cancellation? = nil
  ) throws(StoreError) -> BackupResult {
    try runRestore(sources, path, BackupRun(progress, cancellation))
  }

  /// Restores a chain of backups from asynchronous code, on a separate thread.
  ///
  /// Cancelling the task ends the restore with `cancelled` and removes partial output.
  @discardableResult
  public static func restore(
    from sources: [String], to path: String, progress: (@Sendable (OperationProgress) -> Void)? = nil,
    cancellation: Cancellation = Cancellation()
  ) async throws(StoreError) -> BackupResult {
    let run = BackupRun(progress, cancellation)
    return try await cancellation.onOwnThread { () throws(StoreError) in try runRestore(sources, path, run) }
  }

  private static func runRestore(
    _ sources: [String], _ path: String, _ run: BackupRun
  ) throws(StoreError) -> BackupResult {
    guard let source = sources.first else {
      throw StoreError(.storeNotFound, "no source to restore from; give the path of a backup")
    }
    if Set(sources).count < sources.count {
      throw ChainLink.broken("a path is given twice")
    }
    try run.check()
    let file = try storeErrors { () throws(LMDBError) in try PageFile(at: source, watch: run.watch()) }
    if IncrementFile.isOne(file) {
      let increment = try IncrementFile(file, path: source, run)
      throw ChainLink.broken(
        "\(source) is an incremental backup that starts from the snapshot \(increment.value.sinceName) of commit "
          + "\(increment.value.sinceCommit); restore a backup with that snapshot before it")
    }
    // Before the long reading, and again when it is over.
    let copy = try storeErrors { () throws(LMDBError) in try StoreCopy(to: path, copyOnWrite: .offUnlessMirrored) }
    var increments: [IncrementFile] = []
    if sources.count > 1 { increments = try openChain(file, sources, run) }
    try copyChecked(file, source, to: copy, run)
    var entryCount: UInt64?
    if !increments.isEmpty { entryCount = try put(increments, into: copy, run) }
    try run.sync(copy)
    let verified = try run.verify(copy, increments.isEmpty ? .values : .everything, of: source)
    for increment in increments { try run.requireCurrent(increment.file, increment.path) }
    let byteCount = copy.byteCount
    try run.publish(copy)
    return BackupResult(
      byteCount: byteCount, pageCount: verified.pageCount, commit: verified.commit,
      duration: ContinuousClock.now - run.start, entryCount: entryCount)
  }

  /// Checks all of a backup, and copies it.
  private static func copyChecked(
    _ file: PageFile, _ source: String, to copy: borrowing StoreCopy, _ run: BackupRun
  ) throws(StoreError) {
    run.begin(.check, of: 2 * file.byteCount)
    let map = try storeErrors { () throws(LMDBError) in try file.walk(maximumFindings: 10) }
    run.complete(file.byteCount)
    let report: CheckReport
    do throws(StoreError) {
      report = try check(file, map, CheckOptions(readData: true, maximumIssues: 10), source)
    } catch {
      try run.check()
      try run.requireCurrent(file, source)
      throw error
    }
    try run.check()
    try run.requireCurrent(file, source)
    // Pages that nobody has are not copied. A page that is in use, and may be used again, is of an older state, however sound.
    try run.refuse(report.issues.filter { $0.kind != .pageLeak }, source)
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
    try run.copy(file, to: copy, of: source)
  }

  // MARK: Chains

  /// Reads the increments, and sees that each fits what comes before it.
  private static func openChain(
    _ base: PageFile, _ sources: [String], _ run: BackupRun
  ) throws(StoreError) -> [IncrementFile] {
    var increments: [IncrementFile] = []
    for path in sources.dropFirst() {
      let file = try storeErrors { () throws(LMDBError) in try PageFile(at: path, watch: run.watch()) }
      run.begin(.check, of: 2 * file.byteCount)
      increments.append(try IncrementFile(file, path: path, run))
    }
    var link = try run.reading(base, sources[0]) { () throws(StoreError) in try chainLink(base, sources[0]) }
    for increment in increments {
      try link.requireFit(increment, StorageTransaction(try increment.engine.beginReading()))
      link = try ChainLink(increment)
    }
    return increments
  }

  /// What a backup has, before all of it is checked.
  private static func chainLink(_ file: PageFile, _ path: String) throws(StoreError) -> ChainLink {
    let map = try storeErrors { () throws(LMDBError) in try file.tableMap() }
    let engine = PageFileEngine(file, map)
    let format = try readFormat(engine, path)
    let session = StoreContext(uuid: format.storeUUID).session(try engine.beginReading(), try .unknown())
    return try ChainLink(session, format, path)
  }

  /// Puts increments into a copy, one after the other.
  private static func put(
    _ increments: [IncrementFile], into copy: borrowing StoreCopy, _ run: BackupRun
  ) throws(StoreError) -> UInt64 {
    var entryCount: UInt64 = 0
    do {
      let environment = try storeErrors { () throws(LMDBError) in try copy.openEnvironment(tables: []) }
      defer { environment.close() }
      var path = "the backup"
      for increment in increments {
        run.begin(.apply, of: increment.file.byteCount)
        do throws(StoreError) {
          let step = try ChainStep(increment, to: LMDBEngine(environment), path, run)
          entryCount += try step.run()
        } catch {
          try run.check()
          throw error
        }
        path = increment.path
      }
    }
    copy.removeReaderLock()
    return entryCount
  }
}
