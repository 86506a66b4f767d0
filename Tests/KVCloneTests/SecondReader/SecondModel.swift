import Foundation
import KVCloneTestSupport

/// The parts of an attribute that the second reader uses.
struct SecondAttribute {
  let name: String
  let isTransient: Bool
  /// Whether nil is written explicitly, because a missing value would be read as the default.
  let hasDefault: Bool
  let elements: [SecondAttribute]

  /// - Parameter composites: the elements of named composite attributes.
  init(_ json: [String: Any], composites: [String: [[String: Any]]]) {
    name = json["name"] as? String ?? ""
    isTransient = json["transient"] as? Bool ?? false
    let inner = json["elements"] as? [[String: Any]] ?? (json["composite"] as? String).flatMap { composites[$0] } ?? []
    elements = inner.map { SecondAttribute($0, composites: composites) }
    hasDefault = json["derivation"] == nil && (json["default"] != nil || elements.contains(where: \.hasDefault))
  }
}

/// The parts of a relationship that the second reader uses; destination and inverse are names.
struct SecondRelationship {
  let name: String
  let destination: String
  let inverse: String?
  let isOrdered: Bool

  init(_ json: [String: Any]) {
    name = json["name"] as? String ?? ""
    destination = json["destination"] as? String ?? ""
    inverse = json["inverse"] as? String
    isOrdered = json["ordered"] as? Bool ?? false
  }
}

/// A fetch index: `name,canonical:(title) desc`.
struct SecondFetchIndex {
  let number: UInt16
  let entity: String
  let columns: [(path: String, isDescending: Bool, isFolded: Bool)]

  init(number: UInt16, entity: String, _ definition: String) {
    self.number = number
    self.entity = entity
    columns = definition.split(separator: ",").map { column in
      let isDescending = column.hasSuffix(" desc")
      let path = isDescending ? column.dropLast(5) : column
      let isFolded = path.hasPrefix("canonical:(")
      return (String(isFolded ? path.dropFirst(11).dropLast() : path), isDescending, isFolded)
    }
  }
}

/// An index: a uniqueness constraint of an entity, over paths of attributes.
struct SecondIndex {
  let number: UInt16
  let entity: String
  let properties: [String]
}

/// An entity with all inherited properties.
struct SecondEntity {
  let name: String
  /// The entity and its ancestors, root first.
  let lineage: [String]
  let rootCode: UInt16
  private(set) var attributes: [String: SecondAttribute] = [:]
  /// Relationships by code.
  private(set) var relationships: [UInt16: SecondRelationship] = [:]
  /// Codes by name, or by path for the leaves of composite attributes.
  private(set) var codes: [String: UInt16] = [:]
  /// Codes of the hidden lists of referring objects, by relationship; absent for relationships with an inverse.
  private(set) var referrers: [String: UInt16] = [:]

  fileprivate init(_ name: String, in document: SecondDocument) throws {
    self.name = name
    var lineage: [String] = []
    var current: String? = name
    while let name = current, let entity = document.entities[name], lineage.count <= document.entities.count {
      lineage.insert(name, at: 0)
      current = entity["parent"] as? String
    }
    guard let root = lineage.first, let rootCode = document.entityCodes[root] else {
      throw SecondError("an entity has no code")
    }
    self.lineage = lineage
    self.rootCode = rootCode
    for name in lineage {
      // A redeclared property replaces the inherited one, and keeps its code.
      codes.merge(document.propertyCodes[name] ?? [:]) { first, _ in first }
      referrers.merge(document.referrerCodes[name] ?? [:]) { first, _ in first }
      for json in document.entities[name]?["attributes"] as? [[String: Any]] ?? [] {
        let attribute = SecondAttribute(json, composites: document.composites)
        attributes[attribute.name] = attribute
      }
      for json in document.entities[name]?["relationships"] as? [[String: Any]] ?? [] {
        let relationship = SecondRelationship(json)
        if let code = codes[relationship.name] { relationships[code] = relationship }
      }
    }
  }
}

/// A model's document in `metadata`.
private struct SecondDocument {
  let model: [String: Any]
  let codes: [String: Any]
  let entities: [String: [String: Any]]
  let composites: [String: [[String: Any]]]
  let entityCodes: [String: UInt16]
  let propertyCodes: [String: [String: UInt16]]
  let referrerCodes: [String: [String: UInt16]]

  init(_ bytes: ArraySlice<UInt8>) throws {
    let outer = try Self.object(Data(bytes))
    guard let codes = outer["codes"] as? [String: Any], let text = outer["modelText"] as? String else {
      throw SecondError("a model document lacks codes or modelText")
    }
    model = try Self.object(Data(text.utf8))
    self.codes = codes
    entities = Self.named(model["entities"])
    composites = Self.named(model["composites"]).mapValues { $0["elements"] as? [[String: Any]] ?? [] }
    entityCodes = codes["entities"] as? [String: UInt16] ?? [:]
    propertyCodes = codes["properties"] as? [String: [String: UInt16]] ?? [:]
    referrerCodes = codes["referrers"] as? [String: [String: UInt16]] ?? [:]
  }

  private static func object(_ data: Data) throws -> [String: Any] {
    guard let object = try JSONSerialization.jsonObject(with: data) as? [String: Any] else {
      throw SecondError("a document is not a JSON object")
    }
    return object
  }

  private static func named(_ array: Any?) -> [String: [String: Any]] {
    var result: [String: [String: Any]] = [:]
    for json in array as? [[String: Any]] ?? [] { result[json["name"] as? String ?? ""] = json }
    return result
  }
}

/// The current model, with the codes in its document.
struct SecondModel {
  let name: String
  /// `name`, if the document has no version.
  let version: String
  /// Entities by code, abstract ones too.
  private(set) var entities: [UInt16: SecondEntity] = [:]
  private(set) var indexes: [SecondIndex] = []
  private(set) var fetchIndexes: [SecondFetchIndex] = []
  /// The largest codes ever assigned.
  private(set) var last: [String: UInt16] = [:]

  init(_ bytes: ArraySlice<UInt8>) throws {
    let document = try SecondDocument(bytes)
    name = document.model["name"] as? String ?? ""
    version = document.model["version"] as? String ?? name
    for (name, code) in document.entityCodes where document.entities[name] != nil {
      entities[code] = try SecondEntity(name, in: document)
    }
    for (entity, numbers) in document.codes["indexes"] as? [String: [String: UInt16]] ?? [:] {
      for (properties, number) in numbers {
        let paths = properties.split(separator: ",").map(String.init)
        indexes.append(SecondIndex(number: number, entity: entity, properties: paths))
      }
    }
    for (entity, numbers) in document.codes["fetchIndexes"] as? [String: [String: UInt16]] ?? [:] {
      for (definition, number) in numbers {
        fetchIndexes.append(SecondFetchIndex(number: number, entity: entity, definition))
      }
    }
    for (key, value) in document.codes { last[key] = value as? UInt16 }
  }

  func entity(of record: SecondRecord) throws -> SecondEntity {
    guard let entity = entities[record.entity] else { throw SecondError("an object has an unknown entity") }
    return entity
  }
}
