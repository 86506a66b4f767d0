import KVCloneModel

/// A conflict of a plan, with its answer.
public struct ResolvedConflict: Sendable, Hashable, Codable {
  /// The conflict.
  public let conflict: ObjectConflict
  /// The answer by the caller, the closure or a rule; nil if there is no answer, which rejects the merge.
  public let answer: ConflictAnswer?
}

extension ObjectConflict {
  func invalidAnswer(_ reason: String) -> MergeError {
    MergeError(
      .invalidAnswer, "the answer for \(property.map { "\(object).\($0)" } ?? object) cannot be used: \(reason)",
      entity: entity, property: property, object: object, conflicts: [self])
  }
}
