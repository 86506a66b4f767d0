import Dispatch
import KVCloneLMDB
import KVCloneRecords
import Synchronization

extension ObjectStore {
  /// Walks over every page of the file and tells where all bytes are: by entity, relationship, large values, index, history,
  /// previous states, and what is free or between entries.
  ///
  /// It reads one consistent state, and keeps its pages; writers go on meanwhile. Large values are not read. Memory: two bits a
  /// page of the file and two bytes a large value.
  ///
  /// - Parameters:
  ///   - progress: is told how far the walk has come, on the thread that walks.
  ///   - cancellation: ends it from another thread.
  /// - Throws: `damaged` where a page cannot be relied on (``check(_:)`` tells the extent), `cancelled`, `readersFull`, `closed`,
  ///   `forked`, and what the file system has to say.
  @available(*, noasync, message: "use the asynchronous form")
  public func deepStatistics(
    progress: (@Sendable (StatisticsProgress) -> Void)? = nil, cancellation: Cancellation? = nil
  ) throws(StoreError) -> DeepStatistics {
    try walkForStatistics(progress, cancellation)
  }

  /// The same from asynchronous code, on a thread of its own. Cancelling the task ends it with `cancelled`.
  public func deepStatistics(
    progress: (@Sendable (StatisticsProgress) -> Void)? = nil,
    cancellation: Cancellation = Cancellation()
  ) async throws(StoreError) -> DeepStatistics {
    let result = await withTaskCancellationHandler {
      await withCheckedContinuation { (continuation: CheckedContinuation<Result<DeepStatistics, StoreError>, Never>) in
        DispatchQueue(label: "KVClone.statistics").async {
          do throws(StoreError) {
            continuation.resume(returning: .success(try self.walkForStatistics(progress, cancellation)))
          } catch {
            continuation.resume(returning: .failure(error))
          }
        }
      }
    } onCancel: {
      cancellation.cancel()
    }
    return try result.get()
  }

  private func walkForStatistics(
    _ progress: (@Sendable (StatisticsProgress) -> Void)?, _ cancellation: Cancellation?
  ) throws(StoreError) -> DeepStatistics {
    guard let environment = (engine as? LMDBEngine)?.environment else { throw Self.noPages }
    let readers = try activeReaders()
    // Whether another process has migrated the store.
    _ = try readSession()
    let facts = try engine.facts()
    let watch = Self.watch(facts, progress, cancellation)
    let file = try storeErrors { () throws(LMDBError) in try PageFile(pinning: environment, watch: watch) }
    let run = StatisticsRun(schema)
    let census = PageCensus(first: { $0.hasPrefix("objects-") }, visit: { run.visit($0, $1, $2) })
    let map = try storeErrors { () throws(LMDBError) in try file.walk(census) { run.begin($0) } }
    if cancellation?.isCancelled == true { throw StoreError(.cancelled, "the walk for statistics was cancelled") }
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
    _ facts: StorageFacts, _ progress: (@Sendable (StatisticsProgress) -> Void)?,
    _ cancellation: Cancellation?
  ) -> PageWatch? {
    guard progress != nil || cancellation != nil else { return nil }
    let total = facts.fileBytes
    let completed = Atomic<UInt64>(0)
    return PageWatch { byteCount in
      let sum = completed.add(UInt64(byteCount), ordering: .relaxed).newValue
      progress?(StatisticsProgress(completed: min(sum, total), total: total))
      return cancellation?.isCancelled != true
    }
  }
}
