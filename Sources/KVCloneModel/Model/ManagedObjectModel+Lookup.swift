extension ManagedObjectModel {
  /// Returns the entity with the given name.
  public func entity(named name: String) -> EntityDescription? { index.positions[name].map { entities[$0] } }

  /// Returns the names of an entity's ancestors, the parent first; empty for a root or unknown entity.
  public func superentities(of name: String) -> [String] {
    guard let position = index.positions[name] else { return [] }
    return index.superentities[position].map { entities[$0].name }
  }

  /// Returns the names of an entity's direct subentities, in declaration order.
  public func directSubentities(of name: String) -> [String] {
    guard let position = index.positions[name] else { return [] }
    return index.directSubentities[position].map { entities[$0].name }
  }

  /// Returns the names of all descendants of an entity, each before its own subentities.
  public func subentities(of name: String) -> [String] {
    guard let start = index.positions[name] else { return [] }
    var result: [String] = []
    var seen: Set<Int> = [start]
    var waiting = Array(index.directSubentities[start].reversed())
    while let position = waiting.popLast() {
      guard seen.insert(position).inserted else { continue }
      result.append(entities[position].name)
      waiting.append(contentsOf: index.directSubentities[position].reversed())
    }
    return result
  }

  /// The name of an entity's root entity, its own for a root; nil for an unknown entity.
  package func rootEntity(of name: String) -> String? {
    guard let position = index.positions[name] else { return nil }
    return entities[index.superentities[position].last ?? position].name
  }

  /// Returns whether the entity `name` is `other` or one of its descendants.
  public func entity(_ name: String, isKindOf other: String) -> Bool {
    guard let position = index.positions[name], let wanted = index.positions[other] else { return false }
    return position == wanted || index.superentities[position].contains(wanted)
  }

  /// Returns all attributes of an entity: inherited ones first, in their order, then its own; empty for an unknown
  /// entity.
  ///
  /// A redeclared attribute keeps the inherited position, uses the new declaration, and merges the `userInfo` of both
  /// declarations; values of the lower one take precedence (R22). The `elements` of composites are filled in.
  public func attributes(of name: String) -> [AttributeDescription] {
    index.positions[name].map { index.attributes[$0] } ?? []
  }

  /// Returns all relationships of an entity, ordered and merged as in ``attributes(of:)``.
  public func relationships(of name: String) -> [RelationshipDescription] {
    index.positions[name].map { index.relationships[$0] } ?? []
  }

  /// Returns an attribute of an entity, either inherited or its own.
  public func attribute(_ name: String, of entity: String) -> AttributeDescription? {
    guard let position = index.positions[entity], let place = index.attributePositions[position][name] else {
      return nil
    }
    return index.attributes[position][place]
  }

  /// Returns a relationship of an entity, either inherited or its own.
  public func relationship(_ name: String, of entity: String) -> RelationshipDescription? {
    guard let position = index.positions[entity], let place = index.relationshipPositions[position][name] else {
      return nil
    }
    return index.relationships[position][place]
  }

  /// Returns an entity's annotations. Its own values override inherited ones (R22).
  public func userInfo(of name: String) -> [String: String] { index.positions[name].map { index.userInfo[$0] } ?? [:] }

  /// Returns the inverse relationship, and the entity that the model names as its owner.
  ///
  /// The two relationships must name each other; a one-sided inverse does not count. The inverse's entity may be an
  /// ancestor or descendant of the destination. A destination object without the inverse relationship needs no update.
  public func inverse(
    of name: String, in entity: String
  ) -> (entityName: String, relationship: RelationshipDescription)? {
    guard let relationship = relationship(name, of: entity), let inverseName = relationship.inverseName else {
      return nil
    }
    let inverseEntity = relationship.inverseEntityName ?? relationship.destinationEntityName
    guard
      let inverse = self.relationship(inverseName, of: inverseEntity), inverse.inverseName == name,
      areRelated(inverseEntity, relationship.destinationEntityName),
      areRelated(inverse.destinationEntityName, entity),
      areRelated(inverse.inverseEntityName ?? inverse.destinationEntityName, entity)
    else { return nil }
    return (inverseEntity, inverse)
  }

  /// Whether one of the entities is the other's ancestor, or they are equal.
  private func areRelated(_ one: String, _ other: String) -> Bool {
    entity(one, isKindOf: other) || entity(other, isKindOf: one)
  }

  /// Returns the uniqueness constraints for objects of an entity, inherited ones first. Constraints over anything
  /// except attributes and to-one relationships are omitted; validation reports a warning.
  public func uniquenessConstraints(of name: String) -> [[String]] {
    var result: [[String]] = []
    for entity in lineage(of: name) {
      for constraint in entity.uniquenessConstraints
      where !result.contains(constraint) && isUsable(constraint, in: entity.name) {
        result.append(constraint)
      }
    }
    return result
  }

  func isUsable(_ constraint: [String], in entity: String) -> Bool {
    !constraint.isEmpty
      && constraint.allSatisfy { name in
        attribute(name, of: entity).map { !$0.isTransient && $0.type != .composite } ?? false
          || relationship(name, of: entity).map { !$0.isToMany && !$0.isTransient } ?? false
      }
  }

  /// Returns the indexes for objects of an entity, inherited ones first.
  public func indexes(of name: String) -> [FetchIndexDescription] {
    var result: [FetchIndexDescription] = []
    for index in lineage(of: name).flatMap(\.indexes) where !result.contains(index) { result.append(index) }
    return result
  }

  /// Returns all fetched properties of an entity, inherited ones first; a redeclared property keeps its position.
  public func fetchedProperties(of name: String) -> [FetchedPropertyDescription] {
    var result: [FetchedPropertyDescription] = []
    for property in lineage(of: name).flatMap(\.fetchedProperties) {
      if let place = result.firstIndex(where: { $0.name == property.name }) {
        result[place] = property
      } else {
        result.append(property)
      }
    }
    return result
  }

  /// The entity and its ancestors, root first.
  func lineage(of name: String) -> [EntityDescription] {
    guard let position = index.positions[name] else { return [] }
    return index.superentities[position].reversed().map { entities[$0] } + [entities[position]]
  }
}

