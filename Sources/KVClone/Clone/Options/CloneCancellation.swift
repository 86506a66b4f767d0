import KVCloneCore
import Synchronization

/// How a clone and its caller hear of each other while it runs: whether it was cancelled, by its task, also when it runs on
/// the writer's thread and not the task's (R29), and how far it has come.
final class CloneCancellation: Sendable {
  private static let pause = Duration.milliseconds(50)

  private let flag = Atomic<Bool>(false)
  private let progress: (@Sendable (CloneProgress) -> Void)?
  private let last = Mutex<(phase: CloneProgress.Phase, time: ContinuousClock.Instant)?>(nil)

  init(progress: (@Sendable (CloneProgress) -> Void)? = nil) {
    self.progress = progress
  }

  /// Asks the clone to stop.
  func cancel() {
    flag.store(true, ordering: .relaxed)
  }

  /// Throws `cancelled` once asked.
  func check() throws(CloneError) {
    if flag.load(ordering: .relaxed) || Task.isCancelled {
      throw CloneError(.cancelled, "the clone was cancelled; nothing was written (R29)")
    }
  }

  /// Tells how far the clone has come, and throws `cancelled` once asked. For every thousand objects or so: it reads a
  /// clock.
  func check(_ phase: CloneProgress.Phase, _ completed: Int, of total: Int?) throws(CloneError) {
    report(phase, completed, of: total)
    try check()
  }

  /// Tells how far the clone has come: at once where a phase begins or ends, else not too often.
  func report(_ phase: CloneProgress.Phase, _ completed: Int, of total: Int?) {
    guard let progress else { return }
    let now = ContinuousClock.now
    let isDue = last.withLock { last in
      if let before = last, before.phase == phase, completed != total, now - before.time < Self.pause { return false }
      last = (phase, now)
      return true
    }
    if isDue { progress(CloneProgress(phase: phase, completed: completed, total: total)) }
  }
}
