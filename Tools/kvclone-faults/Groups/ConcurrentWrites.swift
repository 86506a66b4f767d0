import Dispatch
import Foundation
import KVClone

/// Asynchronous writes of one task each, all of which wait in the queue of their store before the first one runs.
///
/// The queue is held until it has all writes, in the order of the tasks. The writes of a group, and the calls that the
/// process makes, are therefore the same on every run, and a fault can strike each of the calls. The calls are those of
/// the queue's thread; the tasks only report what returned.
struct ConcurrentWrites<Value: Sendable>: Sendable {
  let store: ObjectStore
  /// Called when a write returns or throws, with the index of the write; in the order of completion, one call at a
  /// time.
  let didEnd: @Sendable (Int, Result<Value, any Error>) -> Void

  init(_ store: ObjectStore, didEnd: @escaping @Sendable (Int, Result<Value, any Error>) -> Void) {
    self.store = store
    self.didEnd = didEnd
  }

  /// Returns when all writes have ended and their closures are released.
  func run(_ bodies: [@Sendable (inout WriteTransaction) throws -> Value]) {
    let executor = FirstInFirstOutExecutor()
    let isHeld = DispatchSemaphore(value: 0)
    let gate = DispatchSemaphore(value: 0)
    store.writerQueue.async {
      isHeld.signal()
      gate.wait()
    }
    isHeld.wait()
    let tasks = bodies.enumerated().map { index, body in
      let task = task(index, body, executor)
      while store.writerQueue.count == index { usleep(10) }
      return task
    }
    gate.signal()
    wait(for: tasks)
    // The queue releases the writes of a group after it has resumed their tasks.
    let isIdle = DispatchSemaphore(value: 0)
    store.writerQueue.async { isIdle.signal() }
    isIdle.wait()
  }

  private func task(
    _ index: Int, _ body: @escaping @Sendable (inout WriteTransaction) throws -> Value,
    _ executor: FirstInFirstOutExecutor
  ) -> Task<Void, Never> {
    Task(executorPreference: executor) {
      do {
        let value = try await store.write(label: "group") { transaction in
          // Reports the results of earlier groups before this write does anything that can fail.
          executor.drain()
          return try body(&transaction)
        }
        didEnd(index, .success(value))
      } catch {
        didEnd(index, .failure(error))
      }
    }
  }

  private func wait(for tasks: [Task<Void, Never>]) {
    let haveEnded = DispatchSemaphore(value: 0)
    Task {
      for task in tasks { await task.value }
      haveEnded.signal()
    }
    haveEnded.wait()
  }
}

/// Runs the jobs of tasks serially, in the order in which they become ready.
private final class FirstInFirstOutExecutor: TaskExecutor {
  private let queue = DispatchQueue(label: "tasks")

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    queue.async { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
  }

  /// Waits for the jobs that are ready.
  func drain() { queue.sync {} }
}
