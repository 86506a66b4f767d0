import KVCloneTracing
import Synchronization

/// An asynchronous write that can be a member of a ``CommitGroup``.
protocol GroupedWrite: QueuedWrite {
  var label: String { get }
  var timeout: Duration? { get }
  var mergePolicy: MergePolicy { get }
  /// Runs the closure of the caller, and keeps its result.
  func perform(_ transaction: inout WriteTransaction) throws
  /// Returns the result to the caller.
  func resume()
  /// Throws an error to the caller.
  func resume(throwing error: any Error)
}

/// A call of `ObjectStore.write` from asynchronous code.
final class QueuedTransaction<R: Sendable>: GroupedWrite {
  private enum Phase {
    case new
    case waiting(CheckedContinuation<R, any Error>)
    case running(CheckedContinuation<R, any Error>, R?)
    case cancelled
    case ended
  }

  let label: String
  let timeout: Duration?
  let mergePolicy: MergePolicy
  private let store: ObjectStore
  private let body: @Sendable (inout WriteTransaction) throws -> R
  private let phase = Mutex(Phase.new)
  private let span: StoreSpan

  init(
    _ store: ObjectStore, label: String, timeout: Duration?, mergePolicy: MergePolicy,
    _ body: @escaping @Sendable (inout WriteTransaction) throws -> R
  ) {
    self.store = store
    self.label = label
    self.timeout = timeout
    self.mergePolicy = mergePolicy
    self.body = body
    span = StoreSpan(.write, of: store.engine)
  }

  /// Waits for its turn, runs, and returns when the commit is durable. Cancelling the task before its turn removes it.
  func value() async throws -> R {
    do {
      let result = try await withTaskCancellationHandler {
        try await withCheckedThrowingContinuation { continuation in
          var isFirst = false
          let isCancelled = phase.withLock { phase in
            if case .cancelled = phase { return true }
            phase = .waiting(continuation)
            // Within the lock, so that a cancellation finds it in the queue. The thread that runs it is woken outside,
            // because it would wait for the lock.
            isFirst = store.writerQueue.append(self)
            return false
          }
          if isFirst { store.writerQueue.schedule() }
          if isCancelled { continuation.resume(throwing: CancellationError()) }
        }
      } onCancel: {
        let waiting = phase.withLock { phase -> CheckedContinuation<R, any Error>? in
          switch phase {
          case .new: phase = .cancelled
          case .waiting(let continuation) where store.writerQueue.remove(self):
            phase = .ended
            return continuation
          default: break
          }
          return nil
        }
        waiting?.resume(throwing: CancellationError())
      }
      span.end()
      return result
    } catch {
      span.end(throwing: error)
      throw error
    }
  }

  func run() {
    CommitGroup(store).run(self)
  }

  func perform(_ transaction: inout WriteTransaction) throws {
    let result = try span.activate { try body(&transaction) }
    phase.withLock { phase in
      if case .waiting(let continuation) = phase { phase = .running(continuation, result) }
    }
  }

  func resume() {
    let ended = phase.withLock { phase in
      defer { phase = .ended }
      return phase
    }
    if case .running(let continuation, let result?) = ended { continuation.resume(returning: result) }
  }

  func resume(throwing error: any Error) {
    let ended = phase.withLock { phase in
      defer { phase = .ended }
      return phase
    }
    switch ended {
    case .waiting(let continuation), .running(let continuation, _): continuation.resume(throwing: error)
    case .new, .cancelled, .ended: break
    }
  }
}
