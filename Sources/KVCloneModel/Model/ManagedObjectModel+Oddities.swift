extension ManagedObjectModel {
  /// What is odd about a relationship, and how it is understood.
  func oddities(of relationship: RelationshipDescription, in entity: EntityDescription) -> [ModelWarning] {
    var result: [ModelWarning] = []
    func warn(_ kind: ModelWarning.Kind, _ message: String) {
      result.append(ModelWarning(kind, entity: entity.name, property: relationship.name, message: message))
    }
    if let inverse = relationship.inverseName {
      if self.inverse(of: relationship.name, in: entity.name) == nil {
        let other = "\(relationship.inverseEntityName ?? relationship.destinationEntityName).\(inverse)"
        warn(
          .oneSidedInverse,
          "\(other) does not name it as its inverse; both are treated as relationships without an inverse")
      }
    } else {
      warn(.missingInverse, "has no inverse; a clone always follows it (R7), so add an inverse if its target is shared")
    }
    if relationship.isOrdered && !relationship.isToMany {
      warn(.meaninglessFlag, "is marked as ordered, which has no effect on a to-one relationship")
    }
    if relationship.minCount < 0 || relationship.maxCount < 0 {
      warn(.impossibleCount, "has a negative count, which is treated as 0")
    } else if relationship.maxCount > 0 && relationship.minCount > relationship.maxCount {
      warn(.impossibleCount, "has a minimum count above its maximum count; correct the counts")
    }
    return result
  }

  /// What is odd about an entity's attributes, constraints, indexes and fetched properties.
  func oddities(of entity: EntityDescription, _ keys: CloneUserInfoKeys) -> [ModelWarning] {
    var result: [ModelWarning] = []
    func warn(_ kind: ModelWarning.Kind, _ property: String?, _ message: String) {
      result.append(ModelWarning(kind, entity: entity.name, property: property, message: message))
    }
    for attribute in entity.attributes {
      if case .invalid = attribute.cloneRule(keys).withoutParent {
        warn(
          .unknownWithoutParentRule, attribute.name,
          "has a '\(keys.withoutParent)' rule other than 'keep' and 'blank'; cloning it without a parent fails")
      }
      for bound in [attribute.minValue, attribute.maxValue] {
        if let bound, attribute.boundType.coerce(bound) == nil {
          warn(.unreadableValue, attribute.name, "has a bound that does not fit its type and is ignored")
        }
      }
    }
    for constraint in entity.uniquenessConstraints where !isUsable(constraint, in: entity.name) {
      warn(
        .unusableConstraint, nil,
        "the uniqueness constraint (\(constraint.joined(separator: ", "))) names something other than stored"
          + " attributes and to-one relationships, and is ignored")
    }
    for index in entity.indexes {
      let unknown = index.elements.compactMap(\.propertyName).filter { !hasProperty($0, entity.name) }
      for name in unknown {
        warn(.unusableReference, nil, "index \(index.name) names '\(name)', which the entity does not have")
      }
      if unknown.isEmpty, let reason = reasonForIgnoring(index, in: entity.name) {
        warn(.unusableIndex, nil, "index \(index.name) \(reason), and is ignored; query results do not change")
      }
    }
    for property in entity.fetchedProperties where self.entity(named: property.fetchRequest.entityName) == nil {
      warn(.unusableReference, property.name, "fetches an entity that the model does not have")
    }
    return result
  }

  /// What is odd about the model's fetch requests and configurations.
  func oddities(of requests: [FetchRequestTemplate]) -> [ModelWarning] {
    var result: [ModelWarning] = []
    for request in requests where entity(named: request.entityName) == nil {
      result.append(
        ModelWarning(
          .unusableReference, entity: request.entityName,
          message: "fetch request \(request.name) fetches an entity that the model does not have"))
    }
    for (name, members) in configurations.sorted(by: { $0.key < $1.key }) {
      for member in members where entity(named: member) == nil {
        result.append(
          ModelWarning(
            .unusableReference, entity: member,
            message: "configuration \(name) contains an entity that the model does not have"))
      }
    }
    return result
  }

  private func hasProperty(_ name: String, _ entity: String) -> Bool {
    if attribute(name, of: entity) != nil || relationship(name, of: entity) != nil { return true }
    // A composite's element is named by a path; Core Data's `self` and `entity` stand for the object.
    if let dot = name.firstIndex(of: ".") { return attribute(String(name[..<dot]), of: entity) != nil }
    return name == "self" || name == "entity"
  }
}
