import Synchronization

/// Limits the number of requests that are answered concurrently. Others wait in the order of their arrival.
final class RequestQueue: Sendable {
  private struct State {
    var activeCount = 0
    /// Those that wait, by their numbers; `first` is at most the smallest number.
    var waiters: [UInt64: CheckedContinuation<Bool, Never>] = [:]
    var first: UInt64 = 1
    var last: UInt64 = 0

    mutating func next() -> CheckedContinuation<Bool, Never>? {
      while first <= last {
        defer { first += 1 }
        if let waiter = waiters.removeValue(forKey: first) { return waiter }
      }
      return nil
    }
  }

  private let state = Mutex(State())
  private let limit: Int
  private let waitingLimit: Int
  private let patience: Duration

  /// - Parameter patience: the longest time that a request waits.
  init(limit: Int, waitingLimit: Int, patience: Duration) {
    self.limit = max(1, limit)
    self.waitingLimit = waitingLimit
    self.patience = patience
  }

  var waitingCount: Int { state.withLock { $0.waiters.count } }

  /// Runs `body` when it is its turn.
  ///
  /// - Throws: `busy` if too many requests wait, or for too long; `cancelled`.
  func run<Result: Sendable>(_ body: @Sendable () async -> Result) async throws(ExplorerError) -> Result {
    try await enter()
    defer { leave() }
    return await body()
  }

  private func enter() async throws(ExplorerError) {
    let number = state.withLock { state -> UInt64? in
      if state.activeCount < limit {
        state.activeCount += 1
        return nil
      }
      state.last += 1
      return state.last
    }
    guard let number else { return }
    let timer = Task { [patience] in
      try await Task.sleep(for: patience)
      expire(number)
    }
    defer { timer.cancel() }
    let isTurn = await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let answer = state.withLock { state -> Bool? in
          // One may have left since the number was given.
          if state.activeCount < limit {
            state.activeCount += 1
            return true
          }
          // A task is cancelled before its handler runs, and the handler waits for this lock.
          if state.waiters.count >= waitingLimit || Task.isCancelled { return false }
          state.waiters[number] = continuation
          return nil
        }
        if let answer { continuation.resume(returning: answer) }
      }
    } onCancel: {
      expire(number)
    }
    if isTurn { return }
    if Task.isCancelled { throw ExplorerError(.cancelled, "the request was cancelled; repeat it") }
    throw ExplorerError(.busy, "the explorer answers too many requests; try again in a second")
  }

  private func leave() {
    let next = state.withLock { state in
      let next = state.next()
      // The place is passed on.
      if next == nil { state.activeCount -= 1 }
      return next
    }
    next?.resume(returning: true)
  }

  private func expire(_ number: UInt64) {
    state.withLock { $0.waiters.removeValue(forKey: number) }?.resume(returning: false)
  }
}
