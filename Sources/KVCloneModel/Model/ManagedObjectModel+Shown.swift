#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

extension ManagedObjectModel {
  /// The document of `kvclone model show --format json`: entities, and each entity's own and inherited properties,
  /// sorted by name in UTF-8; indented on request.
  package func shownJSON(pretty: Bool = false) throws -> String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    if pretty { encoder.outputFormatting.insert(.prettyPrinted) }
    return String(decoding: try encoder.encode(ShownModel(self)), as: UTF8.self)
  }
}

private struct ShownModel: Encodable {
  let name: String
  let version: String
  let hash: String
  let entities: [ShownEntity]
  let composites: [ShownComposite]

  init(_ model: ManagedObjectModel) {
    name = model.name
    version = model.versionIdentifier
    hash = model.modelHash.hex
    entities = model.entities.sorted { precedes($0.name, $1.name) }.map { ShownEntity($0, in: model) }
    composites = model.composites.sorted { precedes($0.name, $1.name) }.map {
      ShownComposite(name: $0.name, elements: shown($0.elements))
    }
  }
}

private struct ShownComposite: Encodable {
  let name: String
  let elements: [ShownAttribute]
}

private struct ShownEntity: Encodable {
  let name: String
  @Nullable var parent: String?
  let abstract: Bool
  let attributes: [ShownAttribute]
  let relationships: [ShownRelationship]
  let uniquenessConstraints: [[String]]
  let userInfo: [String: String]

  init(_ entity: EntityDescription, in model: ManagedObjectModel) {
    name = entity.name
    parent = entity.superentityName
    abstract = entity.isAbstract
    attributes = shown(model.attributes(of: entity.name))
    relationships = model.relationships(of: entity.name).sorted { precedes($0.name, $1.name) }.map {
      ShownRelationship($0)
    }
    uniquenessConstraints = model.uniquenessConstraints(of: entity.name)
    userInfo = model.userInfo(of: entity.name)
  }
}

private struct ShownAttribute: Encodable {
  let name: String
  let type: String
  let optional: Bool
  @Nullable var `default`: ShownValue?
  let transient: Bool
  let derivation: String?
  let composite: String?
  let userInfo: [String: String]

  init(_ attribute: AttributeDescription) {
    name = attribute.name
    type = attribute.type.rawValue
    optional = attribute.isOptional
    `default` = attribute.defaultValue.map(ShownValue.init)
    transient = attribute.isTransient
    derivation = attribute.derivationExpression
    composite = attribute.compositeName
    userInfo = attribute.userInfo
  }
}

private struct ShownRelationship: Encodable {
  let name: String
  let destination: String
  @Nullable var inverse: String?
  let toMany: Bool
  let ordered: Bool
  let optional: Bool
  let min: Int
  let max: Int
  let deleteRule: String
  let userInfo: [String: String]

  init(_ relationship: RelationshipDescription) {
    name = relationship.name
    destination = relationship.destinationEntityName
    inverse = relationship.inverseName
    toMany = relationship.isToMany
    ordered = relationship.isOrdered
    optional = relationship.isOptional
    min = relationship.minCount
    max = relationship.maxCount
    deleteRule = relationship.deleteRule.rawValue
    userInfo = relationship.userInfo
  }
}

/// Encodes nil as `null`, where a plain optional would be omitted.
@propertyWrapper
private struct Nullable<Value: Encodable>: Encodable {
  var wrappedValue: Value?

  func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    if let wrappedValue { try container.encode(wrappedValue) } else { try container.encodeNil() }
  }
}

/// A default value in the format of an NDJSON line.
private struct ShownValue: Encodable {
  let value: AttributeValue

  func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    switch value {
    case .integer(let number): try container.encode(number)
    case .decimal(let number): try container.encode(number.description)
    case .double(let number):
      if number.isFinite { try container.encode(number) } else { try container.encode(text(ofNonFinite: number)) }
    case .float(let number):
      if number.isFinite {
        try container.encode(number)
      } else {
        try container.encode(text(ofNonFinite: Double(number)))
      }
    case .string(let text), .uri(let text): try container.encode(text)
    case .boolean(let flag): try container.encode(flag)
    case .date(let date): try encode(date, &container)
    case .binary(let data), .transformable(let data):
      try container.encode(["base64": data.base64EncodedString()])
    case .uuid(let uuid): try container.encode(uuid.uuidString)
    case .composite(let elements): try container.encode(elements.mapValues(ShownValue.init))
    case .blob: try container.encodeNil()
    }
  }

  private func text(ofNonFinite number: Double) -> String {
    number.isNaN ? "NaN" : number > 0 ? "Infinity" : "-Infinity"
  }

  /// Whole seconds of the years 1 to 9999 are shown as a calendar text; all others as a number.
  private func encode(_ date: Date, _ container: inout any SingleValueEncodingContainer) throws {
    let seconds = date.timeIntervalSinceReferenceDate
    let years = -63_113_904_000.0..<252_455_616_000.0
    if seconds == seconds.rounded(), years.contains(seconds), let text = CalendarText.text(secondsSince2001: seconds) {
      try container.encode(text)
    } else if seconds.isFinite {
      try container.encode(["secondsSince2001": seconds])
    } else {
      try container.encode(["secondsSince2001": text(ofNonFinite: seconds)])
    }
  }
}

private func precedes(_ left: String, _ right: String) -> Bool { left.utf8.lexicographicallyPrecedes(right.utf8) }

private func shown(_ attributes: [AttributeDescription]) -> [ShownAttribute] {
  attributes.sorted { precedes($0.name, $1.name) }.map { ShownAttribute($0) }
}
