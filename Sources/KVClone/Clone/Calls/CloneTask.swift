public import KVCloneCore
import Synchronization

/// A clone that runs on a thread of the store.
public final class CloneTask: Sendable {
  private enum State {
    case running([CheckedContinuation<CloneResult, any Error>])
    case ended(Result<CloneResult, any Error>)
  }

  /// The progress of the clone, as a stream that finishes with the clone, whatever the outcome.
  ///
  /// The stream keeps only the latest value for a slow reader. It supports one reader.
  public let progress: AsyncStream<OperationProgress>
  let control: CloneMonitor
  private let updates: AsyncStream<OperationProgress>.Continuation
  private let state = Mutex(State.running([]))

  init(_ callback: (@Sendable (OperationProgress) -> Void)?) {
    let (stream, updates) = AsyncStream.makeStream(of: OperationProgress.self, bufferingPolicy: .bufferingNewest(1))
    progress = stream
    self.updates = updates
    control = CloneMonitor { progress in
      callback?(progress)
      updates.yield(progress)
    }
  }

  /// The result of the clone, available when it ends.
  ///
  /// - Throws: the error that ended the clone.
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

  /// Cancels the clone: it ends with `cancelled`, and nothing is written. Has no effect after its commit has begun.
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
