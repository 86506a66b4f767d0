#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

extension ManagedObjectModel {
  /// The document of `kvclone model show --format json`: entities, and each entity's own and inherited properties,
  /// sorted by name in UTF-8.
  package func shownJSON() throws -> String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    return String(decoding: try encoder.encode(ShownModel(model: self)), as: UTF8.self)
  }
}

private struct ShownModel: Encodable {
  let model: ManagedObjectModel

  func encode(to encoder: any Encoder) throws {
    var shown = encoder.container(keyedBy: CodedKey.self)
    try shown.encode(model.name, forKey: "name")
    try shown.encode(model.versionIdentifier, forKey: "version")
    try shown.encode(model.modelHash.hex, forKey: "hash")
    let entities = model.entities.sorted { precedes($0.name, $1.name) }
    try shown.encode(entities.map { ShownEntity(entity: $0, model: model) }, forKey: "entities")
    let composites = model.composites.sorted { precedes($0.name, $1.name) }
    try shown.encode(composites.map { ShownComposite(composite: $0) }, forKey: "composites")
  }
}

private struct ShownComposite: Encodable {
  let composite: CompositeAttributeDescription

  func encode(to encoder: any Encoder) throws {
    var shown = encoder.container(keyedBy: CodedKey.self)
    try shown.encode(composite.name, forKey: "name")
    try shown.encode(ShownAttribute.all(composite.elements), forKey: "elements")
  }
}

private struct ShownEntity: Encodable {
  let entity: EntityDescription
  let model: ManagedObjectModel

  func encode(to encoder: any Encoder) throws {
    var shown = encoder.container(keyedBy: CodedKey.self)
    try shown.encode(entity.name, forKey: "name")
    try shown.encode(entity.superentityName, forKey: "parent")
    try shown.encode(entity.isAbstract, forKey: "abstract")
    try shown.encode(ShownAttribute.all(model.attributes(of: entity.name)), forKey: "attributes")
    let relationships = model.relationships(of: entity.name).sorted { precedes($0.name, $1.name) }
    try shown.encode(relationships.map { ShownRelationship(relationship: $0) }, forKey: "relationships")
    try shown.encode(model.uniquenessConstraints(of: entity.name), forKey: "uniquenessConstraints")
    try shown.encode(model.userInfo(of: entity.name), forKey: "userInfo")
  }
}

private struct ShownAttribute: Encodable {
  let attribute: AttributeDescription

  static func all(_ attributes: [AttributeDescription]) -> [ShownAttribute] {
    attributes.sorted { precedes($0.name, $1.name) }.map { ShownAttribute(attribute: $0) }
  }

  func encode(to encoder: any Encoder) throws {
    var shown = encoder.container(keyedBy: CodedKey.self)
    try shown.encode(attribute.name, forKey: "name")
    try shown.encode(attribute.type.rawValue, forKey: "type")
    try shown.encode(attribute.isOptional, forKey: "optional")
    try shown.encode(attribute.defaultValue.map(ShownValue.init), forKey: "default")
    try shown.encode(attribute.isTransient, forKey: "transient")
    try shown.encodeIfPresent(attribute.derivationExpression, forKey: "derivation")
    try shown.encodeIfPresent(attribute.compositeName, forKey: "composite")
    try shown.encode(attribute.userInfo, forKey: "userInfo")
  }
}

private struct ShownRelationship: Encodable {
  let relationship: RelationshipDescription

  func encode(to encoder: any Encoder) throws {
    var shown = encoder.container(keyedBy: CodedKey.self)
    try shown.encode(relationship.name, forKey: "name")
    try shown.encode(relationship.destinationEntityName, forKey: "destination")
    try shown.encode(relationship.inverseName, forKey: "inverse")
    try shown.encode(relationship.isToMany, forKey: "toMany")
    try shown.encode(relationship.isOrdered, forKey: "ordered")
    try shown.encode(relationship.isOptional, forKey: "optional")
    try shown.encode(relationship.minCount, forKey: "min")
    try shown.encode(relationship.maxCount, forKey: "max")
    try shown.encode(relationship.deleteRule.rawValue, forKey: "deleteRule")
    try shown.encode(relationship.userInfo, forKey: "userInfo")
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
