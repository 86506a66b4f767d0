package import KVCloneCore
package import KVCloneModel
import KVCloneRecords

/// The clones of one call under the ids of their sources: theirs in the merge of a draft (P2, P3).
///
/// A link to a clone leads to its source, and one between a clone and a source is one between sources. Otherwise, the
/// sources are hidden. Other objects are shown unchanged, so that an object made below the clones is part of the
/// source's graph (P4).
package final class ClonesMergeState: MergeState {
  private let state: any MergeState
  private let base: (any MergeState)?
  private let clones: ObjectMap
  private let sources: ObjectMap

  /// - Parameters:
  ///   - base: the state that shows the attributes of objects outside the draft: their changes are those of ours, and
  ///     `sum` would count them twice. Nil for the base itself.
  ///   - sources: the source of each clone of the copy.
  ///   - clones: the clone of each source. Both are shared with other states.
  package init(
    _ state: any MergeState, base: (any MergeState)? = nil, sources: ObjectMap, clones: ObjectMap
  ) {
    self.state = state
    self.base = base
    self.sources = sources
    self.clones = clones
  }

  /// Returns the object that is shown under an id; nil for a clone, which is shown under the id of its source.
  private func shown(_ id: ObjectID) -> ObjectID? { clones[id] ?? (sources[id] == nil ? id : nil) }

  /// Returns the shown ids of members, without sources: those are not part of the draft.
  private func mapped(_ members: [ObjectID]) -> [ObjectID] {
    members.compactMap { member in sources[member] ?? (clones[member] == nil ? member : nil) }
  }

  package func entity(of id: ObjectID) throws(StoreError) -> CompiledEntity? {
    guard let id = shown(id) else { return nil }
    return try state.entity(of: id)
  }

  package func values(of id: ObjectID, _ entity: CompiledEntity) throws(StoreError) -> [AttributeValue?] {
    if clones[id] == nil, let base, try base.entity(of: id) != nil { return try base.values(of: id, entity) }
    return try state.values(of: shown(id) ?? id, entity)
  }

  package func members(of id: ObjectID, _ relationship: CompiledRelationship) throws(StoreError) -> [ObjectID] {
    let members: [ObjectID]
    if let clone = clones[id] {
      members = try linked(id, clone, relationship)
    } else {
      members = mapped(try state.members(of: shown(id) ?? id, relationship))
    }
    return relationship.isOrdered ? members : members.sorted()
  }

  /// Returns the members of a clone, and the clones that its source is linked to, without repeats.
  private func linked(_ source: ObjectID, _ clone: ObjectID, _ relationship: CompiledRelationship) throws(StoreError)
    -> [ObjectID]
  {
    var members = try state.members(of: clone, relationship).map { sources[$0] ?? $0 }
    if !relationship.isToMany && !members.isEmpty { return members }
    members += try state.membersIfPresent(of: source, relationship).compactMap { sources[$0] }
    var known: Set<ObjectID> = []
    return members.filter { known.insert($0).inserted }
  }

  package func hiddenMembers(of id: ObjectID, _ relationship: CompiledRelationship) throws(StoreError) -> [ObjectID] {
    if clones[id] != nil { return [] }
    return try state.membersIfPresent(of: id, relationship).filter { clones[$0] != nil }
  }

  package func referrers(of id: ObjectID, _ code: UInt16) throws(StoreError) -> [ObjectID] {
    mapped(try state.referrers(of: shown(id) ?? id, code)).sorted()
  }

  package func hiddenReferrers(of id: ObjectID, _ code: UInt16) throws(StoreError) -> [ObjectID] {
    try state.referrers(of: shown(id) ?? id, code).filter { clones[$0] != nil }
  }

  package func holders(of constraint: CompiledConstraint, _ key: UniqueKey) throws(StoreError) -> [ObjectID] {
    mapped(try state.holders(of: constraint, key))
  }

  package func digest(of blob: BlobReference) throws(StoreError) -> UInt64 {
    do throws(StoreError) {
      return try state.digest(of: blob)
    } catch {
      // A blob of the base may be deleted since.
      guard let base else { throw error }
      return try base.digest(of: blob)
    }
  }

  package func lastChange(of id: ObjectID) throws(StoreError) -> ObjectChange? {
    guard let id = shown(id) else { return nil }
    return try state.lastChange(of: id)
  }
}

extension CompiledRelationship {
  var isOneToOne: Bool { hasInverse && !isToMany && !inverseIsToMany }
}

/// A state without the clones of one call: ours in the merge of a draft.
package final class SourcesMergeState: MergeState {
  private let state: any MergeState
  private let sources: ObjectMap
  private let clones: ObjectMap

  /// - Parameters:
  ///   - sources: the source of each clone of the copy.
  ///   - clones: the clone of each source.
  package init(_ state: any MergeState, sources: ObjectMap, clones: ObjectMap) {
    self.state = state
    self.sources = sources
    self.clones = clones
  }

  package func entity(of id: ObjectID) throws(StoreError) -> CompiledEntity? {
    sources[id] == nil ? try state.entity(of: id) : nil
  }

  package func values(of id: ObjectID, _ entity: CompiledEntity) throws(StoreError) -> [AttributeValue?] {
    try state.values(of: id, entity)
  }

  package func members(of id: ObjectID, _ relationship: CompiledRelationship) throws(StoreError) -> [ObjectID] {
    try state.members(of: id, relationship).filter { sources[$0] == nil }
  }

  package func hiddenMembers(of id: ObjectID, _ relationship: CompiledRelationship) throws(StoreError) -> [ObjectID] {
    let members = try state.membersIfPresent(of: id, relationship)
    // A one-to-one link of the clone to a source took the place of the link of its own source.
    guard members.isEmpty, relationship.isOneToOne, let clone = clones[id] else {
      return members.compactMap { sources[$0] }
    }
    return try state.membersIfPresent(of: clone, relationship).filter { clones[$0] != nil }
  }

  /// Returns the number of members with clones.
  package func storedMemberCount(of id: ObjectID, _ relationship: CompiledRelationship) throws(StoreError) -> Int {
    try state.storedMemberCount(of: id, relationship)
  }

  package func hiddenReferrers(of id: ObjectID, _ code: UInt16) throws(StoreError) -> [ObjectID] {
    try state.referrers(of: id, code).compactMap { sources[$0] }
  }

  package func hasMember(_ member: ObjectID, _ id: ObjectID, _ relationship: CompiledRelationship) throws(StoreError)
    -> Bool
  {
    if sources[member] != nil { return false }
    return try state.hasMember(member, id, relationship)
  }

  package func referrers(of id: ObjectID, _ code: UInt16) throws(StoreError) -> [ObjectID] {
    try state.referrers(of: id, code).filter { sources[$0] == nil }
  }

  package func holders(of constraint: CompiledConstraint, _ key: UniqueKey) throws(StoreError) -> [ObjectID] {
    try state.holders(of: constraint, key).filter { sources[$0] == nil }
  }

  package func digest(of blob: BlobReference) throws(StoreError) -> UInt64 { try state.digest(of: blob) }

  package func lastChange(of id: ObjectID) throws(StoreError) -> ObjectChange? { try state.lastChange(of: id) }
}
