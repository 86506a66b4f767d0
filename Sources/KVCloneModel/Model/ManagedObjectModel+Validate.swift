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

  /// Checks whether a store can use the model, and looks for nothing else: opening a store is not the place for warnings.
  ///
  /// - Throws: the first thing that cannot be used.
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
      // The index ends a chain where it would go round, or get too long: the last entity still has a parent then.
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
    // The resolved ones, so that annotations which only clash after merging are found too.
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
