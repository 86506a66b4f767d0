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
  ///   written), `alreadyOpen` (in this process: ``backup(to:options:progress:cancellation:)`` is for that), `storeExists`,
  ///   `diskFull`, `cancelled`, and what the file system has to say.
  @available(*, noasync, message: "use the asynchronous form")
  @discardableResult
  public static func restore(
    from source: String, to path: String, progress: (@Sendable (BackupProgress) -> Void)? = nil,
    cancellation: BackupCancellation? = nil
  ) throws(StoreError) -> BackupResult {
    try runRestore(source, path, BackupRun(progress, cancellation))
  }

  /// Restores from asynchronous code, on a thread of its own. Cancelling the task ends it with `cancelled` and nothing left
  /// of it.
  @discardableResult
  public static func restore(
    from source: String, to path: String, progress: (@Sendable (BackupProgress) -> Void)? = nil,
    cancellation: BackupCancellation = BackupCancellation()
  ) async throws(StoreError) -> BackupResult {
    let run = BackupRun(progress, cancellation)
    return try await BackupRun.onOwnThread(cancellation) { () throws(StoreError) in try runRestore(source, path, run) }
  }

  private static func runRestore(
    _ source: String, _ path: String, _ run: BackupRun
  ) throws(StoreError) -> BackupResult {
    try run.check()
    let file = try storeErrors { () throws(LMDBError) in try PageFile(at: source, watch: run.watch()) }
    // Before the long reading, and again when it is over.
    let copy = try storeErrors { () throws(LMDBError) in try StoreCopy(to: path) }
    run.begin(.check, of: 2 * file.byteCount)
    let map = try storeErrors { () throws(LMDBError) in try file.walk(maximumFindings: 10) }
    run.complete(file.byteCount)
    let report: CheckReport
    do throws(StoreError) {
      report = try check(file, map, CheckOptions(readData: true, maximumDamages: 10), source)
    } catch {
      try run.check()
      try run.requireCurrent(file, source)
      throw error
    }
    try run.check()
    try run.requireCurrent(file, source)
    // Pages that nobody has are not copied.
    try run.refuse(report.damages.filter { $0.kind != .pageLeak }, source)
    try run.copy(file, to: copy, of: source)
    try run.sync(copy)
    let verified = try run.verify(copy, .values, of: source)
    let byteCount = copy.byteCount
    try run.publish(copy)
    return BackupResult(
      byteCount: byteCount, pageCount: verified.pageCount, commit: verified.commit,
      duration: ContinuousClock.now - run.start)
  }
}
