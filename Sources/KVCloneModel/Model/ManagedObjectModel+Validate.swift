extension ManagedObjectModel {
  /// Checks whether a store can use the model.
  ///
  /// - Returns: Warnings about problems that do not prevent its use, in declaration order.
  /// - Throws: The first error that prevents its use. The description says how to fix it.
  public func validate(userInfoKeys: CloneUserInfoKeys = .standard) throws(ModelError) -> [ModelWarning] {
    let derivations = try checked(userInfoKeys)
    var warnings: [ModelWarning] = []
    var contradictions = ModelContradictions()
    for composite in composites { warnings += contradictions.find(in: composite.elements, of: composite.name) }
    for entity in entities {
      for relationship in entity.relationships { warnings += oddities(of: relationship, in: entity) }
      warnings += oddities(of: entity, userInfoKeys)
      warnings += contradictions.find(in: entity.attributes, of: entity.name)
    }
    return warnings + derivations.warnings + oddities(of: fetchRequestTemplates)
  }

  /// Checks whether a store can use the model, without looking for warnings, which opening a store does not report.
  ///
  /// - Throws: the first error.
  package func requireValid() throws(ModelError) { _ = try checked(.standard) }

  private func checked(_ userInfoKeys: CloneUserInfoKeys) throws(ModelError) -> ModelDerivations {
    if let key = userInfoKeys.duplicate { throw .duplicateUserInfoKey(key) }
    try validateComposites(userInfoKeys)
    try validateEntities()
    try validateInheritance()
    if let position = index.overflow { throw .tooLarge(entity: entities[position].name) }
    for entity in entities {
      try validateProperties(of: entity, userInfoKeys)
      for relationship in entity.relationships { try validate(relationship, in: entity, userInfoKeys) }
    }
    let derivations = self.derivations
    if let (entity, property) = derivations.cyclic { throw .cyclicDerivation(entity: entity, property: property) }
    return derivations
  }

  private func validateComposites(_ keys: CloneUserInfoKeys) throws(ModelError) {
    var seen: Set<String> = []
    for composite in composites where !seen.insert(composite.name).inserted {
      throw .duplicateComposite(composite.name)
    }
    if let name = index.cyclicComposite { throw .cyclicComposite(name) }
    for composite in composites {
      guard isUsable(name: composite.name) else { throw .invalidName(entity: composite.name, property: nil) }
      try validateDuplicates(composite.elements.map(\.name), in: composite.name)
      for element in composite.elements { try validate(element, in: composite.name, keys) }
    }
  }

  private func validateEntities() throws(ModelError) {
    var seen: Set<String> = []
    for entity in entities {
      guard isUsable(name: entity.name) else { throw .invalidName(entity: entity.name, property: nil) }
      guard seen.insert(entity.name).inserted else { throw .duplicateEntity(entity.name) }
    }
    if entities.count > ModelLimits.entities { throw .tooLarge(entity: nil) }
  }

  private func validateInheritance() throws(ModelError) {
    for (position, entity) in entities.enumerated() {
      guard let parent = entity.superentityName else { continue }
      guard index.positions[parent] != nil else { throw .unknownSuperentity(entity: entity.name, superentity: parent) }
      // The index truncates chains that are cyclic or too long: the last entity then still has a parent.
      guard let last = index.superentities[position].last else { throw .cyclicInheritance(entity: entity.name) }
      guard let missing = entities[last].superentityName, index.positions[missing] != nil else { continue }
      if index.superentities[position].count >= ModelLimits.inheritanceDepth { throw .tooLarge(entity: entity.name) }
      throw .cyclicInheritance(entity: entity.name)
    }
  }

  private func validateProperties(of entity: EntityDescription, _ keys: CloneUserInfoKeys) throws(ModelError) {
    let own =
      entity.attributes.map(\.name) + entity.relationships.map(\.name) + entity.fetchedProperties.map(\.name)
    try validateDuplicates(own, in: entity.name)
    let attributes = attributes(of: entity.name)
    let relationships = relationships(of: entity.name)
    let all = attributes.map(\.name) + relationships.map(\.name) + fetchedProperties(of: entity.name).map(\.name)
    if all.count > ModelLimits.properties { throw .tooLarge(entity: entity.name) }
    try validateDuplicates(all, in: entity.name)
    for name in own where !isUsable(name: name) { throw .invalidName(entity: entity.name, property: name) }
    // The resolved attributes, to find annotations that only conflict after merging.
    for attribute in attributes { try validate(attribute, in: entity.name, keys) }
    guard let parent = entity.superentityName else { return }
    for attribute in entity.attributes {
      guard let inherited = self.attribute(attribute.name, of: parent) else { continue }
      let isSame = inherited.type == attribute.type && inherited.compositeName == attribute.compositeName
      if !isSame || inherited.isTransient != attribute.isTransient {
        throw .conflictingRedeclaration(entity: entity.name, property: attribute.name)
      }
    }
    for relationship in entity.relationships {
      guard let inherited = self.relationship(relationship.name, of: parent) else { continue }
      let isSame = inherited.isToMany == relationship.isToMany && inherited.isOrdered == relationship.isOrdered
      if !isSame || inherited.isTransient != relationship.isTransient {
        throw .conflictingRedeclaration(entity: entity.name, property: relationship.name)
      }
    }
  }

  private func validateDuplicates(_ names: [String], in entity: String) throws(ModelError) {
    var seen: Set<String> = []
    for name in names where !seen.insert(name).inserted { throw .duplicateProperty(entity: entity, property: name) }
  }

  private func validate(
    _ attribute: AttributeDescription, in entity: String, _ keys: CloneUserInfoKeys
  ) throws(ModelError) {
    let name = attribute.name
    guard isUsable(name: name) else { throw .invalidName(entity: entity, property: name) }
    if attribute.type == .undefined && !attribute.isTransient {
      throw .untypedAttribute(entity: entity, property: name)
    }
    if attribute.hasImpossibleRebuildRule(keys) { throw .rebuildTypeMismatch(entity: entity, property: name) }
    if let value = attribute.defaultValue, attribute.coerce(value) != value {
      throw .defaultTypeMismatch(entity: entity, property: name)
    }
    guard attribute.type == .composite else { return }
    if let composite = attribute.compositeName {
      guard index.compositeNames.contains(composite) else {
        throw .unknownComposite(entity: entity, property: name, composite: composite)
      }
    } else if attribute.elements.isEmpty {
      throw .unknownComposite(entity: entity, property: name, composite: "")
    } else {
      try validateDuplicates(attribute.elements.map(\.name), in: "\(entity).\(name)")
      for element in attribute.elements { try validate(element, in: "\(entity).\(name)", keys) }
    }
  }

  private func validate(
    _ relationship: RelationshipDescription, in entity: EntityDescription, _ keys: CloneUserInfoKeys
  ) throws(ModelError) {
    guard index.positions[relationship.destinationEntityName] != nil else {
      throw .unknownDestination(
        entity: entity.name, property: relationship.name, destination: relationship.destinationEntityName)
    }
    if relationship.userInfo[keys.clone] != nil && relationship.cloneRule(keys).override == nil {
      throw .unknownCloneRule(entity: entity.name, property: relationship.name)
    }
  }

  /// Ids are written `Entity/serial`, rules `Entity.relationship`, assignments `NAME=VALUE`, labels `@Entity/serial`.
  private func isUsable(name: String) -> Bool {
    guard !name.isEmpty, name.utf8.count <= ModelLimits.nameBytes else { return false }
    return name.unicodeScalars.allSatisfy {
      !$0.properties.isWhitespace && $0.properties.generalCategory != .control && !"./@=".unicodeScalars.contains($0)
    }
  }
}

extension ManagedObjectModel {
  /// Warnings about a relationship.
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

  /// Warnings about an entity's attributes, constraints, indexes and fetched properties.
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

  /// Warnings about the model's fetch requests and configurations.
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
    // An element of a composite has a path as its name; Core Data's `self` and `entity` mean the object.
    if let dot = name.firstIndex(of: ".") { return attribute(String(name[..<dot]), of: entity) != nil }
    return name == "self" || name == "entity"
  }
}
