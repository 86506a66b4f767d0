/// The progress of a clone.
public struct CloneProgress: Sendable, Hashable {
  /// A phase of a clone, in the order of their declaration. If another transaction commits after the plan, the plan is
  /// created again.
  public struct Phase: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    /// The stable text of the phase, as in JSON.
    public let rawValue: String

    /// Creates a phase from its text. Later versions may add phases, so a `switch` needs a `default`.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// The stable text of the phase.
    public var description: String { rawValue }

    /// Traversing the graph to find the objects to clone.
    public static let mark = Phase(rawValue: "mark")
    /// Checking every object against the rules.
    public static let check = Phase(rawValue: "check")
    /// Waiting for the write lock.
    public static let wait = Phase(rawValue: "wait")
    /// Writing the clones.
    public static let copy = Phase(rawValue: "copy")
    /// Updating outside objects that gain clones, and the reference counts of shared blobs.
    public static let publish = Phase(rawValue: "publish")
    /// Committing durably.
    public static let commit = Phase(rawValue: "commit")
  }

  /// The current phase.
  public let phase: Phase
  /// The number of objects completed in this phase, over all copies.
  public let completed: Int
  /// The total number of objects; nil if it is unknown, as in `mark`.
  public let total: Int?
}
