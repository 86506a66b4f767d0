import Dispatch
import Synchronization

/// Threads for asynchronous reads that wait for a network or take long, first in, first out. They would block the
/// cooperative pool.
package final class ReadThreads: TaskExecutor {
  private struct State {
    /// Those before `first` have been taken.
    var jobs: [UnownedJob] = []
    var first = 0
    /// The queues without work. Each has a thread while it works.
    var idle: [DispatchQueue]

    /// Takes the next job. Without one, `queue` becomes idle.
    mutating func next(on queue: DispatchQueue) -> UnownedJob? {
      if first == jobs.count {
        jobs.removeAll(keepingCapacity: true)
        first = 0
        idle.append(queue)
        return nil
      }
      defer { first += 1 }
      return jobs[first]
    }
  }

  private let state: Mutex<State>

  /// - Parameter count: the number of threads: at most that of the connections, for which more would only wait.
  package init(count: Int) {
    state = Mutex(State(idle: (0..<max(1, count)).map { DispatchQueue(label: "KVClone.reader.\($0)") }))
  }

  /// The number of jobs that no thread has begun.
  package var waitingCount: Int { state.withLock { $0.jobs.count - $0.first } }

  /// Runs `body` on one of the threads.
  package func run<R: Sendable, E: Error>(_ body: @Sendable () throws(E) -> R) async throws(E) -> R {
    // Its executor is this one, because it is not isolated.
    try await withTaskExecutorPreference(self, isolation: nil) { () async throws(E) -> R in try body() }
  }

  package func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    let queue = state.withLock { state in
      state.jobs.append(job)
      return state.idle.popLast()
    }
    guard let queue else { return }
    queue.async { [self] in
      while let next = state.withLock({ $0.next(on: queue) }) {
        unsafe next.runSynchronously(on: asUnownedTaskExecutor())
      }
    }
  }
}
