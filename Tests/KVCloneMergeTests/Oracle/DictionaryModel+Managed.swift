import Foundation
import KVCloneModel

extension DictionaryModel {
  /// The oracle's form of a model. Transient and derived properties, defaults and bounds of values are left out, and
  /// types without a rule of their own are replaced by similar ones.
  init(_ model: ManagedObjectModel) {
    entities = []
    var rank = 0
    for entity in model.entities {
      let inherited = model.superentities(of: entity.name).compactMap { model.entity(named: $0) }
      let names = Set(inherited.flatMap { $0.attributes.map(\.name) + $0.relationships.map(\.name) })
      var copy = DictionaryEntity(name: entity.name, parent: entity.superentityName, isAbstract: entity.isAbstract)
      copy.attributes = entity.attributes.filter { !names.contains($0.name) }.compactMap(DictionaryAttribute.init)
      for relationship in entity.relationships where !names.contains(relationship.name) && !relationship.isTransient {
        copy.relationships.append(DictionaryRelationship(relationship, owner: entity.name, rank: rank))
        rank += 1
      }
      entities.append(copy)
    }
    let copies = self
    for (index, entity) in copies.entities.enumerated() {
      for (place, relationship) in entity.relationships.enumerated() {
        // An inverse of another relationship is that of none.
        let inverse = copies.inverse(relationship)
        let isMutual = inverse?.inverse == relationship.name && inverse?.destination == relationship.owner
        if !isMutual { entities[index].relationships[place].inverse = nil }
      }
    }
    for (index, entity) in model.entities.enumerated() {
      entities[index].constraints = entity.uniquenessConstraints.filter { names in
        names.allSatisfy { name in
          attributes(entity.name).contains { $0.name == name && $0.type != .composite && $0.type != .binary }
            || relationships(entity.name).contains { $0.name == name && !$0.isToMany }
        }
      }
    }
  }

  /// The model that stores of this oracle have.
  var managed: ManagedObjectModel {
    let composites = entities.flatMap { entity in
      entity.attributes.filter { $0.type == .composite }.map { attribute in
        CompositeAttributeDescription(
          attribute.compositeName(in: entity.name), elements: attribute.elements.map { $0.managed(in: entity.name) })
      }
    }
    return ManagedObjectModel(
      name: "Oracle",
      entities: entities.map { entity in
        EntityDescription(
          name: entity.name, superentityName: entity.parent, isAbstract: entity.isAbstract,
          attributes: entity.attributes.map { $0.managed(in: entity.name) },
          relationships: entity.relationships.map(managed), uniquenessConstraints: entity.constraints)
      },
      composites: composites)
  }

  private func managed(_ relationship: DictionaryRelationship) -> RelationshipDescription {
    let rule: KVCloneModel.DeleteRule =
      switch relationship.deleteRule {
      case .noAction: .noAction
      case .nullify: .nullify
      case .cascade: .cascade
      case .deny: .deny
      }
    let userInfo = relationship.role.map { ["merge": $0.rawValue] } ?? [:]
    guard relationship.isToMany else {
      return RelationshipDescription(
        relationship.name, toOne: relationship.destination, inverse: relationship.inverse,
        optional: relationship.isOptional, deleteRule: rule, userInfo: userInfo)
    }
    return RelationshipDescription(
      relationship.name, toMany: relationship.destination, inverse: relationship.inverse,
      ordered: relationship.isOrdered, optional: relationship.isOptional, min: relationship.minimum,
      max: relationship.maximum, deleteRule: rule, userInfo: userInfo)
  }
}

extension DictionaryRelationship.DeleteRule {
  fileprivate init(_ rule: KVCloneModel.DeleteRule) {
    switch rule {
    case .noAction: self = .noAction
    case .nullify: self = .nullify
    case .cascade: self = .cascade
    case .deny: self = .deny
    }
  }
}

