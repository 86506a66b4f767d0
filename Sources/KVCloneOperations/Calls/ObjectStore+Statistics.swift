public import KVCloneCore

/// Describes stores, and processes that use them.
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
}
