import KVCloneCore
import Synchronization

/// Reports the progress of a clone, and ends it when it is cancelled, also through its task while it runs on the writer
/// thread (R29).
final class CloneMonitor: Sendable {
  private static let pause = Duration.milliseconds(50)

  private let cancellation = Cancellation()
  private let progress: (@Sendable (OperationProgress) -> Void)?
  /// The time at which a plan ends, because its caller does not wait longer.
  private let deadline: ContinuousClock.Instant?
  private let last = Mutex<(phase: OperationProgress.Phase, time: ContinuousClock.Instant)?>(nil)

  init(deadline: ContinuousClock.Instant? = nil, progress: (@Sendable (OperationProgress) -> Void)? = nil) {
    self.deadline = deadline
    self.progress = progress
  }

  /// Cancels the clone.
  func cancel() { cancellation.cancel() }

  /// Whether the deadline has passed.
  var isOver: Bool { deadline.map { $0 <= .now } ?? false }

  /// Throws `cancelled` if the clone or its task was cancelled, or if the deadline has passed.
  func check() throws(CloneError) {
    if cancellation.isCancelled || Task.isCancelled {
      throw CloneError(.cancelled, "the clone was cancelled; nothing was written (R29)")
    }
    if isOver { throw CloneError(.cancelled, "the plan was stopped, because it takes too long") }
  }

  /// Reports the progress, and throws `cancelled` if the clone was cancelled. It reads a clock: call it about every
  /// thousand objects.
  func check(_ phase: OperationProgress.Phase, _ completed: Int, of total: Int?) throws(CloneError) {
    report(phase, completed, of: total)
    try check()
  }

  /// Reports the progress: at the begin and end of a phase, and otherwise every 50 ms.
  func report(_ phase: OperationProgress.Phase, _ completed: Int, of total: Int?) {
    guard let progress else { return }
    let now = ContinuousClock.now
    let isDue = last.withLock { last in
      if let before = last, before.phase == phase, completed != total, now - before.time < Self.pause { return false }
      last = (phase, now)
      return true
    }
    if isDue { progress(OperationProgress(phase: phase, completed: completed, total: total)) }
  }
}
