import KVCloneModel

extension ManagedObjectModel {
  /// The same model in the one form that a `contents` file has for it.
  ///
  /// Elements that stand in an attribute itself become a composite of the model, an inverse's entity that is the destination goes
  /// unsaid, and indexes of old kinds stand first, or become fetch indexes where an old file could not hold them. Models that
  /// were read from such files come out as they are.
  var expressibleForm: ManagedObjectModel {
    var hoisting = CompositeHoisting(composites)
    let entities = self.entities.map { given -> EntityDescription in
      var entity = given
      entity.attributes = given.attributes.map { hoisting.attribute($0, of: given.name) }
      entity.relationships = given.relationships.map(Self.expressible)
      entity.uniquenessConstraints.removeAll(where: \.isEmpty)
      entity.indexes = Self.expressibleIndexes(of: given)
      return entity
    }
    return ManagedObjectModel(
      name: name, versionIdentifier: versionIdentifier, entities: entities, composites: hoisting.finish(),
      configurations: configurations, fetchRequestTemplates: fetchRequestTemplates)
  }

  private static func expressible(_ given: RelationshipDescription) -> RelationshipDescription {
    var relationship = given
    if given.inverseName == nil || given.inverseEntityName == given.destinationEntityName {
      relationship.inverseEntityName = nil
    }
    return relationship
  }

  private static func expressibleIndexes(of entity: EntityDescription) -> [FetchIndexDescription] {
    let flags = entity.attributes.map { attribute in
      FetchIndexDescription("indexed:\(attribute.name)", [.init(attribute.name)], origin: .indexedAttribute)
    }
    let others = entity.indexes.filter { !flags.contains($0) }.map { given -> FetchIndexDescription in
      var index = given
      let names = given.elements.compactMap(\.propertyName)
      let compound = FetchIndexDescription(
        "compound:" + names.joined(separator: ","), names.map { .init($0) }, origin: .compoundIndex)
      index.origin = !names.isEmpty && given == compound ? .compoundIndex : .fetchIndex
      return index
    }
    return flags.filter(entity.indexes.contains) + others
  }
}

/// Gives names to groups of elements that have none.
private struct CompositeHoisting {
  private var composites: [CompositeAttributeDescription]
  private var hoisted: [CompositeAttributeDescription] = []
  private var names: Set<String>

  init(_ composites: [CompositeAttributeDescription]) {
    self.composites = composites
    names = Set(composites.map(\.name))
  }

  mutating func attribute(_ given: AttributeDescription, of owner: String) -> AttributeDescription {
    var attribute = given
    // Where there is a name, the elements are what it stands for.
    attribute.elements = []
    guard given.type == .composite, given.compositeName == nil, !given.elements.isEmpty else { return attribute }
    let place = hoisted.count
    var name = Self.name("\(owner)_\(given.name)")
    while !names.insert(name).inserted { name += "_" }
    let elements = given.elements.map { self.attribute($0, of: name) }
    // One that says the same will do: an entity that declares an inherited attribute again has to name the same composite.
    if let known = hoisted.first(where: { $0.elements == elements && $0.name.hasSuffix("_\(given.name)") }) {
      hoisted.removeSubrange(place...)
      attribute.compositeName = known.name
      return attribute
    }
    attribute.compositeName = name
    hoisted.append(CompositeAttributeDescription(name, elements: elements))
    return attribute
  }

  /// A name that no model refuses for its length.
  private static func name(_ wanted: String) -> String {
    wanted.utf8.count <= 200 ? wanted : "Composite"
  }

  mutating func finish() -> [CompositeAttributeDescription] {
    let own = composites.map { given -> CompositeAttributeDescription in
      var composite = given
      composite.elements = given.elements.map { attribute($0, of: given.name) }
      return composite
    }
    return own + hoisted
  }
}
