import KVCloneLMDB

extension ObjectStore {
  /// Makes a snapshot of the whole store as a store of its own, in a time that does not depend on its size: on XFS and btrfs
  /// the new file shares all blocks with the store's until one of the two changes (a reflink).
  ///
  /// The write lock is held meanwhile, so the snapshot is the state of one commit. Elsewhere, or where the snapshot is to
  /// be on another file system, the state is copied as for a backup, which keeps no writer waiting; the result says so.
  /// Neither is verified: that takes time. Free pages are in a reflink as they are, with what was deleted.
  ///
  /// - Parameters:
  ///   - path: the directory to make; its parent is there, and nothing else at the path.
  ///   - progress: is told how far a copy has come.
  ///   - cancellation: ends it from another thread.
  /// - Throws: `storeExists`, `busy` (another writer holds the lock), `nestedWrite`, `diskFull`, `damaged`, `cancelled`, `closed`,
  ///   and what the file system has to say.
  @available(*, noasync, message: "use the asynchronous form")
  @discardableResult
  public func reflinkCopy(
    to path: String, progress: (@Sendable (BackupProgress) -> Void)? = nil, cancellation: Cancellation? = nil
  ) throws(StoreError) -> ReflinkResult {
    try makeFileSnapshot(path, BackupRun(progress, cancellation))
  }

  /// Makes a snapshot of the whole store from asynchronous code, on a thread of its own.
  @discardableResult
  public func reflinkCopy(
    to path: String, progress: (@Sendable (BackupProgress) -> Void)? = nil,
    cancellation: Cancellation = Cancellation()
  ) async throws(StoreError) -> ReflinkResult {
    let run = BackupRun(progress, cancellation)
    return try await BackupRun.onOwnThread(cancellation) { () throws(StoreError) in
      try self.makeFileSnapshot(path, run)
    }
  }

  private func makeFileSnapshot(_ path: String, _ run: BackupRun) throws(StoreError) -> ReflinkResult {
    let environment = try fileEnvironment()
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
        timeout: options.busyTimeout, label: "snapshot-file", isEager: true)
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
