/// Finds the differences between two versions of a model.
struct ModelComparison {
  let matching: ModelMatching
  private var changes: [ModelDifference.Change] = []

  var source: ManagedObjectModel { matching.source }
  var destination: ManagedObjectModel { matching.destination }

  init(_ matching: ModelMatching) { self.matching = matching }

  mutating func compare() -> [ModelDifference.Change] {
    for entity in destination.entities {
      guard let earlier = matching.entities[entity.name].flatMap({ source.entity(named: $0) }) else {
        add(.added, entity.name, work: .metadata)
        continue
      }
      compare(earlier, entity)
    }
    for entity in source.entities where matching.laterEntities[entity.name] == nil {
      add(.removed, entity.name, work: .deletion)
    }
    note(
      destination.name, nil, "fetch requests", of: Self.comparable(source.fetchRequestTemplates),
      Self.comparable(destination.fetchRequestTemplates))
    note(
      destination.name, nil, "configurations", of: source.configurations.mapValues(Set.init),
      destination.configurations.mapValues(Set.init))
    return changes
  }

  /// Normalizes requests: one spelling per predicate, and no order, because they are found by name.
  private static func comparable(_ requests: [FetchRequestTemplate]) -> Set<FetchRequestTemplate> {
    Set(requests.map(comparable))
  }

  private static func comparable(_ request: FetchRequestTemplate) -> FetchRequestTemplate {
    var request = request
    if let format = request.predicateString, let predicate = try? QueryPredicate(format: format) {
      request.predicateString = predicate.predicateFormat
    }
    return request
  }

  private static func comparable(_ properties: [FetchedPropertyDescription]) -> Set<FetchedPropertyDescription> {
    Set(
      properties.map { given in
        var property = given
        property.fetchRequest = comparable(given.fetchRequest)
        return property
      })
  }

  private mutating func compare(_ earlier: EntityDescription, _ entity: EntityDescription) {
    let name = entity.name
    if earlier.name != name { add(.renamed, name, formerName: earlier.name, work: .metadata) }
    if earlier.isAbstract != entity.isAbstract {
      let work: MigrationWork =
        entity.isAbstract
        ? .refused("an abstract entity cannot have objects, but the store may contain some") : .metadata
      change(name, nil, "abstract", "\(earlier.isAbstract)", "\(entity.isAbstract)", work)
    }
    let parent = entity.superentityName.map { matching.entities[$0] ?? "" }
    if parent != earlier.superentityName {
      let root = destination.rootEntity(of: name).flatMap { matching.entities[$0] }
      let keepsRoot = root == source.rootEntity(of: earlier.name)
      change(name, nil, "parent", earlier.superentityName, entity.superentityName, keepsRoot ? .metadata : .objects)
    }
    change(name, nil, "hash modifier", from: earlier.versionHashModifier, to: entity.versionHashModifier, .metadata)
    compareAttributes(earlier, entity)
    compareRelationships(earlier, entity)
    compareIndexes(earlier, entity)
    note(name, nil, "user info", of: earlier.userInfo, entity.userInfo)
    note(name, nil, "class", of: earlier.managedObjectClassName, entity.managedObjectClassName)
    note(
      name, nil, "fetched properties", of: Self.comparable(earlier.fetchedProperties),
      Self.comparable(entity.fetchedProperties))
  }

  private mutating func compareIndexes(_ earlier: EntityDescription, _ entity: EntityDescription) {
    func later(_ property: String) -> String {
      let name = property.split(separator: ".").first.map(String.init) ?? property
      for candidate in destination.attributes(of: entity.name)
      where matching.attribute(candidate.name, of: entity.name)?.name == name {
        return candidate.name + property.dropFirst(name.count)
      }
      for candidate in destination.relationships(of: entity.name)
      where matching.relationship(candidate.name, of: entity.name)?.name == name {
        return candidate.name
      }
      return property
    }
    let old = earlier.uniquenessConstraints.map { $0.map(later) }
    for constraint in entity.uniquenessConstraints where !old.contains(constraint) {
      change(entity.name, nil, "unique", nil, constraint.joined(separator: ", "), .index)
    }
    for constraint in old where !entity.uniquenessConstraints.contains(constraint) {
      change(entity.name, nil, "unique", constraint.joined(separator: ", "), nil, .index)
    }
    func definition(_ index: StoredFetchIndex, _ name: (String) -> String) -> String {
      StoredFetchIndex(
        name: "",
        columns: index.columns.map { .init(path: name($0.path), isAscending: $0.isAscending, isFolded: $0.isFolded) }
      ).definition
    }
    let known = source.storedFetchIndexes(declaredIn: earlier).map { definition($0, later) }
    let wanted = destination.storedFetchIndexes(declaredIn: entity).map { definition($0) { $0 } }
    for index in wanted where !known.contains(index) { change(entity.name, nil, "index", nil, index, .index) }
    for index in known where !wanted.contains(index) { change(entity.name, nil, "index", index, nil, .index) }
  }

  /// Whether an ancestor has the property, too, with the same origin: then it is reported there.
  func isToldAbove(_ property: String, _ entity: EntityDescription, _ former: (String) -> String?) -> Bool {
    destination.superentities(of: entity.name).contains { above in
      let isThere =
        destination.attribute(property, of: above) != nil || destination.relationship(property, of: above) != nil
      return isThere && matching.entities[above] != nil && former(above) == former(entity.name)
    }
      // A redeclared property may differ from that of the ancestor.
      && !entity.attributes.contains { $0.name == property }
      && !entity.relationships.contains { $0.name == property }
  }

  // MARK: Recording

  mutating func add(
    _ kind: ModelDifference.Change.Kind, _ entity: String, _ property: String? = nil, formerName: String? = nil,
    new: String? = nil, work: MigrationWork
  ) {
    changes.append(
      .init(
        kind: kind, entity: entity, property: property, formerName: formerName, aspect: nil, old: nil, new: new,
        work: work))
  }

  mutating func change(
    _ entity: String, _ property: String?, _ aspect: String, _ old: String?, _ new: String?, _ work: MigrationWork
  ) {
    changes.append(
      .init(
        kind: .changed, entity: entity, property: property, formerName: nil, aspect: aspect, old: old, new: new,
        work: work))
  }

  /// Records a difference of two values, if there is one.
  mutating func change<Value: Equatable>(
    _ entity: String, _ property: String?, _ aspect: String, from old: Value?, to new: Value?,
    _ work: MigrationWork = .none
  ) {
    if old != new { change(entity, property, aspect, old.map { "\($0)" }, new.map { "\($0)" }, work) }
  }

  /// Records a difference that does not affect stored objects, without the values, which may be long.
  mutating func note<Value: Equatable>(
    _ entity: String, _ property: String?, _ aspect: String, of old: Value, _ new: Value
  ) {
    if old != new { change(entity, property, aspect, "…", "…", .none) }
  }
}
