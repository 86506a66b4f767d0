import KVCloneCore
import KVCloneModel

/// The delete rules of deleted objects in the result (M4).
extension MergeRun {
  /// Finds the objects that delete rules delete, and asks about those that the side with the deletion had not
  /// deleted itself. The links of objects that stay are removed, so that the delete call reaches nothing else.
  func cascade() throws {
    let taken = ScratchArray<UInt64>(in: space)
    try deleted.all.forEach { (id) throws -> Bool in
      try takeAlong(with: id, taken)
      return true
    }
    var position = 0
    while position < taken.count {
      try takeAlong(with: ObjectID(rawValue: taken[position]), taken)
      position += 1
    }
    try refuseDenied()
  }

  private func takeAlong(with id: ObjectID, _ taken: ScratchArray<UInt64>) throws {
    guard let side = deleted[id], let entity = try anyEntity(id) else { return }
    for relationship in entity.relationships where relationship.description.deleteRule == .cascade {
      try takeAlong(id, relationship, side, taken)
    }
  }

  /// Adds the further objects that are deleted with the members of a relationship to a list.
  private func takeAlong(
    _ id: ObjectID, _ relationship: CompiledRelationship, _ side: MergeSide, _ taken: ScratchArray<UInt64>
  ) throws {
    for member in try reachedMembers(of: id, relationship) {
      guard let entity = try entity(member) else { continue }
      // An object that several deletions reach is one conflict.
      if try keptAlong.contains(member) || !isBound(member, id, relationship, side) {
        try removeLink(id, relationship, member)
        continue
      }
      let conflict = try conflict(
        .takenAlong, member, entity, other: id, side: side, fingerprint: fingerprint(ofTaken: member, side))
      let answer = try resolver.answer(conflict, side: book.side(of: entity))
      if answer == .side(side) {
        _ = inserted.remove(member)
        deleted[member] = side
        try taken.append(member.rawValue)
      } else {
        try removeLink(id, relationship, member)
        _ = keptAlong.insert(member)
        if answer == nil { _ = undecided.insert(member) }
      }
    }
  }

  /// Returns a hash of what is lost with an object that the deletion by `side` takes along.
  private func fingerprint(ofTaken id: ObjectID, _ side: MergeSide) throws -> ConflictFingerprint {
    var fingerprint = try change(of: id, by: side.other) ?? ConflictFingerprint()
    fingerprint.add(id)
    fingerprint.add(side.rawValue)
    for state in [states(side).now, states(side.other).now] {
      guard let entity = try state.entity(of: id) else { continue }
      for (attribute, value) in zip(entity.attributes, try state.values(of: id, entity)) where attribute.isMerged {
        try fingerprint.add(value, in: state)
      }
    }
    return fingerprint
  }

  /// Returns the members of a deleted object that its delete rules reach: those of the result, and those that theirs
  /// gave to an object that ours had deleted, so that both directions have the same conflicts (M17).
  private func reachedMembers(of id: ObjectID, _ relationship: CompiledRelationship) throws -> [ObjectID] {
    let present = try members(id, relationship)
    guard ends.isCompared(relationship), !restored.contains(id), try ours.hasDeleted(id),
      let entity = try anyEntity(id), book.rule(of: relationship.name, entity) != .skip
    else { return present }
    return try present
      + theirs.memberChanges(of: id, relationship).added.filter { member in
        if present.contains(member) { return false }
        guard relationship.hasInverse, !relationship.inverseIsToMany,
          let inverse = try self.entity(member)?.inverse(of: relationship)
        else { return true }
        // Of its own inverse, the member's value decides too.
        let wish = partnerWishes[PropertyPlace(owner: member, code: inverse.code)]
        if inverse.code == relationship.code, wish?.target != id { return false }
        // Another object of the result may be the only partner.
        return try target(member, inverse).flatMap { try self.entity($0) } == nil
      }
  }

  /// Whether a delete rule applies to a member of an object that `side` deleted: neither to one that this side deleted
  /// and the result keeps, nor to one that it had detached before. Nothing follows from open conflicts.
  private func isBound(
    _ member: ObjectID, _ id: ObjectID, _ relationship: CompiledRelationship, _ side: MergeSide
  ) throws -> Bool {
    let states = states(side)
    if try states.hasDeleted(member) || undecided.contains(member) { return false }
    let ends = [(id, relationship.code), (member, relationship.hasInverse ? relationship.inverseCode : nil)]
    for case (let owner, let code?) in ends where undecidedPlaces.contains(PropertyPlace(owner: owner, code: code)) {
      return false
    }
    guard try states.now.entity(of: member) != nil, try states.baseMembers(of: id, relationship).contains(member) else {
      return true
    }
    // Theirs had detached it, and a rule may ignore that.
    guard side == .theirs, let entity = try anyEntity(id) else { return false }
    return try isSkipped(id, entity, relationship, member)
  }

  /// Notes deletions that the rule deny still forbids.
  private func refuseDenied() throws {
    try deleted.all.forEach { (id) throws -> Bool in
      guard let side = deleted[id], let entity = try anyEntity(id) else { return true }
      for relationship in entity.relationships where relationship.description.deleteRule == .deny {
        var isDenied = false
        for member in try reachedMembers(of: id, relationship) where try self.entity(member) != nil {
          // An object that was kept has no links to deleted ones, whatever reached it.
          if try !keptAlong.contains(member) && isBound(member, id, relationship, side) {
            isDenied = true
          } else {
            try removeLink(id, relationship, member)
          }
        }
        if !isDenied { continue }
        issues.note(
          PlanIssue(
            StoreError(
              .deleteDenied,
              "\(entity.name)/\(id.serial) cannot be deleted: the result has members of \(relationship.name), and its "
                + "delete rule is deny; keep it, or unlink them first", entity: entity.name,
              property: relationship.name, object: "\(entity.name)/\(id.serial)")))
      }
      return true
    }
  }

  /// Removes new links from and to objects that the result does not have.
  func dropLinksOfMissingObjects() throws {
    try forEachRelationship(of: links.owners) { place, _, relationship in
      let added = links.members(true, at: place)
      if added.isEmpty { return }
      let isMissing = try self.entity(place.owner) == nil
      for member in added where try isMissing || self.entity(member) == nil {
        // The other end of a link may have removed it already.
        try removeLink(place.owner, relationship, member)
      }
    }
  }
}
