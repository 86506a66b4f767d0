public import KVCloneModel

/// A model as the reference code asks it: every concrete entity with all its properties, looked up by name.
///
/// Nothing here is shared with the store's own compiled form; a mistake in one shows against the other.
public final class ModelView: Sendable {
  /// Entities by name, abstract ones too.
  public let entities: [String: EntityView]
  /// Entity names in the model's order.
  public let entityNames: [String]

  /// Reads everything out of `model` once.
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

  /// The relationship `name` of `entity`, inherited or its own.
  public func relationship(_ name: String, of entity: String) -> RelationshipView? {
    entities[entity]?.relationships.first { $0.name == name }
  }

  /// Whether objects of `entity` are also objects of `ancestor`.
  public func isKind(_ entity: String, of ancestor: String) -> Bool {
    entities[entity]?.lineage.contains(ancestor) ?? false
  }

  /// Entities that have objects of their own and are `entity` or below it.
  public func concreteEntities(of entity: String) -> [EntityView] {
    entityNames.compactMap { entities[$0] }.filter { !$0.isAbstract && $0.lineage.contains(entity) }
  }

  /// The inverse as each entity below the named inverse entity has it; empty unless the two sides name each other.
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
  /// Whether it has no objects of its own.
  public let isAbstract: Bool
  /// The entity, its parent, and so on up to the root entity.
  public let lineage: [String]
  /// All attributes, inherited ones first.
  public let attributes: [AttributeDescription]
  /// All stored relationships, inherited ones first.
  public let relationships: [RelationshipView]
  /// All uniqueness constraints, with the entity that declares each.
  public let constraints: [Constraint]

  /// The entity that numbers this one's objects.
  public var root: String { lineage[lineage.count - 1] }

  /// The attribute `name`, nil if there is none.
  public func attribute(_ name: String) -> AttributeDescription? { attributes.first { $0.name == name } }

  /// Attributes that an object keeps and that nobody computes.
  public var storedAttributes: [AttributeDescription] { attributes.filter { !$0.isTransient && !$0.isDerived } }
}

/// A uniqueness constraint: no two objects of `entity` or below have equal values for all `properties`.
public struct Constraint: Hashable, Sendable {
  /// The entity that declares it.
  public let entity: String
  /// Attributes and to-one relationships.
  public let properties: [String]
}

/// One relationship as one entity has it.
public struct RelationshipView: Sendable {
  /// The relationship's description, its userInfo merged along the inheritance.
  public let description: RelationshipDescription
  /// The entity that was asked.
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

  /// The inverse at a target of `entity`; nil where links have one side only.
  public func inverse(at entity: String) -> RelationshipDescription? { inverses[entity] }

  /// The largest number of targets, nil for any number.
  public var limit: Int? {
    if !isToMany { return 1 }
    return description.maxCount > 0 ? description.maxCount : nil
  }

  /// Whether `count` targets satisfy the lower bound.
  ///
  /// An optional relationship may be empty whatever its minCount. A required to-many relationship without a minCount
  /// may be empty too: CareKit's model declares `previous` and `next` so, and a first version has no previous one.
  public func isSatisfied(by count: Int) -> Bool {
    if count == 0 && description.isOptional { return true }
    if !isToMany { return count >= 1 || description.isOptional }
    return count >= description.minCount
  }
}
