import Synchronization

/// Whether a clone was cancelled: by its task, also when it runs on the writer's thread and not the task's (R29).
final class CloneCancellation: Sendable {
  private let flag = Atomic<Bool>(false)

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
}
