public import KVCloneCore

/// The error of a merge that was rejected. Nothing was changed.
public struct MergeError: KVCloneError {
  /// The kinds of merge errors.
  ///
  /// Later versions may add kinds. A `switch` over kinds therefore needs a `default` case.
  public struct Kind: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    /// The stable text of the kind, as in JSON.
    public let rawValue: String

    /// Creates a kind from its stable text.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// The stable text of the kind.
    public var description: String { rawValue }

    /// Conflicts have no answer.
    public static let conflicts = Kind(rawValue: "mergeConflicts")
    /// A merge rule of the call or of the model cannot be applied.
    public static let invalidRule = Kind(rawValue: "invalidMergeRule")
    /// An answer does not fit the kind of its conflict, or is not a valid value.
    public static let invalidAnswer = Kind(rawValue: "invalidAnswer")
    /// Answers were given for other values than those of now, or their conflicts are gone.
    public static let staleAnswers = Kind(rawValue: "staleAnswers")
    /// The result violates rules of the model.
    public static let brokenRules = Kind(rawValue: "brokenRules")
    /// The object is no clone with a base. A draft is merged with its sources, and nothing else.
    public static let notRelated = Kind(rawValue: "notRelated")
    /// The base of a draft is expired or deleted, or belongs to another branch.
    public static let baseExpired = Kind(rawValue: "baseExpired")
    /// The clone of a root was deleted, which discards the draft.
    public static let rootDeleted = Kind(rawValue: "rootDeleted")
    /// Drafts were made of the clones that the merge would delete, or the branch has open drafts.
    public static let draftInUse = Kind(rawValue: "draftInUse")
    /// The store was migrated, and the objects have other ids.
    public static let incompatibleModel = Kind(rawValue: "incompatibleModel")
    /// The merge exceeds ``MergeOptions/maxObjects`` or ``MergeOptions/maxBytes``.
    public static let limitExceeded = Kind(rawValue: "limitExceeded")
    /// The idempotency key belongs to a merge with other arguments.
    public static let idempotencyKeyReused = Kind(rawValue: "idempotencyKeyReused")
    /// The merge or its task was cancelled.
    public static let cancelled = Kind(rawValue: "cancelled")
  }

  /// The kind of the error.
  public let kind: Kind
  /// The failure and the remedy.
  public let message: String
  /// The affected entity.
  public let entity: String?
  /// The affected attribute, relationship or constraint.
  public let property: String?
  /// The affected object, such as `Item/3`.
  public let object: String?
  /// The conflicts without an answer, or those with answers that no longer fit.
  public let conflicts: ConflictList<ObjectConflict>
  /// The violated rules of the model.
  public let issues: [PlanIssue]

  /// The stable text of the kind.
  public var kindName: String { kind.rawValue }

  package init(
    _ kind: Kind, _ message: String, entity: String? = nil, property: String? = nil, object: String? = nil,
    conflicts: ConflictList<ObjectConflict> = [], issues: [PlanIssue] = []
  ) {
    self.kind = kind
    self.message = message
    self.entity = entity
    self.property = property
    self.object = object
    self.conflicts = conflicts
    self.issues = issues
  }

  /// The error of answers that no longer fit.
  package init(staleAnswersOf conflicts: ConflictList<ObjectConflict>) {
    let first = conflicts.first
    let place = first.map { first in first.property.map { "\(first.object).\($0)" } ?? first.object } ?? "a conflict"
    let rest = conflicts.count > 1 ? " (and \(conflicts.count - 1) more)" : ""
    self.init(
      .staleAnswers,
      "the answer for \(place)\(rest) no longer fits: the conflict is gone, or has other values; remove the answer, "
        + "and plan the merge again",
      entity: first?.entity, property: first?.property, object: first?.object, conflicts: conflicts)
  }

  /// An error about a list of conflicts, named after the first one.
  package init(_ kind: Kind, about conflicts: ConflictList<ObjectConflict>, _ remedy: String) {
    let first = conflicts.first
    let rest = conflicts.count > 1 ? " (and \(conflicts.count - 1) more)" : ""
    self.init(
      kind, "\(first?.summary ?? "an object")\(rest); \(remedy)", entity: first?.entity, property: first?.property,
      object: first?.object, conflicts: conflicts)
  }
}
