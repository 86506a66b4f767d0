import KVCloneCore
import KVCloneModel

/// The rules of the model, for objects that the merge changes.
extension MergeRun {
  /// Notes every violated rule of values and numbers of members. Derived attributes and hooks are left to the commit.
  func validate(_ clones: CloneRemainder?) throws {
    var patterns = TextPatterns()
    var places: Set<LinkPlace> = []
    let ids = Set(inserted.keys).union(attributes.keys).union(links.differences.keys.map(\.owner))
    for id in ids.sorted() {
      guard !undecided.contains(id), let entity = try entity(id), entity.isValidated else { continue }
      if inserted[id] != nil || attributes[id] != nil { try validateAttributes(of: id, entity, &patterns) }
      for relationship in entity.relationships where relationship.isValidated {
        if inserted[id] != nil || links[id, relationship] != nil { places.insert(place(id, relationship)) }
      }
    }
    places.formUnion(try placesOfDeletions())
    if let clones { places.formUnion(clones.losing) }
    for place in places.sorted() { try validateMembers(at: place) }
  }

  private func place(_ id: ObjectID, _ relationship: CompiledRelationship) -> LinkPlace {
    LinkPlace(owner: id, code: relationship.code)
  }

  /// Returns the relationships that lose members with the objects of the delete call.
  private func placesOfDeletions() throws -> Set<LinkPlace> {
    var places: Set<LinkPlace> = []
    for id in deleted.keys {
      guard let entity = try ours.now.entity(of: id) else { continue }
      for relationship in entity.relationships
      where relationship.hasInverse && relationship.description.deleteRule != .noAction {
        for member in try members(id, relationship) {
          places.insert(LinkPlace(owner: member, code: relationship.inverseCode))
        }
      }
      for code in entity.referrerCodes {
        for referrer in try ours.now.referrers(of: id, code) {
          guard let relationship = try self.entity(referrer)?.relationship(referrerCode: code) else { continue }
          places.insert(place(referrer, relationship))
        }
      }
    }
    return places
  }

  private func validateMembers(at place: LinkPlace) throws {
    guard !undecided.contains(place.owner), let entity = try entity(place.owner),
      let index = entity.relationshipIndexByCode[place.code], entity.relationships[index].isValidated
    else { return }
    let relationship = entity.relationships[index]
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
