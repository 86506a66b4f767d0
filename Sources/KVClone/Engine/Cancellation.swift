import Synchronization

/// Ends a long call from another thread: a backup or restoration, an export, an import, a migration, a salvage, a walk for statistics.
/// Where the call is asynchronous, cancelling its task does so, too.
public final class Cancellation: Sendable {
  private let flag = Atomic<Bool>(false)

  /// Nothing is cancelled yet.
  public init() {}

  /// Has the call throw `cancelled` soon, if it has not finished by then, with nothing of it done and nothing left of it.
  public func cancel() { flag.store(true, ordering: .relaxed) }

  /// Whether `cancel` was called.
  public var isCancelled: Bool { flag.load(ordering: .relaxed) }
}
