import KVCloneBranches
import KVCloneCore
import KVCloneLMDB
import KVCloneTracing

extension BackupRun {
  /// Copies a store by sharing its blocks, or else page by page.
  func reflink(_ store: ObjectStore, to path: String) throws(StoreError) -> ReflinkResult {
    try store.engine.requireStore(for: "a reflink copy")
    return try StoreSpan(.backup, of: store.engine).run { () throws(StoreError) in try copy(store, to: path) }
  }

  private func copy(_ store: ObjectStore, to path: String) throws(StoreError) -> ReflinkResult {
    let environment = try store.engine.requireFiles(for: "a reflink copy").environment
    let copy = try storeErrors { () throws(LMDBError) in
      try StoreCopy(to: path, copyOnWrite: environment.copyOnWrite)
    }
    try check()
    var reason: ReflinkResult.CopyReason?
    var lockDuration = Duration.zero
    if store.options.isReadOnly {
      reason = .readOnlyStore
    } else {
      if let duration = try share(environment, copy, store.options.busyTimeout) {
        lockDuration = duration
      } else {
        reason = .fileSystem
      }
    }
    if reason != nil { try copyState(of: environment, to: copy, store.path) }
    try sync(copy, isForgotten: false)
    let verified = try verify(copy, .none, of: store.path)
    let byteCount = copy.byteCount
    try publish(copy)
    return ReflinkResult(
      copyReason: reason, byteCount: byteCount, commit: verified.commit, duration: ContinuousClock.now - start,
      lockDuration: lockDuration)
  }

  /// Makes the new file share the store's blocks; returns nil if it cannot, else the time under the write lock.
  ///
  /// The kernel writes the source's dirty pages before it shares blocks, so the copy contains all commits with a
  /// write-ahead log, too.
  private func share(
    _ environment: LMDBEnvironment, _ copy: borrowing StoreCopy, _ timeout: Duration
  ) throws(StoreError) -> Duration? {
    environment.mergeLastExtents()
    // Merged extents, and pages that only the write-ahead log has made durable, are still dirty in the page cache.
    // Writing them back here shortens the time under the write lock.
    environment.writeBackAhead()
    let duration = try storeErrors { () throws(LMDBError) -> Duration? in
      let transaction = try environment.beginWrite(timeout: timeout, label: "snapshot-file")
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
