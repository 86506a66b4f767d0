public import KVCloneModel

/// The resolution of a conflict.
public enum ConflictAnswer: Sendable, Hashable {
  /// Prefers a side. <doc:Merging#Conflicts-and-answers> has a table of its meaning for every kind.
  case side(MergeSide)
  /// Sets an attribute to a value, or to nil.
  case attribute(AttributeValue?)
  /// Sets a to-one relationship to a target, or to nil; for `inverseTaken`, the partner.
  case object(ObjectID?)
  /// Sets the order of a list: all members of the result.
  case order([ObjectID])
  /// Leaves the conflict open, which rejects the merge, regardless of weaker rules.
  case refuse

  /// Prefers ours.
  public static let ours = ConflictAnswer.side(.ours)
  /// Prefers theirs.
  public static let theirs = ConflictAnswer.side(.theirs)

  /// The same answer in the opposite direction.
  var exchanged: ConflictAnswer {
    if case .side(let side) = self { .side(side.other) } else { self }
  }
}

/// An answer with the conflict that it was given for. It fits as long as base, ours and theirs are unchanged (M12).
public struct AnsweredConflict: Sendable, Hashable, Codable {
  /// The conflict.
  public let conflict: ObjectConflict
  /// The answer.
  public let answer: ConflictAnswer

  /// Creates an answer for a conflict of a plan.
  public init(_ conflict: ObjectConflict, _ answer: ConflictAnswer) {
    self.conflict = conflict
    self.answer = answer
  }
}
