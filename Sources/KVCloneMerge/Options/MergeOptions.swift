public import KVCloneModel

/// The treatment of conflicts in a merge.
///
/// Without options, a conflict refuses the merge. The strongest rule wins: an answer, the closure ``resolve``, a rule
/// of the call, the model's `userInfo`.
public struct MergeOptions: Sendable {
  /// The side that wins every conflict without another rule; nil refuses the merge.
  public var policy: MergeSide?
  /// Rules by entity (`Note`: ours or theirs), or by property (`Note.title`, `Note.place.x`).
  ///
  /// A rule of a property is stronger than one of an entity. Among rules of the same kind, that of the entity itself is
  /// stronger than those of its super-entities, and that of an element stronger than that of its composite.
  public var rules: [String: MergeRule]
  /// The keys of `userInfo`; ``CloneUserInfoKeys/merge`` names the rule of a property.
  public var userInfoKeys: CloneUserInfoKeys
  /// Answers that were given for conflicts of an earlier plan. A merge refuses those that no longer fit (M12).
  public var answers: [AnsweredConflict]
  /// Answers a conflict while the merge is planned, without the write lock; nil leaves it to weaker rules.
  public var resolve: (@Sendable (ObjectConflict) throws -> ConflictAnswer?)?

  /// Creates options.
  public init(
    policy: MergeSide? = nil, rules: [String: MergeRule] = [:], userInfoKeys: CloneUserInfoKeys = .standard,
    answers: [AnsweredConflict] = [], resolve: (@Sendable (ObjectConflict) throws -> ConflictAnswer?)? = nil
  ) {
    self.policy = policy
    self.rules = rules
    self.userInfoKeys = userInfoKeys
    self.answers = answers
    self.resolve = resolve
  }
}
