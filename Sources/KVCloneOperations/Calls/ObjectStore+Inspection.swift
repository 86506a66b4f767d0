public import KVCloneCore

/// Describes stores and the processes that use them, finds corruption, and repairs it.
extension ObjectStore {
  /// Returns basic facts about the store in one read transaction.
  ///
  /// The call counts objects by their record headers, so its cost grows with the number of objects.
  ///
  /// - Throws: `corrupted`, `readersFull`, `closed`.
  public func info() throws(StoreError) -> StoreInfo {
    try StoreInfo(of: self)
  }

  /// Returns cheap statistics: the size of the file and its tables, free pages, readers, and the write lock holder.
  ///
  /// The call reads only counters that LMDB maintains: the sizes of the B+trees and the free list. A service can
  /// therefore call it every few seconds, regardless of the size of the store. One exception: if several entities share
  /// a root entity, it counts their objects by reading record headers, as ``info()`` does, at some millions per second.
  ///
  /// - Throws: `unsupportedByEngine` for a store in a cluster, which has no pages; `readersFull`, `closed`, `forked`,
  ///   `corrupted`, `io`.
  public func statistics() throws(StoreError) -> StoreStatistics {
    try StoreStatistics(of: self)
  }

  /// Reads every page of the file and returns the distribution of all bytes: by entity, relationship, blob, index,
  /// history, preimages, free pages and unused space.
  ///
  /// The call reads one snapshot and retains its pages; writers continue. Blobs are not read. Memory use is 2 bits per
  /// page of the file and 2 bytes per blob.
  ///
  /// - Parameters:
  ///   - progress: receives progress on the thread that runs the call.
  ///   - cancellation: cancels the call from another thread.
  /// - Throws: `corrupted` if a page is corrupted (``check(_:)`` reports the extent), `cancelled`, `readersFull`,
  ///   `closed`, `forked`, `io`; `unsupportedByEngine` for a store in a cluster.
  @available(*, noasync, message: "use the asynchronous form")
  public func deepStatistics(
    progress: (@Sendable (OperationProgress) -> Void)? = nil, cancellation: Cancellation? = nil
  ) throws(StoreError) -> DeepStatistics {
    try StatisticsRun.walk(self, progress, cancellation)
  }

  /// Returns the distribution of all bytes from asynchronous code, on a separate thread. Cancelling the task ends the
  /// call with `cancelled`.
  public func deepStatistics(
    progress: (@Sendable (OperationProgress) -> Void)? = nil,
    cancellation: Cancellation = Cancellation()
  ) async throws(StoreError) -> DeepStatistics {
    try await cancellation.onOwnThread { () throws(StoreError) in
      try StatisticsRun.walk(self, progress, cancellation)
    }
  }

  /// Returns the open readers of the store in all processes, ordered from the oldest state to the latest.
  ///
  /// The read of this call itself is not included. Each reader may have ended when the call returns. For a store in a
  /// cluster, the list contains only the pinned snapshots of this store object.
  ///
  /// - Throws: `closed`, `forked`, `corrupted`, `io`.
  public func activeReaders() throws(StoreError) -> [ActiveReader] {
    try ReaderListing.readers(of: self)
  }

  /// Frees the reader slots of ended processes, which keep pages from being reused.
  ///
  /// The store does this automatically when it is opened, at regular commits, and when it runs out of reader slots or
  /// space.
  ///
  /// - Returns: the number of freed slots. A process can have several slots, including idle ones that are not listed as
  ///   readers.
  /// - Throws: `closed`, `forked`, `io`.
  @discardableResult
  public func clearStaleReaders() throws(StoreError) -> Int { try engine.clearStaleReaders() }

  /// The current holder of the write lock, in this or another process; nil if the lock is free.
  ///
  /// Reading the property does not block and begins no transaction; for a store in a cluster, it waits for the server.
  /// The holder may have changed when it returns. The message of a `busy` error contains the same information.
  public var writeLockHolder: WriteLockHolder? { engine.writer() }

  // MARK: Integrity

  /// Checks the integrity of the open store: all pages, records, links, lists, counts, index entries, counters, the
  /// history and the model.
  ///
  /// The check reads one snapshot. Readers and writers of this and other processes continue. The duration is linear in
  /// the size of the store. Memory use is 8 MiB of pages, 2 bits per page of the file, 12 bytes per blob (24 if
  /// snapshots need it too), and the issues. The file is read without mapping it, so corruption cannot crash the
  /// process. The check continues after an issue and reports up to ``CheckOptions/maximumIssues``. A failed read is
  /// reported even if a later read succeeds.
  ///
  /// A violation of a model rule, such as a nil value of a required attribute, is not an issue. Commits check these
  /// rules.
  ///
  /// - Parameter options: what is read, and when the check stops.
  /// - Returns: the issues and the number of objects and pages.
  /// - Throws: errors that prevent reading the file: `closed`, `forked`, `readersFull`, `io`. Never `corrupted`.
  public func check(_ options: CheckOptions = CheckOptions()) throws(StoreError) -> CheckReport {
    try StoreCheck(self).check(options)
  }

