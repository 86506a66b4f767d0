import KVClone

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
