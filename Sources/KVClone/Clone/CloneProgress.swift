/// How far a clone has come.
public struct CloneProgress: Sendable, Hashable {
  /// What a clone does, one after the other. A plan that is overtaken by somebody else's commit is made again.
  public enum Phase: String, Sendable {
    /// Finding what belongs to the clone.
    case mark
    /// Checking every object against the rules.
    case check
    /// Waiting for the write lock.
    case wait
    /// Writing clones.
    case copy
    /// Telling outside objects and shared values of the clones.
    case publish
    /// Making all of it durable.
    case commit
  }

  /// What is being done.
  public let phase: Phase
  /// Objects that are done in this phase, of all copies.
  public let completed: Int
  /// Objects in all; nil while that is not known, as in `mark`.
  public let total: Int?
}
