import Synchronization

/// A cancellation flag for long calls: backup, restore, export, import, migration, salvage and deep statistics.
///
/// Pass it to the call and cancel it from another thread. Asynchronous calls also observe the cancellation of their
/// task.
public final class Cancellation: Sendable {
  private let flag = Atomic<Bool>(false)

  /// Creates a flag that is not cancelled.
  public init() {}

  /// Cancels the call: it throws `cancelled` at its next check, unless it has finished by then. All its work is undone.
  public func cancel() { flag.store(true, ordering: .relaxed) }

  /// Whether `cancel()` was called.
  public var isCancelled: Bool { flag.load(ordering: .relaxed) }
}
