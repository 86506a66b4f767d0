import KVCloneCore
import KVCloneModel
import KVCloneRecords

/// A branch of which only chosen objects differ from its store: theirs in the publish of chosen objects (M13).
///
/// A chosen object has the attributes of the branch, any other object those of the store. A link is that of the branch
/// if one of its ends is chosen and both are shown. An object that is deleted on the branch and not chosen is shown
/// with the links of the store.
final class ChosenMergeState: MergeState {
  private let store: any MergeState
  private let branch: any MergeState
  private let before: any MergeState
  private let chosen: ObjectSet

  /// - Parameter before: the branch before its update, with its last changes.
  init(store: any MergeState, branch: any MergeState, before: any MergeState, chosen: ObjectSet) {
    self.store = store
    self.branch = branch
    self.before = before
    self.chosen = chosen
  }

  private func state(of id: ObjectID) -> any MergeState { chosen.contains(id) ? branch : store }

  func entity(of id: ObjectID) throws(StoreError) -> CompiledEntity? { try state(of: id).entity(of: id) }

  func values(of id: ObjectID, _ entity: CompiledEntity) throws(StoreError) -> [AttributeValue?] {
    try state(of: id).values(of: id, entity)
  }

  // MARK: Links

  func members(of id: ObjectID, _ relationship: CompiledRelationship) throws(StoreError) -> [ObjectID] {
    let old = try store.membersIfPresent(of: id, relationship)
    let new = try branch.membersIfPresent(of: id, relationship)
    let isChosen = chosen.contains(id)
    // Most lists are far from every chosen object.
    if !isChosen, !new.contains(where: chosen.contains), !old.contains(where: chosen.contains) { return old }
    if !relationship.isToMany { return try target(of: id, relationship, old.first, new.first).map { [$0] } ?? [] }
    let links = (old: Set(old), new: Set(new))
    func isLinked(_ member: ObjectID) throws(StoreError) -> Bool {
      if !isChosen, !chosen.contains(member) { return links.old.contains(member) }
      if try !isShown(member) { return false }
      if links.new.contains(member) { return true }
      guard links.old.contains(member) else { return false }
      return try isKept(id, member)
    }
    let members = try isChosen ? Self.list(new, old, isLinked) : Self.list(old, new, isLinked)
    return relationship.isOrdered ? members : members.sorted()
  }

  private func target(
    of id: ObjectID, _ relationship: CompiledRelationship, _ old: ObjectID?, _ new: ObjectID?
  ) throws(StoreError) -> ObjectID? {
    if let new, try isShown(new) {
      if chosen.contains(id) || chosen.contains(new) || !relationship.isOneToOne { return new }
      // Only the former partner is chosen, and loses the link. The new partner keeps the one that it has in the store.
      return nil
    }
    guard let old, try isShown(old) else { return nil }
    // Another target that is not shown is not published, and nor is the loss of the former one.
    if new != nil { return old }
    return try isKept(id, old) ? old : nil
  }

  private func isShown(_ id: ObjectID) throws(StoreError) -> Bool { try entity(of: id) != nil }

  /// Whether the branch lost a link only because one of its ends is deleted there and not chosen.
  private func isKept(_ one: ObjectID, _ other: ObjectID) throws(StoreError) -> Bool {
    for id in [one, other] where !chosen.contains(id) {
      if try branch.entity(of: id) == nil { return true }
    }
    return false
  }

  /// Returns the linked members of one list, then those of a second one, behind the members that precede them there.
  private static func list(
    _ first: [ObjectID], _ second: [ObjectID], _ isLinked: (ObjectID) throws(StoreError) -> Bool
  ) throws(StoreError) -> [ObjectID] {
    var members: [ObjectID] = []
    for member in first where try isLinked(member) { members.append(member) }
    var known = Set(members)
    for (index, member) in second.enumerated() {
      if known.contains(member) { continue }
      guard try isLinked(member) else { continue }
      let before = second[..<index].last(where: known.contains).flatMap(members.firstIndex)
      members.insert(member, at: before.map { $0 + 1 } ?? 0)
      known.insert(member)
    }
    return members
  }

  func referrers(of id: ObjectID, _ code: UInt16) throws(StoreError) -> [ObjectID] {
    var candidates: Set<ObjectID> = []
    for state in [store, branch] where try state.entity(of: id) != nil {
      candidates.formUnion(try state.referrers(of: id, code))
    }
    var referrers: [ObjectID] = []
    for candidate in candidates.sorted() {
      guard let relationship = try entity(of: candidate)?.relationship(referrerCode: code) else { continue }
      if try members(of: candidate, relationship).contains(id) { referrers.append(candidate) }
    }
    return referrers
  }

  // MARK: The rest

  func holders(of constraint: CompiledConstraint, _ key: UniqueKey) throws(StoreError) -> [ObjectID] {
    try store.holders(of: constraint, key).filter { !chosen.contains($0) }
      + branch.holders(of: constraint, key).filter { chosen.contains($0) }
  }

  func digest(of blob: BlobReference) throws(StoreError) -> UInt64 {
    do throws(StoreError) {
      return try branch.digest(of: blob)
    } catch {
      // A blob of an object that is not chosen.
      return try store.digest(of: blob)
    }
  }

  func lastChange(of id: ObjectID) throws(StoreError) -> ObjectChange? {
    try (chosen.contains(id) ? before : store).lastChange(of: id)
  }
}
