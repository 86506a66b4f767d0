import Foundation
import KVClone
import KVCloneCore
import KVCloneOperations
import Synchronization

/// An operation that reads the whole store, in the background.
struct StoreJob: Sendable {
  enum Kind: Sendable, Equatable {
    /// An integrity check.
    case check(readsData: Bool)
    /// Measuring the space usage.
    case sizes

    var isCheck: Bool { self != .sizes }

    var title: String {
      switch self {
      case .check: "Check"
      case .sizes: "Space usage"
      }
    }

    /// The segments of the path below which its jobs are.
    var path: [String] {
      switch self {
      case .check: ["store", "check"]
      case .sizes: ["store", "sizes"]
      }
    }
  }

  enum Outcome: Sendable {
    case running(OperationProgress?)
    case checked(CheckReport)
    case measured(DeepStatistics)
    /// With the message of the error.
    case failed(String)
    case cancelled
  }

  let number: Int
  let kind: Kind
  let started: Date
  fileprivate(set) var ended: Date?
  fileprivate(set) var outcome: Outcome

  var isRunning: Bool { if case .running = outcome { true } else { false } }

  /// The state in documents.
  var state: String {
    switch outcome {
    case .running: "running"
    case .checked, .measured: "finished"
    case .failed: "failed"
    case .cancelled: "cancelled"
    }
  }
}

/// The checks and measurements of an explorer: one at a time, and the latest results.
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
    // The task must not keep the jobs alive: they end with the explorer.
    if isNew { Task { [weak self] in self?.finish(number, await Self.run(kind, store, cancellation, number, self)) } }
    return number
  }

  private static func run(
    _ kind: StoreJob.Kind, _ store: ObjectStore, _ cancellation: Cancellation, _ number: Int, _ jobs: StoreJobs?
  ) async -> StoreJob.Outcome {
    let progress: @Sendable (OperationProgress) -> Void = { [weak jobs] in jobs?.note($0, of: number) }
    do {
      switch kind {
      case .check(let readsData):
        return .checked(
          try await store.check(CheckOptions(readData: readsData), progress: progress, cancellation: cancellation))
      case .sizes:
        return .measured(try await store.deepStatistics(progress: progress, cancellation: cancellation))
      }
    } catch {
      return error.kind == .cancelled ? .cancelled : .failed(error.message)
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

  /// Keeps a measurement that a request has made.
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