extension DictionaryRelationship {
  fileprivate init(_ relationship: RelationshipDescription, owner: String, rank: Int) {
    self.init(
      name: relationship.name, owner: owner, destination: relationship.destinationEntityName,
      isToMany: relationship.isToMany, isOrdered: relationship.isOrdered, isOptional: relationship.isOptional,
      minimum: relationship.isToMany ? relationship.minCount : 0,
      maximum: relationship.isToMany ? relationship.maxCount : 0,
      deleteRule: DeleteRule(relationship.deleteRule),
      inverse: relationship.inverseName, rank: rank)
  }
}

extension DictionaryAttribute {
  fileprivate init?(_ attribute: AttributeDescription) {
    guard !attribute.isTransient, !attribute.isDerived, let type = DictionaryType(attribute.type) else { return nil }
    let elements = attribute.elements.compactMap(DictionaryAttribute.init).filter { $0.type != .composite }
    if type == .composite && elements.isEmpty { return nil }
    self.init(name: attribute.name, type: type, isOptional: attribute.isOptional, elements: elements)
  }

  fileprivate func compositeName(in entity: String) -> String { entity + "_" + name }

  fileprivate func managed(in entity: String) -> AttributeDescription {
    AttributeDescription(
      name, type.managed, optional: isOptional, composite: type == .composite ? compositeName(in: entity) : nil,
      elements: elements.map { $0.managed(in: entity) }, userInfo: role.map { ["merge": $0.rawValue] } ?? [:])
  }
}

extension DictionaryType {
  fileprivate init?(_ type: AttributeType) {
    switch type {
    case .integer16: self = .integer16
    case .integer32: self = .integer32
    case .integer64: self = .integer64
    case .double: self = .double
    case .float: self = .float
    case .decimal: self = .decimal
    case .string: self = .string
    case .date: self = .date
    case .boolean: self = .boolean
    case .binary, .transformable: self = .binary
    case .uuid, .uri: self = .string
    case .composite: self = .composite
    default: return nil
    }
  }

  fileprivate var managed: AttributeType {
    switch self {
    case .integer16: .integer16
    case .integer32: .integer32
    case .integer64: .integer64
    case .double: .double
    case .float: .float
    case .decimal: .decimal
    case .string: .string
    case .date: .date
    case .boolean: .boolean
    case .binary: .binary
    case .composite: .composite
    }
  }
}

extension DictionaryValue {
  /// Blobs are longer than the inline size: each length stands for a thousandfold.
  private static let scale = 1_000

  var managed: AttributeValue {
    switch self {
    case .integer(let value): .integer(value)
    case .double(let value): .double(value)
    case .float(let value): .float(value)
    case .decimal(let value): .decimal(value)
    case .string(let value): .string(value)
    case .date(let value): .date(Date(timeIntervalSinceReferenceDate: value))
    case .boolean(let value): .boolean(value)
    case .binary(let bytes):
      .binary(Data(bytes.count > 5 ? Array(repeating: bytes[0], count: bytes.count * Self.scale) : bytes))
    case .composite(let elements): .composite(elements.mapValues(\.managed))
    }
  }

  init?(_ value: AttributeValue) {
    switch value {
    case .integer(let value): self = .integer(value)
    case .double(let value): self = .double(value)
    case .float(let value): self = .float(value)
    case .decimal(let value): self = .decimal(value)
    case .string(let value): self = .string(value)
    case .date(let value): self = .date(value.timeIntervalSinceReferenceDate)
    case .boolean(let value): self = .boolean(value)
    case .binary(let bytes):
      self = .binary(Array(bytes.prefix(bytes.count < Self.scale ? bytes.count : bytes.count / Self.scale)))
    case .composite(let elements):
      let known = elements.compactMapValues(DictionaryValue.init)
      guard known.count == elements.count, !known.isEmpty else { return nil }
      self = .composite(known)
    default: return nil
    }
  }
}
