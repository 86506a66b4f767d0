import KVCloneCore
import KVCloneModel
import KVCloneRecords

/// Compares one entity of two models, property by property, for cloning objects of the one as objects of the other.
struct EntityBridgeCompiler {
  let source: CompiledEntity
  let sourceSchema: Schema
  let schema: Schema
  /// Whether derived attributes are mapped, too: their values are then computed as within one store, as far as they are
  /// known before the commit.
  let takesDerived: Bool
  private(set) var destination: CompiledEntity?
  private(set) var errors: [CloneError] = []
  private(set) var relationships: [CompiledRelationship] = []
  private(set) var fields: [Int?] = []
  private(set) var attributes: [Int?] = []
  private(set) var defaults: [EntityBridge.Default] = []
  private(set) var referrers: [UInt16: UInt16] = [:]

  mutating func compile() {
    fields = Array(repeating: nil, count: source.layout.fieldCount)
    guard let entity = schema.entitiesByName[source.name] else {
      return refuse(nil, "the entity \(source.name) is missing")
    }
    if entity.isAbstract { return refuse(nil, "\(source.name) is abstract") }
    destination = entity
    // A relationship's targets include subentities, so the hierarchy has to be the same in both models.
    for code in source.lineage.sorted() {
      guard let name = sourceSchema.entity(code: code)?.name else { continue }
      if let above = schema.entitiesByName[name], entity.isKind(of: above.code) { continue }
      refuse(nil, "\(source.name) is not a subentity of \(name)")
    }
    attributes = Array(repeating: nil, count: entity.attributes.count)
    for (index, attribute) in source.attributes.enumerated() where attribute.field != nil {
      take(attribute, index, entity)
    }
    for (index, attribute) in entity.attributes.enumerated() where attributes[index] == nil {
      fill(attribute, entity)
    }
    for relationship in source.relationships { take(relationship, entity) }
    mapReferrers()
  }

  /// - Parameter what: The destination's declaration, as text that follows "in the model of the other store".
  private mutating func refuse(_ property: String?, _ what: String) {
    errors.append(
      CloneError(
        .incompatibleModel,
        "\(source.name) cannot be cloned into the other store, because in its model \(what) (R35); clone into a store "
          + "with the same entities, attributes and relationships", entity: source.name, property: property))
  }

  private mutating func take(_ attribute: CompiledAttribute, _ index: Int, _ entity: CompiledEntity) {
    // Each store computes its own derived attributes (R19).
    if attribute.description.isDerived, !takesDerived { return }
    let type = attribute.description.type
    guard let other = entity.attributeIndex[attribute.path], let field = entity.attributes[other].field else {
      return refuse(attribute.path, "\(source.name) has no stored attribute \(attribute.path)")
    }
    guard entity.attributes[other].description.type == type else {
      let found = entity.attributes[other].description.type.rawValue
      return refuse(attribute.path, "\(source.name).\(attribute.path) is \(found), not \(type.rawValue)")
    }
    if entity.attributes[other].description.isDerived, !takesDerived { return }
    attributes[other] = index
    if let preset = attribute.field { fields[preset] = field }
  }

  /// Sets the default of an attribute without a counterpart in the source.
  private mutating func fill(_ attribute: CompiledAttribute, _ entity: CompiledEntity) {
    guard let field = attribute.field, !attribute.description.isDerived else { return }
    let composite = attribute.composite
    let taken = entity.attributes.enumerated().filter { index, other in
      composite != nil && other.composite == composite && attributes[index] != nil
    }.compactMap { $0.element.field }
    if let value = attribute.description.defaultValue {
      return defaults.append(.init(field: field, value: value, composite: taken))
    }
    if attribute.description.isOptional { return }
    // A composite attribute that is nil as a whole does not require its elements.
    if let composite, taken.isEmpty, entity.composites[composite]?.isOptional ?? false { return }
    refuse(
      attribute.path,
      "\(source.name).\(attribute.path), which the source model lacks, is required and has no default")
  }

  private mutating func take(_ relationship: CompiledRelationship, _ entity: CompiledEntity) {
    let name = "\(source.name).\(relationship.name)"
    guard let index = entity.relationshipIndex[relationship.name] else {
      return refuse(relationship.name, "the relationship \(name) is missing")
    }
    let other = entity.relationships[index]
    relationships.append(other)
    let (mine, its) = (relationship.description, other.description)
    let target = sourceSchema.entity(code: relationship.destinationCode)?.name
    if other.isToMany != relationship.isToMany {
      refuse(relationship.name, "\(name) is \(other.isToMany ? "to-many" : "to-one")")
    } else if other.isOrdered != relationship.isOrdered {
      refuse(relationship.name, "\(name) is \(other.isOrdered ? "ordered" : "not ordered")")
    } else if schema.entity(code: other.destinationCode)?.name != target {
      refuse(relationship.name, "\(name) leads to \(its.destinationEntityName), not \(mine.destinationEntityName)")
    } else if other.hasInverse != relationship.hasInverse
      || other.hasInverse
        && (its.inverseName != mine.inverseName || other.inverseIsToMany != relationship.inverseIsToMany)
    {
      refuse(relationship.name, "\(name) has a different inverse")
    } else if let field = source.layout.fieldIndex(ofProperty: relationship.code) {
      fields[field] = other.field
    }
  }

  /// Maps the hidden referrer lists of this entity. A list of a relationship that the other model lacks is rejected
  /// with that relationship.
  private mutating func mapReferrers() {
    for entity in sourceSchema.entities {
      for relationship in entity.relationships
      where !relationship.hasInverse && source.referrerCodes.contains(relationship.inverseCode) {
        guard referrers[relationship.inverseCode] == nil,
          let other = schema.entitiesByName[entity.name],
          let index = other.relationshipIndex[relationship.name], !other.relationships[index].hasInverse
        else { continue }
        referrers[relationship.inverseCode] = other.relationships[index].inverseCode
      }
    }
  }
}
