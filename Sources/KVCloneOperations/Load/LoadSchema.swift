import KVCloneCore
import KVCloneModel

/// An entity in the form for parsing lines.
struct LoadEntity {
  let index: UInt16
  let name: String
  /// The index of its root entity.
  let root: UInt16
  let isAbstract: Bool
  let attributes: [String: AttributeDescription]
  let relationships: [String: LoadRelationship]
}

/// One side of a link, as an entity's lines contain it.
struct LoadRelationship {
  let description: RelationshipDescription
  /// Index into ``LoadSchema/pairs``.
  let pair: Int
  /// 0 or 1: which side of the pair.
  let side: Int
  /// By entity index: whether a target may be of that entity.
  let accepts: [Bool]
}

/// A relationship and its inverse, which are two views of the same links.
struct LoadPair {
  /// One side without an inverse, or if the relationship is its own inverse; else two.
  let sides: [Side]
  let isOwnInverse: Bool

  struct Side {
    let entity: String
    let description: RelationshipDescription
  }
}

/// A model in the form for parsing NDJSON.
struct LoadSchema {
  let entities: [LoadEntity]
  private let entitiesByName: [String: Int]
  let pairs: [LoadPair]

  init(_ model: ManagedObjectModel) {
    var pairs: [LoadPair] = []
    var places: [PropertyKey: (pair: Int, side: Int)] = [:]
    for entity in model.entities {
      for relationship in entity.relationships where !relationship.isTransient {
        LoadSchema.register(relationship, of: entity, model, &pairs, &places)
      }
    }
    self.pairs = pairs
    entities = model.entities.enumerated().map { index, entity in
      let attributes = model.attributes(of: entity.name)
      var relationships: [String: LoadRelationship] = [:]
      for relationship in model.relationships(of: entity.name) {
        let declaring = SchemaInverse.declaringEntity(of: relationship.name, from: entity, in: model)
        guard let place = places[PropertyKey(entity: declaring, name: relationship.name)] else { continue }
        let accepts = model.entities.map { model.entity($0.name, isKindOf: relationship.destinationEntityName) }
        relationships[relationship.name] = LoadRelationship(
          description: relationship, pair: place.pair, side: place.side, accepts: accepts)
      }
      return LoadEntity(
        index: UInt16(index), name: entity.name, root: LoadSchema.root(of: index, in: model),
        isAbstract: entity.isAbstract,
        attributes: Dictionary(attributes.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first }),
        relationships: relationships)
    }
    entitiesByName = Dictionary(
      model.entities.enumerated().map { ($0.element.name, $0.offset) }, uniquingKeysWith: { first, _ in first })
  }

  private static func root(of index: Int, in model: ManagedObjectModel) -> UInt16 {
    var root = index
    while let name = model.entities[root].superentityName,
      let parent = model.entities.firstIndex(where: { $0.name == name })
    {
      root = parent
    }
    return UInt16(root)
  }

  /// The index of an entity in ``entities``.
  func entityIndex(_ name: Substring) -> Int? {
    // Comparing avoids creating a string for a lookup.
    if entities.count <= 8 { return entities.firstIndex { $0.name == name } }
    return entitiesByName[String(name)]
  }

  private struct PropertyKey: Hashable {
    let entity: String
    let name: String
  }

  private static func register(
    _ relationship: RelationshipDescription, of entity: EntityDescription, _ model: ManagedObjectModel,
    _ pairs: inout [LoadPair], _ places: inout [PropertyKey: (pair: Int, side: Int)]
  ) {
    let declaring = SchemaInverse.declaringEntity(of: relationship.name, from: entity, in: model)
    let key = PropertyKey(entity: declaring, name: relationship.name)
    if places[key] != nil { return }
    let side = LoadPair.Side(entity: declaring, description: relationship)
    places[key] = (pairs.count, 0)
    guard let inverse = SchemaInverse.inverse(of: relationship, declaredIn: declaring, in: model) else {
      pairs.append(LoadPair(sides: [side], isOwnInverse: false))
      return
    }
    let inverseKey = PropertyKey(entity: inverse.entity, name: inverse.relationship.name)
    if inverseKey == key {
      pairs.append(LoadPair(sides: [side], isOwnInverse: true))
    } else {
      places[inverseKey] = (pairs.count, 1)
      let other = LoadPair.Side(entity: inverse.entity, description: inverse.relationship)
      pairs.append(LoadPair(sides: [side, other], isOwnInverse: false))
    }
  }
}
