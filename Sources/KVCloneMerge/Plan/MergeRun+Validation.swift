import KVCloneCore
import KVCloneModel
import KVCloneRecords

/// The rules of the model, for objects that the merge changes.
extension MergeRun {
  /// Notes every violated rule of values and numbers of members. Derived attributes and hooks are left to the commit.
  func validate(_ clones: CloneRemainder?) throws {
    var patterns = TextPatterns()
    // The commit validates each changed object completely.
    var ids = inserted.copy()
    ids.formUnion(attributes.owners)
    ids.formUnion(orders.owners)
    try forEachRelationship(of: links.owners) { place, _, _ in
      if links.isChanged(place) { _ = ids.insert(place.owner) }
    }
    let losing = PropertySet(in: space)
    try addPlacesOfDeletions(to: losing, changing: &ids)
    if let clones { ids.formUnion(clones.losing.owners) }
    try ids.forEach { (id) throws -> Bool in
      guard !undecided.contains(id), let entity = try entity(id), entity.isValidated else { return true }
      try validateAttributes(of: id, entity, &patterns)
      for relationship in entity.relationships where relationship.isValidated {
        let place = place(id, relationship)
        let losesClones = clones?.losing.contains(place) ?? false
        let isChanged = inserted.contains(id) || links.contains(place) || losing.contains(place) || losesClones
        let count =
          isChanged
          ? try presentCount(id, relationship, clones) : try ours.now.storedMemberCount(of: id, relationship)
        guard let (kind, text) = relationship.brokenRule(count) else { continue }
        issues.note(PlanIssue(entity.issue(kind, relationship.name, id, text)))
      }
      return true
    }
  }

  /// Returns the number of members in the result, with kept clones, to which links stay.
  private func presentCount(_ id: ObjectID, _ relationship: CompiledRelationship, _ clones: CloneRemainder?) throws
    -> Int
  {
    let count = try members(id, relationship).filter { try self.entity($0) != nil }.count
    guard clones?.keepsClones == true, relationship.isToMany, try ours.now.entity(of: id) != nil else { return count }
    return try count + ours.now.storedMemberCount(of: id, relationship) - ours.now.members(of: id, relationship).count
  }

  private func place(_ id: ObjectID, _ relationship: CompiledRelationship) -> PropertyPlace {
    PropertyPlace(owner: id, code: relationship.code)
  }

  /// Adds the relationships that lose members with the objects of the delete call, and the objects that the commit
  /// validates for it.
  private func addPlacesOfDeletions(to places: PropertySet, changing ids: inout ObjectSet) throws {
    try deleted.all.forEach { (id) throws -> Bool in
      guard let entity = try ours.now.entity(of: id) else { return true }
      for relationship in entity.relationships where relationship.hasInverse {
        let isValidated = relationship.description.deleteRule != .noAction
        for member in try members(id, relationship) {
          try places.insert(PropertyPlace(owner: member, code: relationship.inverseCode))
          if isValidated { _ = ids.insert(member) }
        }
      }
      for code in entity.referrerCodes {
        for referrer in try ours.now.referrers(of: id, code) {
          guard let relationship = try self.entity(referrer)?.relationship(referrerCode: code) else { continue }
          try places.insert(place(referrer, relationship))
          _ = ids.insert(referrer)
        }
      }
      return true
    }
  }

  private func validateAttributes(of id: ObjectID, _ entity: CompiledEntity, _ patterns: inout TextPatterns) throws {
    let values = try values(id, entity)
    func isEmpty(_ composite: String) -> Bool {
      zip(entity.attributes, values).allSatisfy { $0.composite != composite || $1 == nil }
    }
    for (attribute, value) in zip(entity.attributes, values) where attribute.isValidated {
      if value == nil, let composite = attribute.composite, isEmpty(composite) { continue }
      guard let (kind, text) = attribute.brokenRule(value, &patterns) else { continue }
      issues.note(PlanIssue(entity.issue(kind, attribute.path, id, text)))
    }
    for (name, composite) in entity.composites where !composite.isOptional && isEmpty(name) {
      issues.note(
        PlanIssue(
          entity.issue(.requiredValueMissing, name, id, "is required, and all its elements are nil; set an element")))
    }
  }
}
