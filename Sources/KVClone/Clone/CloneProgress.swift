/// How far a clone has come.
public struct CloneProgress: Sendable, Hashable {
  /// What a clone does, one after the other. A plan that is overtaken by somebody else's commit is made again.
  public struct Phase: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    /// The stable text of the phase, as in JSON.
    public let rawValue: String

    /// Creates a phase from its text. Later versions may add phases, so a `switch` needs a `default`.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// The stable text of the phase.
    public var description: String { rawValue }

    /// Finding what belongs to the clone.
    public static let mark = Phase(rawValue: "mark")
    /// Checking every object against the rules.
    public static let check = Phase(rawValue: "check")
    /// Waiting for the write lock.
    public static let wait = Phase(rawValue: "wait")
    /// Writing clones.
    public static let copy = Phase(rawValue: "copy")
    /// Telling outside objects and shared values of the clones.
    public static let publish = Phase(rawValue: "publish")
    /// Making all of it durable.
    public static let commit = Phase(rawValue: "commit")
  }

  /// What is being done.
  public let phase: Phase
  /// Objects that are done in this phase, of all copies.
  public let completed: Int
  /// Objects in all; nil while that is not known, as in `mark`.
  public let total: Int?
}