  /// Checks the integrity of a store that is not open, even if it can no longer be opened; see ``check(_:)``.
  ///
  /// Without a writer in another process, the file is only read. With a permanent writer, the check opens the store,
  /// or, if that is unsafe, blocks writers.
  ///
  /// - Parameters:
  ///   - path: the directory of the store.
  ///   - options: what is read, and when the check stops.
  /// - Returns: the issues and the number of objects and pages.
  /// - Throws: `storeNotFound`; `invalidStore` (an intact LMDB file of another program, a link, or files with other
  ///   owners or modes); `newerFormat`; `olderFormat`; `alreadyOpen` (in this process; use ``check(_:)`` of the open
  ///   store); `busy`; `io`. Never `corrupted`.
  public static func check(at path: String, options: CheckOptions = CheckOptions()) throws(StoreError) -> CheckReport {
    try FileCheck.check(path, options)
  }

  /// Rebuilds corrupted derived data: index entries, back references, reference counts of blobs and derived attributes.
  ///
  /// Objects are read and stay unchanged. The repair first checks the store with all bytes of blobs. If it finds any
  /// other issue, nothing is changed; see ``IntegrityIssue/isDerived``. The repair is one write transaction for the
  /// store, and one for each branch with issues of its own, followed by another check.
  ///
  /// - Parameter isDryRun: whether to report only if the repair would succeed, without changes.
  /// - Returns: the issues before and after the repair.
  /// - Throws: `corrupted` if other data is corrupted (restore a backup, or use
  ///   ``salvage(from:to:options:progress:cancellation:)-(_,_,_,_,Cancellation?)``); `readOnly`; the errors of a write
  ///   transaction. Nothing is changed if it throws.
  @available(*, noasync, message: "call it on a separate thread")
  @discardableResult
  public func repair(isDryRun: Bool = false) throws(StoreError) -> RepairReport {
    try StoreRepair(self).repair(isDryRun: isDryRun)
  }

  /// Salvages a corrupted store into a new store, and reports the losses. Recovers every object with a valid checksum,
  /// with its id, values and links.
  ///
  /// The corrupted store is only read, without mapping it, and its bytes are untrusted. Unreachable data is searched
  /// for on all pages of the file. Indexes, derived attributes and counts are rebuilt. Snapshots, branches and the
  /// change history are not salvaged; the report has the branches with their changes. The new store is the same store
  /// with the same UUID, so existing ids and URIs stay valid. It appears at `path` only when it is complete and has
  /// passed ``check(_:)``.
  ///
  /// Memory use: a few bits per page and per object, 12 bytes per blob, and the losses.
  ///
  /// - Parameters:
  ///   - source: the directory of the corrupted store. No process may write it during the salvage.
  ///   - path: the directory to create. Its parent must exist, and nothing may exist at the path.
  ///   - options: a model for a store with an unreadable model, and the size of the report.
  ///   - progress: receives progress on the thread that runs the salvage.
  ///   - cancellation: cancels the salvage from another thread.
  /// - Returns: the recovered objects and the losses.
  /// - Throws: `storeNotFound`; `invalidStore` (no data of a store is left); `corrupted` (the model is unreadable, and
  ///   none was given); `incompatibleModel` (the given model does not match); `newerFormat`; `olderFormat`; `busy` (the
  ///   store is being written); `alreadyOpen` (in this process); `storeExists`; `diskFull`; `cancelled`; `io`. No
  ///   partial output remains.
  @available(*, noasync, message: "use the asynchronous form")
  @discardableResult
  public static func salvage(
    from source: String, to path: String, options: SalvageOptions = SalvageOptions(),
    progress: (@Sendable (OperationProgress) -> Void)? = nil, cancellation: Cancellation? = nil
  ) throws(StoreError) -> SalvageReport {
    try SalvageRun(options, BackupRun(progress, cancellation)).salvage(source, to: path)
  }

  /// Salvages a store from asynchronous code, on a separate thread. Cancelling the task removes partial output.
  @discardableResult
  public static func salvage(
    from source: String, to path: String, options: SalvageOptions = SalvageOptions(),
    progress: (@Sendable (OperationProgress) -> Void)? = nil, cancellation: Cancellation = Cancellation()
  ) async throws(StoreError) -> SalvageReport {
    try await cancellation.onOwnThread { () throws(StoreError) in
      try SalvageRun(options, BackupRun(progress, cancellation)).salvage(source, to: path)
    }
  }
}
