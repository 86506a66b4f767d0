import Foundation
import KVClone
import KVCloneCore
import KVCloneOperations
import Synchronization

/// The jobs of an explorer: one at a time, and the latest results.
///
/// They belong to the explorer, not to a request: a result has a URL, and a browser that disconnects loses nothing.
final class StoreJobs: Sendable {
  private struct State {
    var jobs: [StoreJob] = []
    var last = 0
    var cancellation: Cancellation?
    var isShutDown = false
  }

  /// The number of jobs that are kept.
  private static let maximumCount = 8
  private let state = Mutex(State())

  deinit { cancelAll() }

  /// Starts a job, or returns the running one of the same kind.
  ///
  /// - Throws: `busy` if another job is running.
  func start(_ kind: StoreJob.Kind, _ store: ObjectStore) throws(ExplorerError) -> Int {
    let cancellation = Cancellation()
    let started: Result<(number: Int, isNew: Bool), ExplorerError> = state.withLock { state in
      if state.isShutDown { return .failure(ExplorerError(.shutDown, "the explorer is shutting down; start it again")) }
      if let running = state.jobs.first(where: \.isRunning) {
        if running.kind == kind { return .success((running.number, false)) }
        return .failure(
          ExplorerError(.busy, "another job is running (“\(running.kind.title)”); wait for it, or cancel it"))
      }
      state.last += 1
      state.cancellation = cancellation
      state.jobs.append(StoreJob(number: state.last, kind: kind, started: Date(), outcome: .running(nil)))
      state.jobs.removeFirst(max(0, state.jobs.count - Self.maximumCount))
      return .success((state.last, true))
    }
    let (number, isNew) = try started.get()
    if !isNew { return number }
    // The task does not keep the jobs alive: they end with the explorer.
    Task { [weak self] in
      let outcome = await Self.run(kind, store, cancellation) { [weak self] in self?.note($0, of: number) }
      self?.finish(number, outcome)
    }
    return number
  }

  private static func run(
    _ kind: StoreJob.Kind, _ store: ObjectStore, _ cancellation: Cancellation,
    _ progress: @escaping @Sendable (OperationProgress) -> Void
  ) async -> StoreJob.Outcome {
    do {
      switch kind {
      case .check(let readsData):
        return .checked(
          try await CheckReport.of(
            store, CheckOptions(readData: readsData), progress: progress, cancellation: cancellation))
      case .sizes:
        return .measured(try await store.deepStatistics(progress: progress, cancellation: cancellation))
      case .counts(let snapshot):
        return .counted(try await EntityCounts.all(in: store, snapshot, progress: progress, cancellation: cancellation))
      }
    } catch let error as StoreError where error.kind == .cancelled {
      return .cancelled
    } catch {
      return .failed((error as? any KVCloneError)?.message ?? "it ended with an error of the type \(type(of: error))")
    }
  }

  private func note(_ progress: OperationProgress, of number: Int) {
    change(number) { $0.outcome = .running(progress) }
  }

  private func finish(_ number: Int, _ outcome: StoreJob.Outcome) {
    change(number) {
      $0.outcome = outcome
      $0.ended = Date()
    }
  }

  private func change(_ number: Int, _ body: (inout StoreJob) -> Void) {
    state.withLock { state in
      if let index = state.jobs.firstIndex(where: { $0.number == number }) { body(&state.jobs[index]) }
    }
  }

  /// Cancels a job, if it is running.
  func cancel(_ number: Int) {
    state.withLock { state in
      if state.jobs.contains(where: { $0.number == number && $0.isRunning }) { state.cancellation?.cancel() }
    }
  }

  /// Cancels the running job, and starts no others.
  func cancelAll() {
    state.withLock { state in
      state.isShutDown = true
      state.cancellation?.cancel()
    }
  }

  /// Returns a job; nil if it never existed, or is no longer kept.
  func job(_ number: Int) -> StoreJob? { state.withLock { $0.jobs.first { $0.number == number } } }

  /// The jobs that are kept, newest first.
  var all: [StoreJob] { state.withLock { $0.jobs.reversed() } }

  /// Keeps a measurement that a page has made.
  func keep(_ statistics: DeepStatistics) {
    state.withLock { state in
      state.jobs.removeAll { if case .measured = $0.outcome { true } else { false } }
      state.last += 1
      let now = Date()
      state.jobs.append(
        StoreJob(number: state.last, kind: .sizes, started: now, ended: now, outcome: .measured(statistics)))
    }
  }

  /// The latest measurement.
  var statistics: DeepStatistics? {
    for job in all { if case .measured(let statistics) = job.outcome { return statistics } }
    return nil
  }
}
