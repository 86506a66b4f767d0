import Synchronization

/// Ends a walk for statistics from another thread. The asynchronous call is ended by its task, too.
public final class StatisticsCancellation: Sendable {
  private let flag = Atomic<Bool>(false)

  /// Nothing is cancelled yet.
  public init() {}

  /// Has the call throw `cancelled` soon, if it has not finished by then.
  public func cancel() { flag.store(true, ordering: .relaxed) }

  /// Whether `cancel` was called.
  public var isCancelled: Bool { flag.load(ordering: .relaxed) }
}
