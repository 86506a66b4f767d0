import KVCloneLMDB

extension ObjectStore {
  /// Makes a store of a backup, or of any store that nobody writes meanwhile: checks it, copies it, and verifies the copy.
  ///
  /// No byte of the source is trusted: all of it is checked first, without mapping the file. The source stays as it is (only a
  /// commit log that a killed process left is written back, as by every opening). The new store is the same one, with the same
  /// UUID.
  ///
  /// - Parameters:
  ///   - source: the backup's directory.
  ///   - path: the directory to make; its parent is there, and nothing else at the path.
  ///   - progress: is told how far the restoration has come, on the thread that does it.
  ///   - cancellation: ends it from another thread.
  /// - Throws: `noStore`, `notAStore`, `damaged` (the source is), `newerFormat`, `olderFormat`, `busy` (the source is
  ///   written), `alreadyOpen` (in this process: ``backup(to:options:progress:cancellation:)-(_,_,_,Cancellation?)`` is for that), `storeExists`,
  ///   `diskFull`, `cancelled`, and what the file system has to say.
  @available(*, noasync, message: "use the asynchronous form")
  @discardableResult
  public static func restore(
    from source: String, to path: String, progress: (@Sendable (BackupProgress) -> Void)? = nil,
    cancellation: Cancellation? = nil
  ) throws(StoreError) -> BackupResult {
    try runRestore([source], path, BackupRun(progress, cancellation))
  }

  /// Restores from asynchronous code, on a thread of its own. Cancelling the task ends it with `cancelled` and nothing left
  /// of it.
  @discardableResult
  public static func restore(
    from source: String, to path: String, progress: (@Sendable (BackupProgress) -> Void)? = nil,
    cancellation: Cancellation = Cancellation()
  ) async throws(StoreError) -> BackupResult {
    let run = BackupRun(progress, cancellation)
    return try await BackupRun.onOwnThread(cancellation) { () throws(StoreError) in try runRestore([source], path, run)
    }
  }

  /// Makes a store of a backup and the increments after it, in the order in which they were made.
  ///
  /// Each is looked at before anything is made. The result has all snapshots of the store, and is checked as a whole, before it gets its
  /// name.
  ///
  /// - Parameters:
  ///   - sources: the directories: of a backup first, then of increments (``BackupOptions/since``).
  ///   - path: the directory to make; its parent is there, and nothing else at the path.
  ///   - progress: is told how far the restoration has come, on the thread that does it.
  ///   - cancellation: ends it from another thread.
  /// - Throws: `brokenChain` (they do not belong together, or not in this order; the message says what is missing), `damaged`, and what
  ///   the restoration of one backup throws.
  @available(*, noasync, message: "use the asynchronous form")
  @discardableResult
  public static func restore(
    from sources: [String], to path: String, progress: (@Sendable (BackupProgress) -> Void)? = nil,
    cancellation: Cancellation? = nil
  ) throws(StoreError) -> BackupResult {
    try runRestore(sources, path, BackupRun(progress, cancellation))
  }

  /// Restores a chain from asynchronous code, on a thread of its own. Cancelling the task ends it with `cancelled` and nothing left
  /// of it.
  @discardableResult
  public static func restore(
    from sources: [String], to path: String, progress: (@Sendable (BackupProgress) -> Void)? = nil,
    cancellation: Cancellation = Cancellation()
  ) async throws(StoreError) -> BackupResult {
    let run = BackupRun(progress, cancellation)
    return try await BackupRun.onOwnThread(cancellation) { () throws(StoreError) in try runRestore(sources, path, run) }
  }

  private static func runRestore(
    _ sources: [String], _ path: String, _ run: BackupRun
  ) throws(StoreError) -> BackupResult {
    guard let source = sources.first else {
      throw StoreError(.storeNotFound, "there is nothing to restore from; give the path of a backup")
    }
    if Set(sources).count < sources.count {
      throw ChainLink.broken("one of the paths is given twice")
    }
    try run.check()
    let file = try storeErrors { () throws(LMDBError) in try PageFile(at: source, watch: run.watch()) }
    if IncrementFile.isOne(file) {
      let increment = try IncrementFile(file, path: source, run)
      throw ChainLink.broken(
        "\(source) is an increment, and has only what changed since the snapshot \(increment.value.sinceName) of commit "
          + "\(increment.value.sinceCommit): a backup that has that snapshot has to come before it")
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
        the store at \(source) is damaged: page \(page) is in use, and on the free list, so what it has may be older than the \
        store's state; salvage what is readable; nothing was copied
        """)
    }
    if map.isTruncated {
      throw StoreError(
        .corrupted, "the store at \(source) is damaged: its free list; run `check` to see the extent; nothing was copied")
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
    let session = Session(
      storage: StorageTransaction(try engine.beginReading()), schema: try .unknown(), commit: 0,
      storeUUID: format.storeUUID, serialFloor: SerialHighWaterMark())
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
