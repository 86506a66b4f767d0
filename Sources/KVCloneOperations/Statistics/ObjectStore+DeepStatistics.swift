public import KVCloneCore
import KVCloneLMDB
import KVCloneRecords
import Synchronization

extension ObjectStore {
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
  ///   `closed`, `forked`, `io`.
  @available(*, noasync, message: "use the asynchronous form")
  public func deepStatistics(
    progress: (@Sendable (OperationProgress) -> Void)? = nil, cancellation: Cancellation? = nil
  ) throws(StoreError) -> DeepStatistics {
    try walkForStatistics(progress, cancellation)
  }

  /// Returns the distribution of all bytes from asynchronous code, on a separate thread. Cancelling the task ends the
  /// call with `cancelled`.
  public func deepStatistics(
    progress: (@Sendable (OperationProgress) -> Void)? = nil,
    cancellation: Cancellation = Cancellation()
  ) async throws(StoreError) -> DeepStatistics {
    try await cancellation.onOwnThread { () throws(StoreError) in
      try self.walkForStatistics(progress, cancellation)
    }
  }

  private func walkForStatistics(
    _ progress: (@Sendable (OperationProgress) -> Void)?, _ cancellation: Cancellation?
  ) throws(StoreError) -> DeepStatistics {
    let environment = try engine.requireFiles(for: "statistics of pages").environment
    let readers = try activeReaders()
    // Whether another process has migrated the store.
    _ = try readSession()
    let facts = try engine.facts()
    let watch = Self.watch(facts, progress, cancellation)
    let file = try storeErrors { () throws(LMDBError) in try PageFile(pinning: environment, watch: watch) }
    let run = StatisticsRun(schema)
    let census = PageCensus(first: { $0.hasPrefix("objects-") }, visit: { run.visit($0, $1, $2) })
    let map = try storeErrors { () throws(LMDBError) in try file.walk(census) { run.begin($0) } }
    if cancellation?.isCancelled == true { throw StoreError(.cancelled, "the statistics were cancelled") }
    if let finding = map.findings.first(where: { !$0.problem.isHarmless }) {
      throw StoreError(PageError(page: finding.page, problem: finding.problem))
    }
    if let failure = run.failure { throw failure }
    let metadata = StorageTable(code: .metadata, handle: 0)
    let storage = StorageTransaction(try PageFileEngine(file, map).beginReading())
    let commit = try Metadata.counter(storage, metadata, MetadataKey.commitCounter)
    return run.result(
      census, map, facts, commit: commit, state: file.meta?.commitNumber ?? 0, store: self, readers: readers)
  }

  private static func watch(
    _ facts: StorageFacts, _ progress: (@Sendable (OperationProgress) -> Void)?,
    _ cancellation: Cancellation?
  ) -> PageWatch? {
    guard progress != nil || cancellation != nil else { return nil }
    let total = facts.fileBytes
    let completed = Atomic<UInt64>(0)
    return PageWatch { byteCount in
      let sum = completed.add(UInt64(byteCount), ordering: .relaxed).newValue
      progress?(OperationProgress(phase: .read, completed: Int(clamping: min(sum, total)), total: Int(clamping: total)))
      return cancellation?.isCancelled != true
    }
  }
}
