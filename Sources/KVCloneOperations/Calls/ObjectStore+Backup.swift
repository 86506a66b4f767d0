public import KVCloneCore

/// Copies whole stores.
extension ObjectStore {
  /// Backs up the latest committed state to a complete store in a new directory.
  ///
  /// Readers and writers continue during the backup. Commits during the backup are not part of it. The backup is
  /// compact: it contains full pages of live data, and no bytes of deleted data. It appears at `path` only after
  /// verification and fsync, so the path holds a complete backup or nothing. The backup is the same store with the same
  /// UUID; see <doc:Backups>.
  ///
  /// Memory use is constant. Pages that writers free are not reused while pages are copied. A store in a cluster is
  /// copied entry by entry, in one read transaction of the server.
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
    try BackupRun(progress, cancellation).back(up: self, to: path, options)
  }

  /// Backs up the store from asynchronous code, on a separate thread. Cancelling the task removes partial output.
  @discardableResult
  public func backup(
    to path: String, options: BackupOptions = BackupOptions(), progress: (@Sendable (OperationProgress) -> Void)? = nil,
    cancellation: Cancellation = Cancellation()
  ) async throws(StoreError) -> BackupResult {
    try await cancellation.onOwnThread { () throws(StoreError) in
      try BackupRun(progress, cancellation).back(up: self, to: path, options)
    }
  }

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
    try BackupRun(progress, cancellation).restore([source], to: path)
  }

  /// Restores a store from asynchronous code, on a separate thread. Cancelling the task removes partial output.
  @discardableResult
  public static func restore(
    from source: String, to path: String, progress: (@Sendable (OperationProgress) -> Void)? = nil,
    cancellation: Cancellation = Cancellation()
  ) async throws(StoreError) -> BackupResult {
    try await cancellation.onOwnThread { () throws(StoreError) in
      try BackupRun(progress, cancellation).restore([source], to: path)
    }
  }

  /// Restores a store from a full backup and the incremental backups after it, in the order of their creation.
  ///
  /// All sources are validated before anything is written. The result contains all snapshots of the store. It is
  /// checked as a whole before it appears at the path.
  ///
  /// Other parameters are those of the restore of a full backup.
  ///
  /// - Parameter sources: the directories: a full backup, then incremental backups (``BackupOptions/since``).
  /// - Throws: `brokenChain` (the sources do not belong together, or have another order; the message names the missing
  ///   one), `corrupted`, and the errors of the restore of a full backup.
  @available(*, noasync, message: "use the asynchronous form")
  @discardableResult
  public static func restore(
    from sources: [String], to path: String, progress: (@Sendable (OperationProgress) -> Void)? = nil,
    cancellation: Cancellation? = nil
  ) throws(StoreError) -> BackupResult {
    try BackupRun(progress, cancellation).restore(sources, to: path)
  }

  /// Restores a chain from asynchronous code, on a separate thread. Cancelling the task removes partial output.
  @discardableResult
  public static func restore(
    from sources: [String], to path: String, progress: (@Sendable (OperationProgress) -> Void)? = nil,
    cancellation: Cancellation = Cancellation()
  ) async throws(StoreError) -> BackupResult {
    try await cancellation.onOwnThread { () throws(StoreError) in
      try BackupRun(progress, cancellation).restore(sources, to: path)
    }
  }

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
  ///   `cancelled`, `closed`, `io`; `unsupportedByEngine` for a store in a cluster. No partial output remains.
  @available(*, noasync, message: "use the asynchronous form")
  @discardableResult
  public func reflinkCopy(
    to path: String, progress: (@Sendable (OperationProgress) -> Void)? = nil, cancellation: Cancellation? = nil
  ) throws(StoreError) -> ReflinkResult {
    try BackupRun(progress, cancellation).reflink(self, to: path)
  }

  /// Copies the whole store from asynchronous code, on a separate thread. Cancelling the task removes partial output.
  @discardableResult
  public func reflinkCopy(
    to path: String, progress: (@Sendable (OperationProgress) -> Void)? = nil,
    cancellation: Cancellation = Cancellation()
  ) async throws(StoreError) -> ReflinkResult {
    try await cancellation.onOwnThread { () throws(StoreError) in
      try BackupRun(progress, cancellation).reflink(self, to: path)
    }
  }
}
