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
  /// - Parameters:
  ///   - path: the directory to make; its parent is there, and nothing else at the path.
  ///   - options: what is verified.
  ///   - progress: is told how far the backup has come, on the thread that makes it.
  ///   - cancellation: ends it from another thread.
  /// - Throws: `storeExists`, `diskFull`, `damaged` (a page or value of the store is, so that there is nothing
  ///   to rely on; salvage it), `cancelled`, `readersFull`, `closed`, and what the file system has to say.
  @available(*, noasync, message: "use the asynchronous form")
  @discardableResult
  public func backup(
    to path: String, options: BackupOptions = BackupOptions(), progress: (@Sendable (BackupProgress) -> Void)? = nil,
    cancellation: BackupCancellation? = nil
  ) throws(StoreError) -> BackupResult {
    try makeBackup(path, options, BackupRun(progress, cancellation))
  }

  /// Makes a backup from asynchronous code, on a thread of its own. Cancelling the task ends it with `cancelled` and nothing
  /// left of it.
  @discardableResult
  public func backup(
    to path: String, options: BackupOptions = BackupOptions(), progress: (@Sendable (BackupProgress) -> Void)? = nil,
    cancellation: BackupCancellation = BackupCancellation()
  ) async throws(StoreError) -> BackupResult {
    let run = BackupRun(progress, cancellation)
    return try await BackupRun.onOwnThread(cancellation) { () throws(StoreError) in
      try self.makeBackup(path, options, run)
    }
  }

  private func makeBackup(
    _ path: String, _ options: BackupOptions, _ run: BackupRun
  ) throws(StoreError) -> BackupResult {
    let environment = try fileEnvironment()
    let copy = try storeErrors { () throws(LMDBError) in try StoreCopy(to: path) }
    try run.copyState(of: environment, to: copy, self.path)
    try run.sync(copy)
    let verified = try run.verify(copy, options.verification, of: self.path)
    let byteCount = copy.byteCount
    try run.publish(copy)
    return BackupResult(
      byteCount: byteCount, pageCount: verified.pageCount, commit: verified.commit,
      duration: ContinuousClock.now - run.start)
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
    try self.copy(file, to: copy, of: source)
  }
}
