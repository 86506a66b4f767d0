import KVCloneCore
import KVCloneModel

/// The rules of the model, for objects that the merge changes.
extension MergeRun {
  /// Notes every violated rule of values and numbers of members. Derived attributes and hooks are left to the commit.
  func validate(_ clones: CloneRemainder?) throws {
    var patterns = TextPatterns()
    let places = PropertySet(in: space)
    var ids = inserted.copy()
    ids.formUnion(attributes.owners)
    ids.formUnion(links.owners)
    try ids.forEach { (id) throws -> Bool in
      guard !undecided.contains(id), let entity = try entity(id), entity.isValidated else { return true }
      let isInserted = inserted.contains(id)
      if isInserted || attributes.owners.contains(id) { try validateAttributes(of: id, entity, &patterns) }
      for relationship in entity.relationships where relationship.isValidated {
        let place = place(id, relationship)
        if isInserted || links.contains(place) { try places.insert(place) }
      }
      return true
    }
    try addPlacesOfDeletions(to: places)
    ids = places.owners.copy()
    if let clones { ids.formUnion(clones.losing.owners) }
    try forEachRelationship(of: ids) { place, _, relationship in
      let losesClones = clones?.losing.contains(place) ?? false
      if losesClones || places.contains(place) { try validateMembers(at: place, relationship) }
    }
  }

  private func place(_ id: ObjectID, _ relationship: CompiledRelationship) -> PropertyPlace {
    PropertyPlace(owner: id, code: relationship.code)
  }

  /// Adds the relationships that lose members with the objects of the delete call.
  private func addPlacesOfDeletions(to places: PropertySet) throws {
    try deleted.all.forEach { (id) throws -> Bool in
      guard let entity = try ours.now.entity(of: id) else { return true }
      for relationship in entity.relationships
      where relationship.hasInverse && relationship.description.deleteRule != .noAction {
        for member in try members(id, relationship) {
          try places.insert(PropertyPlace(owner: member, code: relationship.inverseCode))
        }
      }
      for code in entity.referrerCodes {
        for referrer in try ours.now.referrers(of: id, code) {
          guard let relationship = try self.entity(referrer)?.relationship(referrerCode: code) else { continue }
          try places.insert(place(referrer, relationship))
        }
      }
      return true
    }
  }

  private func validateMembers(at place: PropertyPlace, _ relationship: CompiledRelationship) throws {
    guard relationship.isValidated, !undecided.contains(place.owner), let entity = try entity(place.owner) else {
      return
    }
    let count = try members(place.owner, relationship).filter { try self.entity($0) != nil }.count
    guard let (kind, text) = relationship.brokenRule(count) else { return }
    issues.note(PlanIssue(entity.issue(kind, relationship.name, place.owner, text)))
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
