public import KVCloneModel
import Synchronization

extension ObjectStore {
  /// Starts a deep clone on a thread of the store's own, and answers at once: for those who want to watch it, or to cancel
  /// it, from elsewhere.
  public func startClone(_ roots: [ObjectID], options: CloneOptions = CloneOptions()) -> CloneTask {
    let operation = CloneTask(options.progress)
    writerQueue.async {
      operation.end(Result { try self.runClone(roots, options, operation.control) })
    }
    return operation
  }
}

/// A clone under way on a thread of the store's own.
public final class CloneTask: Sendable {
  private enum State {
    case running([CheckedContinuation<CloneResult, any Error>])
    case ended(Result<CloneResult, any Error>)
  }

  /// How far the clone has come. It ends with the clone, whatever the outcome. Whoever looks seldom sees the latest value;
  /// there is one stream, for one who looks.
  public let progress: AsyncStream<CloneProgress>
  let control: CloneCancellation
  private let updates: AsyncStream<CloneProgress>.Continuation
  private let state = Mutex(State.running([]))

  init(_ callback: (@Sendable (CloneProgress) -> Void)?) {
    let (stream, updates) = AsyncStream.makeStream(of: CloneProgress.self, bufferingPolicy: .bufferingNewest(1))
    progress = stream
    self.updates = updates
    control = CloneCancellation { progress in
      callback?(progress)
      updates.yield(progress)
    }
  }

  /// What the clone did, once it has ended; throws what ended it.
  public var result: CloneResult {
    get async throws {
      try await withCheckedThrowingContinuation { continuation in
        let ended = state.withLock { state in
          switch state {
          case .running(let waiting):
            state = .running(waiting + [continuation])
            return nil as Result<CloneResult, any Error>?
          case .ended(let result): return result
          }
        }
        if let ended { continuation.resume(with: ended) }
      }
    }
  }

  /// Ends the clone with `cancelled` and nothing written, unless its commit has begun.
  public func cancel() {
    control.cancel()
  }

  func end(_ result: Result<CloneResult, any Error>) {
    let waiting = state.withLock { state in
      guard case .running(let waiting) = state else { return [] as [CheckedContinuation<CloneResult, any Error>] }
      state = .ended(result)
      return waiting
    }
    updates.finish()
    for continuation in waiting { continuation.resume(with: result) }
  }
}
