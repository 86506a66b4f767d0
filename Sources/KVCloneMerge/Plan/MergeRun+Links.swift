import KVCloneCore
import KVCloneModel

/// The links of the result, merged at one end of each relationship (M2, M3).
extension MergeRun {
  func mergeLinks() throws {
    try forEachShared { id, entity in
      try step()
      for relationship in entity.relationships where ends.isCompared(relationship) {
        if relationship.isToMany {
          try mergeMembers(id, entity, relationship)
        } else {
          try mergeTarget(id, entity, relationship)
        }
      }
    }
    try forEachKept { id, entity in
      for relationship in entity.relationships where ends.isCompared(relationship) {
        try linkSources(of: id, relationship)
      }
    }
    try forEachInserted { id, entity in
      try step()
      for relationship in entity.relationships where ends.isCompared(relationship) {
        for member in try theirs.now.members(of: id, relationship) { try link(id, relationship, to: member) }
      }
      if restored.contains(id) { try restoreLinks(to: id, entity) }
    }
  }

  private func mergeTarget(_ id: ObjectID, _ entity: CompiledEntity, _ relationship: CompiledRelationship) throws {
    let theirsBase = try theirs.baseMembers(of: id, relationship).first
    let others = try theirs.now.target(of: id, relationship)
    // Ours linked the object to a clone: the source of that clone.
    let source = try ours.gainedHiddenMembers(of: id, relationship).first
    if others == theirsBase && source == nil { return }
    if try others == nil && !theirs.now.hiddenMembers(of: id, relationship).isEmpty { return }
    let mine = try source ?? ours.now.target(of: id, relationship)
    let base = try ours.baseMembers(of: id, relationship).first
    // The link went with its target, which the result keeps.
    if others == nil, mine == base, let theirsBase, try isKept(theirsBase, deletedBy: .theirs) { return }
    if try others == nil && mine == base && isLostWithoutAction(theirsBase, relationship) { return }
    let rule = book.rule(of: relationship.name, entity)
    switch ValueMerge(changed: (mine != base, others != theirsBase), areSame: mine == others, rule: rule) {
    case .ours:
      // A change of theirs, which the rule never takes.
      if rule == .skip && source == others && others != theirsBase { return }
      if let source { try wish(id, relationship, source) }
    case .theirs: try wish(id, relationship, others)
    case .conflict: try resolve(id, entity, relationship, base: base, mine, others)
    }
  }

  private func resolve(
    _ id: ObjectID, _ entity: CompiledEntity, _ relationship: CompiledRelationship, base: ObjectID?, _ mine: ObjectID?,
    _ others: ObjectID?
  ) throws {
    var fingerprint = ConflictFingerprint()
    for id in [base, mine, others] { fingerprint.add(id) }
    let conflict = try conflict(
      .bothChanged, id, entity, property: relationship.name, base: .object(base), ours: .object(mine),
      theirs: .object(others), fingerprint: fingerprint)
    switch try resolver.answer(conflict, side: book.side(of: relationship.name, entity)) {
    case .side(.ours): try wish(id, relationship, mine)
    case .side(.theirs): try wish(id, relationship, others)
    case .object(let target):
      if let target {
        guard let other = try self.entity(target), other.isKind(of: relationship.destinationCode) else {
          throw conflict.invalidAnswer(
            "the target does not exist in the result, or is of another entity; choose another object, nil or a side")
        }
      }
      try wish(id, relationship, target, isChosen: true)
    default: try undecidedPlaces.insert(PropertyPlace(owner: id, code: relationship.code))
    }
  }

  private func mergeMembers(_ id: ObjectID, _ entity: CompiledEntity, _ relationship: CompiledRelationship) throws {
    if book.rule(of: relationship.name, entity) == .skip { return }
    let changes = try theirs.memberChanges(of: id, relationship)
    for member in changes.added { try addLink(id, relationship, member) }
    let hidden = MemberSet(changes.removed.isEmpty ? [] : try theirs.gainedHiddenMembers(of: id, relationship))
    for member in changes.removed where !hidden.contains(member) {
      // The link went with its target, which the result keeps, or goes with it.
      if try isKept(member, deletedBy: .theirs) || isLostWithoutAction(member, relationship) { continue }
      try removeLink(id, relationship, member)
    }
    try linkSources(of: id, relationship)
  }

  /// Whether a link goes with a member that theirs deleted and that has the delete rule No Action: the deletion removes
  /// the link, and the commit does not validate the object that loses it.
  private func isLostWithoutAction(_ member: ObjectID?, _ relationship: CompiledRelationship) throws -> Bool {
    guard let member, relationship.hasInverse, deleted.contains(member), try theirs.hasDeleted(member),
      let inverse = try anyEntity(member)?.inverse(of: relationship)
    else { return false }
    return inverse.description.deleteRule == .noAction
  }

  /// Links an object to the sources of the clones that ours linked it to (P3).
  private func linkSources(of id: ObjectID, _ relationship: CompiledRelationship) throws {
    for source in try ours.gainedHiddenMembers(of: id, relationship) { try link(id, relationship, to: source) }
  }

  /// Whether the result has an object that a side deleted.
  private func isKept(_ id: ObjectID, deletedBy side: MergeSide) throws -> Bool {
    try !deleted.contains(id) && states(side).hasDeleted(id)
  }

  /// Adds a link of an object that ours does not have.
  private func link(_ id: ObjectID, _ relationship: CompiledRelationship, to member: ObjectID) throws {
    if relationship.isToMany { try addLink(id, relationship, member) } else { try wish(id, relationship, member) }
  }

  private func wish(
    _ id: ObjectID, _ relationship: CompiledRelationship, _ target: ObjectID?, isChosen: Bool = false
  ) throws {
    if relationship.hasInverse, !relationship.inverseIsToMany {
      try partnerWishes.set(
        PropertyPlace(owner: id, code: relationship.code), to: PartnerWish(target: target, isChosen: isChosen))
    } else {
      try setTarget(id, relationship, target)
    }
  }

  // MARK: Objects that come back

  /// Restores the links that ours lost with an object that comes back, where they are compared at the other end.
  private func restoreLinks(to id: ObjectID, _ entity: CompiledEntity) throws {
    for relationship in entity.relationships where !ends.isCompared(relationship) {
      for owner in try theirs.now.members(of: id, relationship) {
        guard let other = try self.entity(owner), let inverse = other.inverse(of: relationship) else { continue }
        try restoreLink(owner, inverse, to: id)
      }
    }
    for code in entity.referrerCodes {
      for owner in try theirs.now.referrers(of: id, code) {
        guard let relationship = try self.entity(owner)?.relationship(referrerCode: code) else { continue }
        try restoreLink(owner, relationship, to: id)
      }
    }
  }

  private func restoreLink(_ owner: ObjectID, _ relationship: CompiledRelationship, to id: ObjectID) throws {
    // The links of inserted objects are all those of theirs, and a link that theirs gained is merged already.
    guard !inserted.contains(owner), try ours.baseMembers(of: owner, relationship).contains(id) else { return }
    if relationship.isToMany { return try addLink(owner, relationship, id) }
    let isFree = try ours.now.target(of: owner, relationship) == nil && target(owner, relationship) == nil
    if isFree, !partnerWishes.contains(PropertyPlace(owner: owner, code: relationship.code)) {
      try wish(owner, relationship, id)
    }
  }
}
