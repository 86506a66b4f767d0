import KVClone
import KVCloneOperations
import Synchronization

extension Interruption {
  /// Runs an operation of the library that shows its progress in a bar, and that an interrupt cancels.
  static func cancelling<R>(
    _ bar: ProgressBar, _ body: (@escaping @Sendable (OperationProgress) -> Void, Cancellation) throws -> R
  ) throws -> R {
    let cancellation = Cancellation()
    return try cancelling(cancellation.cancel) {
      defer { bar.finish() }
      return try body(bar.update(_:), cancellation)
    }
  }
}

extension ProgressBar {
  /// Shows the progress of a transaction of the library, and notes in the interrupt handler whether it is being committed.
  ///
  /// - Returns: the closure that receives the progress.
  func watch(_ global: GlobalOptions) -> @Sendable (OperationProgress) -> Void {
    let last = Mutex<OperationProgress.Phase?>(nil)
    return { progress in
      if progress.phase == .commit {
        Interruption.note(
          progress.completed == progress.total ? .succeeded(objectCount: progress.completed) : .begins)
      }
      let isNew = last.withLock { last in
        defer { last = progress.phase }
        return last != progress.phase
      }
      if isNew, !global.json { global.detail("\(self.title): \(progress.phase.rawValue)") }
      self.update(progress)
    }
  }
}
