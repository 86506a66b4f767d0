#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif
public import KVCloneCore
public import KVCloneModel

/// The treatment of conflicts in a merge.
///
/// A conflict that no rule decides rejects the merge. The strongest rule wins: an answer, the closure ``resolve``, a
/// rule of the call, ``policy``, the model's `userInfo`.
public struct MergeOptions: Sendable {
  /// The side that wins every conflict without an answer or a rule of the call; nil leaves them to the rules of the
  /// model.
  ///
  /// It replaces all rules of the model: `sum`, `max` and `skip` of `userInfo` do not apply.
  public var policy: MergeSide?
  /// Rules by entity (`Note`: ours or theirs), or by property (`Note.title`, `Note.place.x`).
  ///
  /// They replace rules of the model, that of an entity for all of its properties.
  /// A rule of a property is stronger than one of an entity. Among rules of the same kind, that of the entity itself is
  /// stronger than those of its super-entities, and that of an element stronger than that of its composite.
  public var rules: [String: MergeRule]
  /// The keys of `userInfo`; ``CloneUserInfoKeys/merge`` names the rule of a property.
  public var userInfoKeys: CloneUserInfoKeys
  /// Answers for conflicts of an earlier plan with the same rules. A merge with answers that no longer fit is rejected
  /// (M12).
  public var answers: [AnsweredConflict]
  /// Answers a conflict while the merge is planned, without the write lock; nil leaves it to weaker rules.
  public var resolve: (@Sendable (ObjectConflict) throws -> ConflictAnswer?)?
  /// A key of 1 to 255 UTF-8 bytes that makes the call idempotent; nil for none (M11).
  ///
  /// A second call with the same key and arguments merges nothing and returns the result of the first call. The same
  /// key with other arguments is an error. ``resolve``, ``progress``, ``retainedSnapshots``, ``listedChanges`` and
  /// ``idempotencyExpiresAt`` are not part of the arguments. A store and its branches have the same keys.
  public var idempotencyKey: String?
  /// The time at which the store forgets the key. With nil, the key stays until it is purged.
  public var idempotencyExpiresAt: Date?
  /// The maximum number of objects that the merge inserts, updates and deletes; nil for no limit.
  public var maxObjects: Int?
  /// The maximum number of bytes to write, as a plan estimates them; nil for no limit.
  public var maxBytes: UInt64?
  /// Whether each side that the merge changes gets an automatic snapshot of its state before. A publish also changes
  /// the branch. The default is true.
  public var createsSnapshots = true
  /// The number of automatic snapshots of merges that the store and each branch keep. The default is 10; smaller
  /// numbers than 1 count as 1.
  ///
  /// ``StoreOptions/snapshotRetention`` does not count them.
  public var retainedSnapshots = 10
  /// Whether the clones of a draft stay, as ordinary objects without a base (P7). The default is false: they are
  /// deleted. Without effect for branches.
  public var keepsClones = false
  /// The maximum number of objects in ``MergePlan/changes``. The default is 1,000.
  public var listedChanges = 1_000
  /// Whether the sides of the call are those of the opposite direction: rules, answers and conflicts are exchanged. A
  /// publish of chosen objects updates the branch first, and remains a publish to its caller (M13).
  var exchangesSides = false
  /// Whether a plan runs the merge, and rolls it back, if it may not fit into the file or on the disk.
  package var testsRoom = true
  /// Called while a merge is planned, with the number of steps so far; throws if the merge was cancelled.
  var check: @Sendable (Int) throws -> Void = { _ in }
  /// Receives the progress on the merging thread; nil for none.
  public var progress: (@Sendable (OperationProgress) -> Void)?

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
