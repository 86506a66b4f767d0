import KVCloneLMDB

extension ObjectStore {
  /// Makes a backup: a complete store in a directory of its own, of the state that is committed when the call begins.
  ///
  /// Readers and writers go on meanwhile; what is committed while the backup is made is not in it. It is compact: it
  /// has what is in use, in full pages, and no byte of what was deleted. It is verified and on the disk when it gets its name,
  /// so there is either a whole one or none. It is the same store, with the same UUID: see <doc:Backups>.
  ///
  /// Memory stays flat. Pages that writers free are not used again while the pages are copied.
  ///
  /// With ``BackupOptions/since`` it is an increment, and no store: ``restore(from:to:progress:cancellation:)-(String,_,_,Cancellation?)`` puts it into a
  /// backup that has the snapshot.
  ///
  /// - Parameters:
  ///   - path: the directory to make; its parent is there, and nothing else at the path.
  ///   - options: what is backed up, and verified.
  ///   - progress: is told how far the backup has come, on the thread that makes it.
  ///   - cancellation: ends it from another thread.
  /// - Throws: `storeExists`, `diskFull`, `damaged` (a page or value of the store is, so that there is nothing
  ///   to rely on; salvage it), `cancelled`, `readersFull`, `closed`,
  ///   `snapshotNotFound` (an increment's), and what the file system has to say.
  @available(*, noasync, message: "use the asynchronous form")
  @discardableResult
  public func backup(
    to path: String, options: BackupOptions = BackupOptions(), progress: (@Sendable (BackupProgress) -> Void)? = nil,
    cancellation: Cancellation? = nil
  ) throws(StoreError) -> BackupResult {
    try makeBackup(path, options, BackupRun(progress, cancellation))
  }

  /// Makes a backup from asynchronous code, on a thread of its own. Cancelling the task ends it with `cancelled` and nothing
  /// left of it.
  @discardableResult
  public func backup(
    to path: String, options: BackupOptions = BackupOptions(), progress: (@Sendable (BackupProgress) -> Void)? = nil,
    cancellation: Cancellation = Cancellation()
  ) async throws(StoreError) -> BackupResult {
    let run = BackupRun(progress, cancellation)
    return try await BackupRun.onOwnThread(cancellation) { () throws(StoreError) in
      try self.makeBackup(path, options, run)
    }
  }

  private func makeBackup(
    _ path: String, _ options: BackupOptions, _ run: BackupRun
  ) throws(StoreError) -> BackupResult {
    if let since = options.since {
      if options.finishesMigration {
        throw StoreError(
          .incrementalBackup, "an increment has records as they are stored; finish the migration in a whole backup")
      }
      return try makeIncrement(path, since, options, run)
    }
    let environment = try fileEnvironment()
    // A backup is written once; what finishes a migration is a store to go on with.
    let copyOnWrite = options.finishesMigration ? environment.copyOnWrite : .asAbove
    var copy = try storeErrors { () throws(LMDBError) in try StoreCopy(to: path, copyOnWrite: copyOnWrite) }
    try run.copyState(of: environment, to: copy, self.path)
    var (renewedCount, keptCount): (UInt64, UInt64) = (0, 0)
    if options.finishesMigration {
      (renewedCount, keptCount) = try renewRecords(of: copy, run)
      // What was written has left free pages.
      if renewedCount > 0 { copy = try copied(copy, to: path, copyOnWrite, run) }
    }
    try run.sync(copy)
    let verified = try run.verify(copy, options.verification, of: self.path)
    let byteCount = copy.byteCount
    try run.publish(copy)
    return BackupResult(
      byteCount: byteCount, pageCount: verified.pageCount, commit: verified.commit,
      duration: ContinuousClock.now - run.start, renewedCount: renewedCount, keptCount: keptCount)
  }

  /// Brings the records of a copy to the layouts of the present model: how many, and how many stay as they were.
  private func renewRecords(
    of copy: borrowing StoreCopy, _ run: BackupRun
  ) throws(StoreError) -> (renewed: UInt64, kept: UInt64) {
    defer { copy.removeReaderLock() }
    let environment = try storeErrors { () throws(LMDBError) in try copy.openEnvironment(tables: []) }
    defer { environment.close() }
    run.begin(.rebuild, of: copy.byteCount)
    guard var renewal = try RecordRenewal(environment, path, run) else { return (0, 0) }
    try renewal.renew()
    return (renewal.renewedCount, renewal.keptCount)
  }

  /// A copy of a copy that was changed, without the pages that are free in it now.
  private func copied(
    _ copy: borrowing StoreCopy, to path: String, _ copyOnWrite: CopyOnWrite, _ run: BackupRun
  ) throws(StoreError) -> StoreCopy {
    let directory = copy.directory
    let file = try storeErrors { () throws(LMDBError) in try PageFile(at: directory, watch: run.watch()) }
    let next = try storeErrors { () throws(LMDBError) in try StoreCopy(to: path, copyOnWrite: copyOnWrite) }
    try run.copy(file, to: next, of: self.path)
    return next
  }

  /// The open file, which the engines of tests have not.
  func fileEnvironment() throws(StoreError) -> LMDBEnvironment {
    guard let environment = (engine as? LMDBEngine)?.environment else {
      throw StoreError(.io, "this store has no file that could be copied")
    }
    return environment
  }
}

extension BackupRun {
  /// Copies the state that is committed now. The pages are free for writers again when this returns.
  func copyState(
    of environment: LMDBEnvironment, to copy: borrowing StoreCopy, _ source: String
  ) throws(StoreError) {
    try check()
    let file = try storeErrors { () throws(LMDBError) in try PageFile(pinning: environment, watch: watch()) }
    // LMDB goes on by the number alone. What is not a sound page of that number would be left out for the state before, and that is
    // not the one that was to be saved.
    if let finding = file.metaFindings.first {
      throw StoreError(PageError(page: finding.page, problem: finding.problem))
    }
    try self.copy(file, to: copy, of: source)
  }
}
