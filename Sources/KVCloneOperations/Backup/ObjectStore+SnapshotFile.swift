public import KVCloneCore
import KVCloneLMDB

extension ObjectStore {
  /// Copies the whole store to a new directory. On XFS and btrfs, the duration does not depend on the size of the
  /// store.
  ///
  /// On these file systems, the new file shares all blocks with the store until one of the files changes (a reflink).
  /// The write lock is held during the call, so the copy contains the state of one commit. Free pages are part of a
  /// reflink, including deleted data.
  ///
  /// On other file systems, and across file systems, the state is copied as by
  /// ``backup(to:options:progress:cancellation:)-(_,_,_,Cancellation?)``, without blocking writers.
  /// ``ReflinkResult/isReflink`` reports the method. The copy is not verified.
  ///
  /// - Parameters:
  ///   - path: the directory to create. Its parent must exist, and nothing may exist at the path.
  ///   - progress: receives the progress of a full copy.
  ///   - cancellation: cancels the call from another thread.
  /// - Throws: `storeExists`, `busy` (another writer holds the lock), `nestedWrite`, `diskFull`, `corrupted`,
  ///   `cancelled`, `closed`, `io`. No partial output remains.
  @available(*, noasync, message: "use the asynchronous form")
  @discardableResult
  public func reflinkCopy(
    to path: String, progress: (@Sendable (OperationProgress) -> Void)? = nil, cancellation: Cancellation? = nil
  ) throws(StoreError) -> ReflinkResult {
    try makeFileSnapshot(path, BackupRun(progress, cancellation))
  }

  /// Copies the whole store from asynchronous code, on a separate thread.
  ///
  /// Cancelling the task ends the copy with `cancelled` and removes partial output.
  @discardableResult
  public func reflinkCopy(
    to path: String, progress: (@Sendable (OperationProgress) -> Void)? = nil,
    cancellation: Cancellation = Cancellation()
  ) async throws(StoreError) -> ReflinkResult {
    let run = BackupRun(progress, cancellation)
    return try await cancellation.onOwnThread { () throws(StoreError) in
      try self.makeFileSnapshot(path, run)
    }
  }

  private func makeFileSnapshot(_ path: String, _ run: BackupRun) throws(StoreError) -> ReflinkResult {
    let environment = try engine.requireFiles(for: "a reflink copy").environment
    let copy = try storeErrors { () throws(LMDBError) in
      try StoreCopy(to: path, copyOnWrite: environment.copyOnWrite)
    }
    try run.check()
    var reason: ReflinkResult.CopyReason?
    var lockDuration = Duration.zero
    if options.isReadOnly {
      reason = .readOnlyStore
    } else {
      if let duration = try share(environment, copy) { lockDuration = duration } else { reason = .fileSystem }
    }
    if reason != nil { try run.copyState(of: environment, to: copy, self.path) }
    try run.sync(copy, isForgotten: false)
    let verified = try run.verify(copy, .none, of: self.path)
    let byteCount = copy.byteCount
    try run.publish(copy)
    return ReflinkResult(
      copyReason: reason, byteCount: byteCount, commit: verified.commit, duration: ContinuousClock.now - run.start,
      lockDuration: lockDuration)
  }

  /// Has the new file share the store's blocks; nil if it cannot, else how long the write lock was held.
  ///
  /// The kernel writes out what the source has in memory before it shares blocks, so with a commit log, too, the snapshot has
  /// all that was committed.
  private func share(_ environment: LMDBEnvironment, _ copy: borrowing StoreCopy) throws(StoreError) -> Duration? {
    environment.mergeLastExtents()
    // What was merged is in memory, as the pages are that only the commit log has made durable.
    environment.writeBackAhead()
    let duration = try storeErrors { () throws(LMDBError) -> Duration? in
      let transaction = try environment.beginWrite(
        timeout: options.busyTimeout, label: "snapshot-file")
      let locked = ContinuousClock.now
      let isShared = try copy.shareBlocks(of: environment)
      transaction.abort()
      return isShared ? ContinuousClock.now - locked : nil
    }
    guard let duration else { return nil }
    try storeErrors { () throws(LMDBError) in try copy.untie() }
    return duration
  }
}
