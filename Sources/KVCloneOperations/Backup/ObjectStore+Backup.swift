public import KVCloneCore
import KVCloneLMDB

extension ObjectStore {
  /// Backs up the latest committed state to a complete store in a new directory.
  ///
  /// Readers and writers continue during the backup. Commits during the backup are not part of it. The backup is
  /// compact: it contains full pages of live data, and no bytes of deleted data. It appears at `path` only after
  /// verification and fsync, so the path holds a complete backup or nothing. The backup is the same store with the same
  /// UUID; see <doc:Backups>.
  ///
  /// Memory use is constant. Pages that writers free are not reused while pages are copied.
  ///
  /// With ``BackupOptions/since``, the result is an incremental backup, which cannot be opened as a store.
  /// ``restore(from:to:progress:cancellation:)-(String,_,_,Cancellation?)`` applies it to a backup that contains the
  /// snapshot.
  ///
  /// - Parameters:
  ///   - path: the directory to create. Its parent must exist, and nothing may exist at the path.
  ///   - options: the content and the verification of the backup.
  ///   - progress: receives progress on the thread that runs the backup.
  ///   - cancellation: cancels the backup from another thread.
  /// - Throws: `storeExists`, `diskFull`, `corrupted` (a page or value of the store is corrupted; salvage the store),
  ///   `cancelled`, `readersFull`, `closed`, `snapshotNotFound` (incremental backups), `io`. No partial output remains.
  @available(*, noasync, message: "use the asynchronous form")
  @discardableResult
  public func backup(
    to path: String, options: BackupOptions = BackupOptions(), progress: (@Sendable (OperationProgress) -> Void)? = nil,
    cancellation: Cancellation? = nil
  ) throws(StoreError) -> BackupResult {
    try makeBackup(path, options, BackupRun(progress, cancellation))
  }

  /// Backs up the store from asynchronous code, on a separate thread.
  ///
  /// Cancelling the task ends the backup with `cancelled` and removes partial output.
  @discardableResult
  public func backup(
    to path: String, options: BackupOptions = BackupOptions(), progress: (@Sendable (OperationProgress) -> Void)? = nil,
    cancellation: Cancellation = Cancellation()
  ) async throws(StoreError) -> BackupResult {
    let run = BackupRun(progress, cancellation)
    return try await cancellation.onOwnThread { () throws(StoreError) in
      try self.makeBackup(path, options, run)
    }
  }

  private func makeBackup(
    _ path: String, _ options: BackupOptions, _ run: BackupRun
  ) throws(StoreError) -> BackupResult {
    if let since = options.since {
      if options.finishesMigration {
        throw StoreError(
          .incrementalBackup,
          "an incremental backup cannot finish a migration, because it copies records unchanged; use a full backup")
      }
      return try makeIncrement(path, since, options, run)
    }
    let environment = try engine.requireFiles(for: "a backup").environment
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
