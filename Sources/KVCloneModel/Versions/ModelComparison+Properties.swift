extension ModelComparison {
  mutating func compareAttributes(_ earlier: EntityDescription, _ entity: EntityDescription) {
    for attribute in destination.attributes(of: entity.name) {
      let former = { (name: String) in self.matching.attribute(attribute.name, of: name)?.name }
      if isToldAbove(attribute.name, entity, former) { continue }
      if let old = matching.attribute(attribute.name, of: entity.name) {
        compare(old, attribute, attribute.name, entity.name)
      } else {
        add(
          .added, entity.name, attribute.name, new: attribute.type.rawValue,
          work: isLacking(attribute.name, entity) ? Self.workOfAdding(attribute) : .metadata)
      }
    }
    for attribute in matching.removedAttributes(of: earlier.name) where !isRemovedAbove(attribute.name, earlier) {
      add(.removed, entity.name, attribute.name, work: attribute.isTransient ? .none : .metadata)
    }
  }

  mutating func compareRelationships(_ earlier: EntityDescription, _ entity: EntityDescription) {
    for relationship in destination.relationships(of: entity.name) {
      let former = { (name: String) in self.matching.relationship(relationship.name, of: name)?.name }
      if isToldAbove(relationship.name, entity, former) { continue }
      if let old = matching.relationship(relationship.name, of: entity.name) {
        compare(old, in: earlier.name, relationship, in: entity.name)
      } else {
        add(
          .added, entity.name, relationship.name, new: Self.cardinality(relationship),
          work: isLacking(relationship.name, entity) ? workOfAdding(relationship) : .metadata)
      }
    }
    for relationship in matching.removedRelationships(of: earlier.name)
    where !isRemovedAbove(relationship.name, earlier) {
      add(.removed, entity.name, relationship.name, work: relationship.isTransient ? .none : .metadata)
    }
  }

  /// Whether a property that is new to an entity is new to objects: all subentities may have had it.
  private func isLacking(_ property: String, _ entity: EntityDescription) -> Bool {
    ([entity.name] + destination.subentities(of: entity.name)).contains { name in
      matching.entities[name] != nil && destination.entity(named: name)?.isAbstract == false
        && !matching.isStored(property, in: name)
    }
  }

  /// Whether the entity inherits it from one that lost it, too, or was removed: then it is reported there.
  private func isRemovedAbove(_ property: String, _ earlier: EntityDescription) -> Bool {
    source.superentities(of: earlier.name).contains { above in
      guard matching.laterEntities[above] != nil else { return false }
      return matching.removedAttributes(of: above).contains { $0.name == property }
        || matching.removedRelationships(of: above).contains { $0.name == property }
    }
  }

  // MARK: Attributes

  static func workOfAdding(_ attribute: AttributeDescription) -> MigrationWork {
    if attribute.isTransient { return .none }
    if attribute.isDerived { return .objects }
    if attribute.isOptional || attribute.hasDefault { return .metadata }
    return .refused("objects would have no value for a new mandatory attribute; give it a default value")
  }

  private mutating func compare(
    _ old: AttributeDescription, _ new: AttributeDescription, _ path: String, _ entity: String
  ) {
    if old.name != new.name { add(.renamed, entity, path, formerName: old.name, work: .metadata) }
    change(
      entity, path, "transient", from: old.isTransient, to: new.isTransient,
      new.isTransient ? .metadata : Self.workOfAdding(new))
    let isStored = !old.isTransient && !new.isTransient
    if old.type != new.type {
      var work = MigrationWork.none
      if isStored {
        // A derived attribute needs no earlier value.
        let isConvertible = AttributeConversion(from: old.type, to: new.type) != nil
        work =
          isConvertible || new.isDerived
          ? .objects
          : .refused("not all values of type \(old.type.rawValue) can be converted to type \(new.type.rawValue)")
      }
      change(entity, path, "type", old.type.rawValue, new.type.rawValue, work)
    } else if new.type == .composite {
      compareElements(old, new, path, entity)
    }
    if old.isOptional != new.isOptional {
      var work = MigrationWork.metadata
      if !new.isOptional, isStored, !new.isDerived {
        work =
          new.hasDefault
          ? .objects
          : .refused(
            "objects in which it is nil would have no value; give it a default value, or set it before the migration")
      }
      change(entity, path, "optional", "\(old.isOptional)", "\(new.isOptional)", isStored ? work : .none)
    }
    change(
      entity, path, "derivation", from: old.derivationExpression, to: new.derivationExpression,
      new.isDerived ? .objects : .metadata)
    change(entity, path, "hash modifier", from: old.versionHashModifier, to: new.versionHashModifier, .metadata)
    change(entity, path, "default", from: old.defaultValue, to: new.defaultValue)
    change(entity, path, "minimum", from: old.minValue, to: new.minValue)
    change(entity, path, "maximum", from: old.maxValue, to: new.maxValue)
    change(entity, path, "regular expression", from: old.regularExpression, to: new.regularExpression)
    change(entity, path, "transformer", from: old.valueTransformerName, to: new.valueTransformerName)
    note(entity, path, "user info", of: old.userInfo, new.userInfo)
    // Scalar types in generated source are not part of a model's description: a compiled model lacks them.
    let keeping = { (attribute: AttributeDescription) in
      [
        attribute.allowsExternalBinaryDataStorage, attribute.isIndexedBySpotlight,
        attribute.preservesValueInHistoryOnDeletion, attribute.allowsCloudEncryption,
      ]
    }
    note(entity, path, "options", of: keeping(old), keeping(new))
  }

  private mutating func compareElements(
    _ old: AttributeDescription, _ new: AttributeDescription, _ path: String, _ entity: String
  ) {
    for element in new.elements {
      let inner = path + "." + element.name
      if let former = old.elements.first(where: { $0.name == element.name }) {
        compare(former, element, inner, entity)
      } else {
        add(.added, entity, inner, new: element.type.rawValue, work: Self.workOfAdding(element))
      }
    }
    for element in old.elements where !new.elements.contains(where: { $0.name == element.name }) {
      add(.removed, entity, path + "." + element.name, work: .metadata)
    }
  }

  // MARK: Relationships

  private static func cardinality(_ relationship: RelationshipDescription) -> String {
    "\(relationship.isToMany ? relationship.isOrdered ? "ordered to-many" : "to-many" : "to-one") "
      + relationship.destinationEntityName
  }

  private static func isMandatory(_ relationship: RelationshipDescription) -> Bool {
    !relationship.isOptional && (!relationship.isToMany || relationship.minCount > 0)
  }

  private func workOfAdding(_ relationship: RelationshipDescription) -> MigrationWork {
    if relationship.isTransient { return .none }
    if Self.isMandatory(relationship) {
      return .refused("objects would have no target for a new mandatory relationship; make it optional first")
    }
    return .metadata
  }

  private mutating func compare(
    _ old: RelationshipDescription, in earlier: String, _ new: RelationshipDescription, in entity: String
  ) {
    if old.name != new.name { add(.renamed, entity, new.name, formerName: old.name, work: .metadata) }
    change(
      entity, new.name, "transient", from: old.isTransient, to: new.isTransient,
      new.isTransient ? .metadata : workOfAdding(new))
    let isStored = !old.isTransient && !new.isTransient
    func work(_ work: MigrationWork) -> MigrationWork { isStored ? work : .none }
    if old.isToMany != new.isToMany {
      change(
        entity, new.name, "to-many", "\(old.isToMany)", "\(new.isToMany)",
        work(new.isToMany ? .objects : .refused("it is ambiguous which of several members to keep")))
    } else {
      change(
        entity, new.name, "ordered", from: old.isOrdered, to: new.isOrdered, work(new.isToMany ? .objects : .none))
    }
    compareDestinations(old, new, entity, work)
    compareInverses(old, in: earlier, new, in: entity, work)
    if old.isOptional != new.isOptional {
      let isRefused = Self.isMandatory(new) && !Self.isMandatory(old)
      change(
        entity, new.name, "optional", "\(old.isOptional)", "\(new.isOptional)",
        work(
          isRefused
            ? .refused("objects without a target would violate the rule; link them before the migration") : .metadata))
    }
    change(entity, new.name, "hash modifier", from: old.versionHashModifier, to: new.versionHashModifier, .metadata)
    change(entity, new.name, "delete rule", from: old.deleteRule.rawValue, to: new.deleteRule.rawValue)
    if old.isToMany, new.isToMany {
      change(entity, new.name, "minimum", from: old.minCount, to: new.minCount)
      change(entity, new.name, "maximum", from: old.maxCount, to: new.maxCount)
    }
    note(entity, new.name, "user info", of: old.userInfo, new.userInfo)
  }

  private mutating func compareDestinations(
    _ old: RelationshipDescription, _ new: RelationshipDescription, _ entity: String,
    _ work: (MigrationWork) -> MigrationWork
  ) {
    let later = matching.laterEntities[old.destinationEntityName]
    // The possible targets decide, not the name: an entity may have left the hierarchy.
    let stray = source.entities.first { entity in
      guard let kept = matching.laterEntities[entity.name] else { return false }
      return source.entity(entity.name, isKindOf: old.destinationEntityName)
        && !destination.entity(kept, isKindOf: new.destinationEntityName)
    }
    if later == new.destinationEntityName {
      guard let stray else { return }
      change(
        entity, new.name, "destination", old.destinationEntityName, new.destinationEntityName,
        work(.refused("it may contain objects of \(stray.name), which is no longer a \(new.destinationEntityName)")))
      return
    }
    // Objects of a removed entity are deleted, and the links to them.
    change(
      entity, new.name, "destination", old.destinationEntityName, new.destinationEntityName,
      work(
        stray == nil
          ? .metadata
          : .refused("its targets are not always objects of \(new.destinationEntityName)")))
  }

  private mutating func compareInverses(
    _ old: RelationshipDescription, in earlier: String, _ new: RelationshipDescription, in entity: String,
    _ work: (MigrationWork) -> MigrationWork
  ) {
    let before = source.inverse(of: old.name, in: earlier)
    let after = destination.inverse(of: new.name, in: entity)
    let former = after.flatMap { matching.relationship($0.relationship.name, of: $0.entityName) }
    switch (before, after) {
    case (nil, nil): break
    case (let before?, nil):
      change(entity, new.name, "inverse", before.relationship.name, nil, work(.objects))
    case (nil, let after?):
      let effect: MigrationWork =
        former == nil ? .objects : .refused("both sides have their own members, which may differ")
      change(entity, new.name, "inverse", nil, after.relationship.name, work(effect))
    case (let before?, let after?):
      if let former, former.name == before.relationship.name { return }
      let effect: MigrationWork =
        former == nil ? .objects : .refused("the new inverse has its own members, which may differ")
      change(entity, new.name, "inverse", before.relationship.name, after.relationship.name, work(effect))
    }
  }
}

extension AttributeDescription {
  /// Whether a new object gets a non-nil value by default.
  package var hasDefault: Bool { defaultValue != nil || elements.contains { $0.hasDefault } }
}
