import KVCloneCore
import KVCloneModel

/// The objects of the result: insertions and deletions (M4).
extension MergeRun {
  /// Sorts the objects that theirs changed by the states that have them.
  func classify() throws {
    try theirs.changed.forEach { (id) throws -> Bool in
      try step()
      let mine = try ours.now.entity(of: id)
      if try theirs.now.entity(of: id) != nil {
        if mine != nil {
          _ = shared.insert(id)
        } else if try ours.hasDeleted(id) {
          deleted[id] = .ours
        } else {
          _ = inserted.insert(id)
        }
      } else if mine != nil, try theirs.base.entity(of: id) != nil {
        deleted[id] = .theirs
      }
      return true
    }
  }

  /// Decides about objects that one side deleted and the other changed, then brings back what kept objects need.
  func decideDeletions() throws {
    let kept = ScratchArray<UInt64>(in: space)
    try deleted.all.forEach { (id) throws -> Bool in
      guard let side = deleted[id], let conflict = try deletionConflict(id, side),
        let entity = try states(side.other).now.entity(of: id)
      else { return true }
      switch try resolver.answer(conflict, side: book.side(of: entity)) {
      case .side(side): break
      case .side:
        keep(id, deletedBy: side)
        try kept.append(id.rawValue)
      default:
        _ = undecided.insert(id)
        // Ours remains, present or absent.
        deleted[id] = nil
      }
      return true
    }
    while !kept.isEmpty {
      let id = ObjectID(rawValue: kept[kept.count - 1])
      kept.removeLast(1)
      guard let entity = try entity(id) else { continue }
      let side: MergeSide = restored.contains(id) ? .ours : .theirs
      for needed in try objectsNeeded(by: id, entity, deletedBy: side) {
        guard try states(side.other).now.entity(of: needed) != nil else { continue }
        keep(needed, deletedBy: side)
        try kept.append(needed.rawValue)
      }
    }
  }

  private func keep(_ id: ObjectID, deletedBy side: MergeSide) {
    deleted[id] = nil
    _ = undecided.remove(id)
    if side == .theirs {
      _ = kept.insert(id)
    } else {
      _ = inserted.insert(id)
      _ = restored.insert(id)
    }
  }

  /// Returns the objects that a kept one needs by mandatory relationships, if the same side deleted them.
  private func objectsNeeded(by id: ObjectID, _ entity: CompiledEntity, deletedBy side: MergeSide) throws -> [ObjectID]
  {
    var needed: [ObjectID] = []
    for relationship in entity.relationships where !relationship.description.isOptional {
      var missing: [ObjectID] = []
      var count = 0
      for member in try states(side.other).now.members(of: id, relationship) {
        let isMissing =
          side == .ours ? !restored.contains(member) : deleted.contains(member) || undecided.contains(member)
        if try isMissing && states(side).hasDeleted(member) {
          missing.append(member)
        } else {
          count += 1
        }
      }
      if count < (relationship.isToMany ? relationship.description.minCount : 1) { needed += missing }
    }
    return needed
  }

  /// Returns the conflict of an object that `side` deleted and the other side changed; nil if it did not change it.
  private func deletionConflict(_ id: ObjectID, _ side: MergeSide) throws -> ObjectConflict? {
    guard let change = try change(of: id, by: side.other) else { return nil }
    guard let entity = try states(side.other).now.entity(of: id) else { return nil }
    return try conflict(
      side == .ours ? .deletedOurs : .deletedTheirs, id, entity, side: side, fingerprint: change)
  }

  /// Returns a hash of what a side changed in an object, as far as it prevents a deletion: stored attributes, and links
  /// that the object gained, from whichever end; nil if the side changed nothing of that.
  func change(of id: ObjectID, by side: MergeSide) throws -> ConflictFingerprint? {
    let states = states(side)
    guard states.changed.contains(id), let entity = try states.now.entity(of: id),
      try states.base.entity(of: id) != nil
    else { return nil }
    var fingerprint = ConflictFingerprint()
    var isChanged = false
    let (old, new) = (try states.base.values(of: id, entity), try states.now.values(of: id, entity))
    for (index, attribute) in entity.attributes.enumerated() where attribute.isMerged {
      if try areSame(old[index], in: states.base, new[index], in: states.now) { continue }
      if side == .theirs, book.rule(of: attribute.path, entity) == .skip { continue }
      isChanged = true
      fingerprint.add(attribute.path)
      try fingerprint.add(new[index], in: states.now)
    }
    for relationship in entity.relationships {
      var gained = try states.memberChanges(of: id, relationship).added
      gained += try states.gainedHiddenMembers(of: id, relationship)
      if side == .theirs { gained = try gained.filter { try !isSkipped(id, entity, relationship, $0) } }
      if gained.isEmpty { continue }
      isChanged = true
      fingerprint.add(relationship.name)
      fingerprint.add(gained.sorted())
    }
    for code in entity.referrerCodes {
      let known = Set(try states.base.referrers(of: id, code))
      var gained = try states.now.referrers(of: id, code).filter { !known.contains($0) }
      gained += try states.gainedHiddenReferrers(of: id, code)
      if side == .theirs { gained = try gained.filter { try !isSkippedReference($0, code) } }
      if gained.isEmpty { continue }
      isChanged = true
      fingerprint.add(UInt64(code))
      fingerprint.add(gained.sorted())
    }
    return isChanged ? fingerprint : nil
  }

  /// Whether the rule of a link's compared end never takes a change of theirs. Objects that theirs inserted keep their
  /// links.
  func isSkipped(
    _ id: ObjectID, _ entity: CompiledEntity, _ relationship: CompiledRelationship, _ member: ObjectID
  ) throws -> Bool {
    // Of a relationship that is its own inverse, both ends are compared.
    let isOwnInverse = relationship.hasInverse && relationship.inverseCode == relationship.code
    if try theirs.hasInserted(ends.isCompared(relationship) ? id : member) { return false }
    if try isOwnInverse && theirs.hasInserted(member) { return false }
    if ends.isCompared(relationship) { return book.rule(of: relationship.name, entity) == .skip }
    guard let other = try anyEntity(member), let inverse = other.inverse(of: relationship) else { return false }
    return book.rule(of: inverse.name, other) == .skip
  }

  private func isSkippedReference(_ referrer: ObjectID, _ code: UInt16) throws -> Bool {
    guard try !theirs.hasInserted(referrer), let entity = try anyEntity(referrer),
      let relationship = entity.relationship(referrerCode: code)
    else { return false }
    return book.rule(of: relationship.name, entity) == .skip
  }
}
