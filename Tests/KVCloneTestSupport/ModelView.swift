public import KVCloneModel

/// A model in the form that the reference code uses: every concrete entity with all its properties, by name.
///
/// It shares no code with the store's compiled model, so that comparing both reveals mistakes in either.
public final class ModelView: Sendable {
  /// Entities by name, abstract ones too.
  public let entities: [String: EntityView]
  /// Entity names in the model's order.
  public let entityNames: [String]

  /// Reads the whole of `model` once.
  public init(_ model: ManagedObjectModel) {
    let byName = Dictionary(model.entities.map { ($0.name, $0) }) { first, _ in first }
    var views: [String: EntityView] = [:]
    for entity in model.entities {
      var ancestors = [entity.name]
      while let parent = byName[ancestors[ancestors.count - 1]]?.superentityName, !ancestors.contains(parent) {
        ancestors.append(parent)
      }
      views[entity.name] = EntityView(
        name: entity.name, isAbstract: entity.isAbstract, lineage: ancestors,
        attributes: model.attributes(of: entity.name),
        relationships: model.relationships(of: entity.name).filter { !$0.isTransient }.map {
          RelationshipView(
            description: $0, owner: entity.name, inverses: Self.inverses(of: $0, in: ancestors, model: model, byName))
        },
        constraints: ancestors.reversed().flatMap { ancestor in
          (byName[ancestor]?.uniquenessConstraints ?? []).map { Constraint(entity: ancestor, properties: $0) }
        })
    }
    entities = views
    entityNames = model.entities.map(\.name)
  }

  /// Returns the relationship `name` of `entity`, inherited or its own.
  public func relationship(_ name: String, of entity: String) -> RelationshipView? {
    entities[entity]?.relationships.first { $0.name == name }
  }

  /// Returns whether objects of `entity` are also objects of `ancestor`.
  public func isKind(_ entity: String, of ancestor: String) -> Bool {
    entities[entity]?.lineage.contains(ancestor) ?? false
  }

  /// Returns the concrete entities among `entity` and its descendants.
  public func concreteEntities(of entity: String) -> [EntityView] {
    entityNames.compactMap { entities[$0] }.filter { !$0.isAbstract && $0.lineage.contains(entity) }
  }

  /// Returns the inverse in each descendant of the named inverse entity; empty unless both sides name each other.
  private static func inverses(
    of relationship: RelationshipDescription, in lineage: [String], model: ManagedObjectModel,
    _ byName: [String: EntityDescription]
  ) -> [String: RelationshipDescription] {
    guard let inverseName = relationship.inverseName else { return [:] }
    let inverseEntity = relationship.inverseEntityName ?? relationship.destinationEntityName
    var found: [String: RelationshipDescription] = [:]
    for entity in model.entities {
      var chain: [String] = []
      var next: String? = entity.name
      while let name = next, !chain.contains(name) {
        chain.append(name)
        next = byName[name]?.superentityName
      }
      guard chain.contains(inverseEntity), chain.contains(relationship.destinationEntityName),
        let inverse = model.relationships(of: entity.name).first(where: { $0.name == inverseName }),
        inverse.inverseName == relationship.name, !inverse.isTransient
      else { continue }
      let back = inverse.inverseEntityName ?? inverse.destinationEntityName
      if lineage.contains(back) { found[entity.name] = inverse }
    }
    return found
  }
}

/// One entity with everything it inherits.
public struct EntityView: Sendable {
  /// The entity's name.
  public let name: String
  /// Whether the entity is abstract.
  public let isAbstract: Bool
  /// The entity, its parent, and so on up to the root entity.
  public let lineage: [String]
  /// All attributes, inherited ones first.
  public let attributes: [AttributeDescription]
  /// All stored relationships, inherited ones first.
  public let relationships: [RelationshipView]
  /// All uniqueness constraints, with the entity that declares each.
  public let constraints: [Constraint]

  /// The root entity, which numbers this entity's objects.
  public var root: String { lineage[lineage.count - 1] }

  /// Returns the attribute `name`, or nil.
  public func attribute(_ name: String) -> AttributeDescription? { attributes.first { $0.name == name } }

  /// Stored attributes that are not derived.
  public var storedAttributes: [AttributeDescription] { attributes.filter { !$0.isTransient && !$0.isDerived } }
}

/// A uniqueness constraint: no two objects of `entity` or below have equal values for all `properties`.
public struct Constraint: Hashable, Sendable {
  /// The entity that declares it.
  public let entity: String
  /// Attributes and to-one relationships.
  public let properties: [String]
}

/// One relationship, seen from one entity.
public struct RelationshipView: Sendable {
  /// The relationship's description, its userInfo merged along the inheritance.
  public let description: RelationshipDescription
  /// The entity that owns the relationship in this view.
  public let owner: String
  /// The inverse by the target's concrete entity.
  fileprivate let inverses: [String: RelationshipDescription]

  fileprivate init(
    description: RelationshipDescription, owner: String, inverses: [String: RelationshipDescription]
  ) {
    self.description = description
    self.owner = owner
    self.inverses = inverses
  }

  /// The relationship's name.
  public var name: String { description.name }
  /// Whether it leads to many objects.
  public var isToMany: Bool { description.isToMany }
  /// Whether its targets have a position.
  public var isOrdered: Bool { description.isOrdered }
  /// The name of the entity it leads to.
  public var destination: String { description.destinationEntityName }
  /// Whether some target has an inverse to it.
  public var hasInverse: Bool { !inverses.isEmpty }

  /// Returns the inverse at a target of `entity`, or nil for a one-sided relationship.
  public func inverse(at entity: String) -> RelationshipDescription? { inverses[entity] }

  /// The largest number of targets, or nil if unlimited.
  public var limit: Int? {
    if !isToMany { return 1 }
    return description.maxCount > 0 ? description.maxCount : nil
  }

  /// Returns whether `count` targets satisfy the lower bound.
  ///
  /// An optional relationship may be empty regardless of its minCount. A required to-many relationship without a
  /// minCount may be empty too: CareKit's model declares `previous` and `next` so, and a first version has no previous
  /// one.
  public func isSatisfied(by count: Int) -> Bool {
    if count == 0 && description.isOptional { return true }
    if !isToMany { return count >= 1 || description.isOptional }
    return count >= description.minCount
  }
}