extension ManagedObjectModel {
  /// Returns the request that a template of the model describes, with its variables substituted; nil if the model has
  /// no template with this name. Core Data has a method with the same name.
  ///
  /// - Parameters:
  ///   - name: The template's name.
  ///   - substitutionVariables: The values of `$NAME`, by name without the `$`. Variables without a value remain in the
  ///     request, and fetching with them is an error.
  /// - Throws: `QueryFormatError` if the template's predicate cannot be parsed.
  public func fetchRequestFromTemplate(
    withName name: String, substitutionVariables: [String: QueryArgument] = [:]
  ) throws(QueryFormatError) -> FetchRequest? {
    guard let template = fetchRequestTemplates.first(where: { $0.name == name }) else { return nil }
    return try FetchRequest(template, substitutionVariables: substitutionVariables)
  }
}

extension FetchRequest {
  /// Creates the request that a template describes; see
  /// ``ManagedObjectModel/fetchRequestFromTemplate(withName:substitutionVariables:)``.
  public init(
    _ template: FetchRequestTemplate, substitutionVariables: [String: QueryArgument] = [:]
  ) throws(QueryFormatError) {
    var predicate: QueryPredicate?
    if let format = template.predicateString {
      predicate = try QueryPredicate(format: format).substituting(substitutionVariables)
    }
    self.init(
      template.entityName, predicate: predicate, fetchLimit: max(0, template.fetchLimit),
      includesSubentities: template.includesSubentities)
    resultType = FetchRequestResultType(rawValue: template.resultType) ?? .managedObject
    fetchBatchSize = max(0, template.fetchBatchSize)
    returnsDistinctResults = template.returnsDistinctResults
  }
}
