import Dispatch
import Foundation
import KVClone

/// Asynchronous writes of one task each, which wait in the queue of their store at the same time.
///
/// All of them wait in it before the first one ends, so they form one group, in the order of the tasks: what the process
/// does is the same on every run, and a fault can strike each of its calls.
struct ConcurrentWrites<Value: Sendable>: Sendable {
  let store: ObjectStore
  /// Called when a write returns or throws, with its place among the writes; no two calls at the same time.
  let didEnd: @Sendable (Int, Result<Value, any Error>) -> Void

  init(_ store: ObjectStore, didEnd: @escaping @Sendable (Int, Result<Value, any Error>) -> Void) {
    self.store = store
    self.didEnd = didEnd
  }

  /// Returns when all writes have ended.
  func run(_ bodies: [@Sendable (inout WriteTransaction) throws -> Value]) {
    let executor = FirstInFirstOutExecutor()
    let gate = DispatchSemaphore(value: 0)
    let ended = DispatchGroup()
    for (index, body) in bodies.enumerated() {
      ended.enter()
      Task(executorPreference: executor) {
        do {
          let value = try await store.write(label: "group") { transaction in
            gate.wait()
            gate.signal()
            return try body(&transaction)
          }
          didEnd(index, .success(value))
        } catch {
          didEnd(index, .failure(error))
        }
        ended.leave()
      }
    }
    // Behind the first parts of each task, which end in the store's queue.
    executor.async(afterRounds: 4) { gate.signal() }
    ended.wait()
  }
}

/// Runs the parts of tasks one after the other, in the order in which they become ready.
private final class FirstInFirstOutExecutor: TaskExecutor {
  private let queue = DispatchQueue(label: "tasks")

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    queue.async { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
  }

  /// Runs `body` after everything that is ready now, and what comes of that, and so on for some rounds.
  func async(afterRounds count: Int, _ body: @escaping @Sendable () -> Void) {
    queue.async { [self] in
      if count > 0 { async(afterRounds: count - 1, body) } else { body() }
    }
  }
}
