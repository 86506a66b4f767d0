extension MappingModel {
  /// Returns the mapping model resolved against its two models: no type is undefined, no expression is
  /// ``MappingExpression/automatic``, and every property that gets a value is listed.
  ///
  /// An undefined type becomes the first of these that applies: `custom` with a policy; `add` without a source entity;
  /// `remove` without a destination entity; `copy` if the entities have the same hash and only equal names are mapped;
  /// `transform` otherwise. Stored properties match if they have the same name, or if one has the other's name or
  /// renaming identifier as its renaming identifier.
  public func resolved(
    from source: ManagedObjectModel, to destination: ManagedObjectModel
  ) throws(MappingModelError) -> MappingModel {
    var names: Set<String> = []
    for mapping in entityMappings where !names.insert(mapping.name).inserted { throw .duplicateMapping(mapping.name) }
    var result = self
    result.entityMappings = []
    for mapping in entityMappings {
      let resolver = EntityMappingResolver(
        mapping: mapping, mappingNames: names, source: source, destination: destination)
      result.entityMappings.append(try resolver.resolved())
    }
    return result
  }
}

/// Resolves one entity mapping against two models.
private struct EntityMappingResolver {
  let mapping: EntityMapping
  let mappingNames: Set<String>
  let source: ManagedObjectModel
  let destination: ManagedObjectModel

  func resolved() throws(MappingModelError) -> EntityMapping {
    try checkEntities()
    var result = mapping
    result.mappingType = try type()
    result.attributeMappings = try properties(
      mapping.attributeMappings, available: destinationAttributes, expression: automaticAttribute)
    result.relationshipMappings = try properties(
      mapping.relationshipMappings, available: destinationRelationships, expression: automaticRelationship)
    result.mapsUnlistedProperties = false
    return result
  }

  private func checkEntities() throws(MappingModelError) {
    if mapping.sourceEntityName == nil && mapping.destinationEntityName == nil {
      throw .noEntity(mapping: mapping.name)
    }
    if let name = mapping.sourceEntityName, source.entity(named: name) == nil {
      throw .unknownEntity(mapping: mapping.name, entity: name, .source)
    }
    if let name = mapping.destinationEntityName, destination.entity(named: name) == nil {
      throw .unknownEntity(mapping: mapping.name, entity: name, .destination)
    }
  }

  // MARK: Type

  private func type() throws(MappingModelError) -> EntityMappingType {
    let (from, to) = (mapping.sourceEntityName, mapping.destinationEntityName)
    let fits =
      switch mapping.mappingType {
      case .undefined, .custom: true
      case .add: from == nil && to != nil
      case .remove: from != nil && to == nil
      case .copy, .transform: from != nil && to != nil
      }
    guard fits else { throw .typeMismatch(mapping: mapping.name, mapping.mappingType) }
    if mapping.mappingType != .undefined { return mapping.mappingType }
    if mapping.entityMigrationPolicyClassName != nil { return .custom }
    guard let from else { return .add }
    guard let to else { return .remove }
    let isSame = source.versionHash(of: from) == destination.versionHash(of: to)
    return isSame && isAutomatic ? .copy : .transform
  }

  /// Whether only equal names are mapped, for all of the source entity's objects.
  private var isAutomatic: Bool {
    guard mapping.sourceObjects == .all else { return false }
    return (mapping.attributeMappings + mapping.relationshipMappings).allSatisfy { property in
      switch property.valueExpression {
      case .automatic?: return true
      case .value(.keyPath(.variable("source"), let names))?: return names == [property.name]
      default: return false
      }
    }
  }

  // MARK: Properties

  private var destinationAttributes: [(name: String, isStored: Bool)] {
    guard let entity = mapping.destinationEntityName else { return [] }
    return destination.attributes(of: entity).map { ($0.name, !$0.isTransient && $0.derivationExpression == nil) }
  }

  private var destinationRelationships: [(name: String, isStored: Bool)] {
    guard let entity = mapping.destinationEntityName else { return [] }
    return destination.relationships(of: entity).map { ($0.name, !$0.isTransient) }
  }

  private func properties(
    _ given: [PropertyMapping], available: [(name: String, isStored: Bool)],
    expression: (String) -> MappingExpression?
  ) throws(MappingModelError) -> [PropertyMapping] {
    let stored = Dictionary(available.map { ($0.name, $0.isStored) }) { first, _ in first }
    var seen: Set<String> = []
    var result: [PropertyMapping] = []
    for var property in given {
      guard let isStored = stored[property.name] else {
        throw .unknownProperty(mapping: mapping.name, property: property.name)
      }
      guard seen.insert(property.name).inserted else {
        throw .duplicateProperty(mapping: mapping.name, property: property.name)
      }
      if property.valueExpression == .automatic {
        // Transient and derived properties need no value.
        property.valueExpression = isStored ? expression(property.name) : nil
      }
      if let value = property.valueExpression { try check(value, of: property.name) }
      result.append(property)
    }
    guard mapping.mapsUnlistedProperties else { return result }
    for (name, isStored) in available where isStored && seen.insert(name).inserted {
      if let value = expression(name) { result.append(PropertyMapping(name, value)) }
    }
    return result
  }

  private func check(_ expression: MappingExpression, of property: String) throws(MappingModelError) {
    switch expression {
    case .automatic, .value, .unsupported: break
    case .destinationInstances(let name, let sources):
      guard mappingNames.contains(name) else {
        throw .unknownMapping(mapping: mapping.name, property: property, named: name)
      }
      try check(sources, of: property)
    case .destinationInstancesForRelationship(_, let sources): try check(sources, of: property)
    case .policy(_, let arguments):
      guard mapping.entityMigrationPolicyClassName != nil else {
        throw .noPolicy(mapping: mapping.name, property: property)
      }
      for argument in arguments { try check(argument, of: property) }
    }
  }

  private func automaticAttribute(_ name: String) -> MappingExpression? {
    guard let from = mapping.sourceEntityName, let to = mapping.destinationEntityName else { return nil }
    let candidates = source.attributes(of: from).map { ($0.name, $0.renamingIdentifier, $0.isTransient) }
    let identifier = destination.attribute(name, of: to)?.renamingIdentifier
    return counterpart(of: name, identifier, among: candidates).map { .value(.keyPath(.variable("source"), [$0])) }
  }

  private func automaticRelationship(_ name: String) -> MappingExpression? {
    guard let from = mapping.sourceEntityName, let to = mapping.destinationEntityName else { return nil }
    let candidates = source.relationships(of: from).map { ($0.name, $0.renamingIdentifier, $0.isTransient) }
    let identifier = destination.relationship(name, of: to)?.renamingIdentifier
    return counterpart(of: name, identifier, among: candidates).map {
      .destinationInstancesForRelationship($0, of: .value(.keyPath(.variable("source"), [$0])))
    }
  }

  /// The source property of a destination property. A renaming identifier takes precedence over an equal name, which
  /// may be a coincidence.
  private func counterpart(
    of name: String, _ identifier: String?, among candidates: [(name: String, identifier: String?, isTransient: Bool)]
  ) -> String? {
    let wanted = identifier ?? name
    let found =
      candidates.first { ($0.identifier ?? $0.name) == wanted } ?? candidates.first { $0.name == wanted }
      ?? candidates.first { $0.name == name }
    guard let found, !found.isTransient else { return nil }
    return found.name
  }
}
