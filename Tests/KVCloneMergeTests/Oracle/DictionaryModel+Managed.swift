import Foundation
import KVCloneModel

extension DictionaryModel {
  /// The oracle's form of a model. Transient, derived and unsupported attributes are left out; nil if inserting needs
  /// one of them, or if values have bounds that the generator does not know.
  init?(_ model: ManagedObjectModel) {
    entities = []
    var rank = 0
    for entity in model.entities {
      let inherited = model.superentities(of: entity.name).compactMap { model.entity(named: $0) }
      let names = Set(inherited.flatMap { $0.attributes.map(\.name) + $0.relationships.map(\.name) })
      var copy = DictionaryEntity(
        name: entity.name, parent: entity.superentityName, isAbstract: entity.isAbstract,
        constraints: entity.uniquenessConstraints)
      for attribute in entity.attributes where !names.contains(attribute.name) {
        if attribute.isTransient || attribute.isDerived { continue }
        let isBound = attribute.minValue != nil || attribute.maxValue != nil || attribute.regularExpression != nil
        guard !isBound, attribute.defaultValue == nil, let known = DictionaryAttribute(attribute) else { return nil }
        copy.attributes.append(known)
      }
      for relationship in entity.relationships where !names.contains(relationship.name) && !relationship.isTransient {
        copy.relationships.append(DictionaryRelationship(relationship, owner: entity.name, rank: rank))
        rank += 1
      }
      entities.append(copy)
    }
  }

  /// The model that stores of this oracle have.
  var managed: ManagedObjectModel {
    let composites = entities.flatMap(\.attributes).filter { $0.type == .composite }
    return ManagedObjectModel(
      name: "Oracle",
      entities: entities.map { entity in
        EntityDescription(
          name: entity.name, superentityName: entity.parent, isAbstract: entity.isAbstract,
          attributes: entity.attributes.map(\.managed), relationships: entity.relationships.map(managed),
          uniquenessConstraints: entity.constraints)
      },
      composites: composites.map { CompositeAttributeDescription($0.name, elements: $0.elements.map(\.managed)) })
  }

  private func managed(_ relationship: DictionaryRelationship) -> RelationshipDescription {
    let rule: DeleteRule =
      switch relationship.deleteRule {
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

extension DictionaryRelationship {
  fileprivate init(_ relationship: RelationshipDescription, owner: String, rank: Int) {
    self.init(
      name: relationship.name, owner: owner, destination: relationship.destinationEntityName,
      isToMany: relationship.isToMany, isOrdered: relationship.isOrdered, isOptional: relationship.isOptional,
      minimum: relationship.isToMany ? relationship.minCount : 0,
      maximum: relationship.isToMany ? relationship.maxCount : 0,
      deleteRule: relationship.deleteRule == .cascade ? .cascade : relationship.deleteRule == .deny ? .deny : .nullify,
      inverse: relationship.inverseName, rank: rank,
      role: relationship.userInfo["merge"].flatMap(DictionaryRule.init))
  }
}

extension DictionaryAttribute {
  fileprivate init?(_ attribute: AttributeDescription) {
    guard let type = DictionaryType(attribute.type) else { return nil }
    let elements = attribute.elements.compactMap(DictionaryAttribute.init)
    guard elements.count == attribute.elements.count, !elements.contains(where: { $0.type == .composite }) else {
      return nil
    }
    self.init(
      name: attribute.name, type: type, isOptional: attribute.isOptional,
      role: attribute.userInfo["merge"].flatMap(DictionaryRule.init), elements: elements)
  }

  fileprivate var managed: AttributeDescription {
    AttributeDescription(
      name, type.managed, optional: isOptional, composite: type == .composite ? name : nil,
      elements: elements.map(\.managed), userInfo: role.map { ["merge": $0.rawValue] } ?? [:])
  }
}

extension DictionaryType {
  fileprivate init?(_ type: AttributeType) {
    switch type {
    case .integer16: self = .integer16
    case .integer32: self = .integer32
    case .integer64: self = .integer64
    case .double: self = .double
    case .string: self = .string
    case .date: self = .date
    case .boolean: self = .boolean
    case .binary: self = .binary
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
