import KVCloneCore

/// Reports the progress of a merge, and ends it when it is cancelled, also through its task.
struct MergeMonitor: Sendable {
  private let cancellation = Cancellation()
  private let progress: (@Sendable (OperationProgress) -> Void)?

  init(_ progress: (@Sendable (OperationProgress) -> Void)?) {
    self.progress = progress
  }

  func cancel() { cancellation.cancel() }

  func report(_ phase: OperationProgress.Phase, _ completed: Int, of total: Int?) {
    progress?(OperationProgress(phase: phase, completed: completed, total: total))
  }

  /// Reports the progress.
  ///
  /// - Throws: ``MergeError`` of the kind `cancelled`.
  func check(_ phase: OperationProgress.Phase, _ completed: Int, of total: Int?) throws(MergeError) {
    report(phase, completed, of: total)
    if cancellation.isCancelled || Task.isCancelled {
      throw MergeError(.cancelled, "the merge was cancelled; nothing was merged")
    }
  }
}
