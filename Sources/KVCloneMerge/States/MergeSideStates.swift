import KVCloneCore
package import KVCloneModel
package import KVCloneRecords

/// One side of a merge: its state at the fork, its present state, and the objects that may differ between the two.
///
/// Both sides of a branch share the base. A draft's base is the clones as they were made, and that of its sources is
/// the sources at that time (P2).
package struct MergeSideStates {
  package let base: any MergeState
  package let now: any MergeState
  /// Every object that was inserted, deleted or changed since the base, and possibly others. A changed link counts for
  /// both ends.
  package let changed: ObjectSet

  package init(base: any MergeState, now: any MergeState, changed: ObjectSet) {
    self.base = base
    self.now = now
    self.changed = changed
  }

  /// Returns a state that shows an object at the fork: unchanged objects are read from the present state, which costs
  /// no search for preimages.
  func base(of id: ObjectID) -> any MergeState { changed.contains(id) ? base : now }

  /// Returns the members of a relationship at the fork; empty if the object did not exist.
  func baseMembers(of id: ObjectID, _ relationship: CompiledRelationship) throws(StoreError) -> [ObjectID] {
    try base(of: id).membersIfPresent(of: id, relationship)
  }

  /// Returns the changes of a relationship since the fork, for an object that exists now.
  func memberChanges(of id: ObjectID, _ relationship: CompiledRelationship) throws(StoreError) -> MemberChanges {
    guard changed.contains(id) else { return MemberChanges() }
    return MemberChanges(
      from: try base.membersIfPresent(of: id, relationship), to: try now.membersIfPresent(of: id, relationship))
  }

  /// Returns the hidden members that a relationship gained since the fork.
  func gainedHiddenMembers(of id: ObjectID, _ relationship: CompiledRelationship) throws(StoreError) -> [ObjectID] {
    guard changed.contains(id) else { return [] }
    let members = try now.hiddenMembers(of: id, relationship)
    if members.isEmpty { return [] }
    let known = MemberSet(try base.hiddenMembers(of: id, relationship))
    return members.filter { !known.contains($0) }
  }

  /// Returns the hidden objects that began to refer to an object since the fork.
  func gainedHiddenReferrers(of id: ObjectID, _ code: UInt16) throws(StoreError) -> [ObjectID] {
    let referrers = try now.hiddenReferrers(of: id, code)
    if referrers.isEmpty { return [] }
    let known = MemberSet(try base.hiddenReferrers(of: id, code))
    return referrers.filter { !known.contains($0) }
  }

  /// Whether the side deleted an object of its base.
  func hasDeleted(_ id: ObjectID) throws(StoreError) -> Bool {
    guard changed.contains(id), try now.entity(of: id) == nil else { return false }
    return try base.entity(of: id) != nil
  }

  /// Whether the side inserted an object.
  func hasInserted(_ id: ObjectID) throws(StoreError) -> Bool {
    guard changed.contains(id), try now.entity(of: id) != nil else { return false }
    return try base.entity(of: id) == nil
  }
}

/// The changes of a relationship of one object.
package struct MemberChanges {
  package var added: [ObjectID] = []
  package var removed: [ObjectID] = []
  /// Whether the order of the remaining members differs.
  package var isReordered = false

  package var isEmpty: Bool { added.isEmpty && removed.isEmpty && !isReordered }

  package init() {}

  /// Compares two lists.
  package init(from old: [ObjectID], to new: [ObjectID]) {
    if old == new { return }
    let (known, present) = (MemberSet(old), MemberSet(new))
    added = new.filter { !known.contains($0) }
    removed = old.filter { !present.contains($0) }
    isReordered = !old.lazy.filter(present.contains).elementsEqual(new.lazy.filter(known.contains))
  }
}
