import KVCloneCore
import KVCloneModel

/// Creating conflicts.
extension MergeRun {
  func conflict(
    _ kind: ObjectConflict.Kind, _ id: ObjectID, _ entity: CompiledEntity, property: String? = nil,
    other: ObjectID? = nil, side: MergeSide? = nil, base: ObjectConflict.Value? = nil,
    ours mine: ObjectConflict.Value? = nil, theirs others: ObjectConflict.Value? = nil,
    fingerprint: ConflictFingerprint
  ) throws -> ObjectConflict {
    ObjectConflict(
      kind: kind, id: id, entity: entity.name, property: property, other: other, side: side, base: base, ours: mine,
      theirs: others, oursChange: try ours.now.lastChange(of: id),
      theirsChange: try theirs.now.lastChange(of: kind == .notUnique ? other ?? id : id),
      fingerprint: fingerprint.value)
  }

  /// Whether a store would keep the same for two values (M14). Blobs are compared without their bytes: by serial, then
  /// by length and digest (M5).
  func areSame(
    _ one: AttributeValue?, in state: any MergeState, _ other: AttributeValue?, in otherState: any MergeState
  ) throws -> Bool {
    guard case .blob(let first)? = one, case .blob(let second)? = other else { return one == other }
    if first.id == second.id { return true }
    guard first.byteCount == second.byteCount, first.isTransformable == second.isTransformable else { return false }
    return try state.digest(of: first) == otherState.digest(of: second)
  }
}

extension CompiledAttribute {
  /// Whether a merge compares the attribute: derived ones are computed afresh, transient ones are not stored (M5).
  var isMerged: Bool { field != nil && !isDerived }
}
