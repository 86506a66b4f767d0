import Foundation

/// The value of an attribute in the oracle.
enum DictionaryValue: Hashable {
  case integer(Int64)
  case double(Double)
  case float(Float)
  case decimal(Decimal)
  case string(String)
  /// Seconds since the reference date.
  case date(Double)
  case boolean(Bool)
  case binary([UInt8])
  /// The elements that are not nil; never empty.
  case composite([String: DictionaryValue])
}

/// The types of attributes in the oracle.
enum DictionaryType: Hashable {
  case integer16, integer32, integer64, double, float, decimal, string, date, boolean, binary
  case composite
}

/// The rule of a property, as in `userInfo` or in the options of a merge.
enum DictionaryRule: String, Hashable {
  case ours, theirs, sum, max, skip

  var side: DictionarySide? { DictionarySide(rawValue: rawValue) }

  /// The rule for the opposite direction.
  var exchanged: DictionaryRule { self == .ours ? .theirs : self == .theirs ? .ours : self }
}

/// One of the two sides of a merge.
enum DictionarySide: String, Hashable {
  case ours, theirs

  var other: DictionarySide { self == .ours ? .theirs : .ours }
}

struct DictionaryAttribute: Hashable, Sendable {
  var name: String
  var type: DictionaryType
  var isOptional = true
  var role: DictionaryRule?
  var elements: [DictionaryAttribute] = []
}

struct DictionaryRelationship: Hashable, Sendable {
  enum DeleteRule: Sendable { case noAction, nullify, cascade, deny }

  var name: String
  /// The entity that declares the relationship.
  var owner: String
  var destination: String
  var isToMany = false
  var isOrdered = false
  var isOptional = true
  var minimum = 0
  /// 0 means no limit.
  var maximum = 0
  var deleteRule = DeleteRule.nullify
  var inverse: String?
  /// The position in the model, over all entities.
  var rank = 0
  var role: DictionaryRule?

  /// The number of members that an object needs; 0 for an optional relationship.
  var needed: Int { isOptional ? 0 : isToMany ? minimum : 1 }
}

struct DictionaryEntity: Hashable, Sendable {
  var name: String
  var parent: String?
  var isAbstract = false
  var attributes: [DictionaryAttribute] = []
  var relationships: [DictionaryRelationship] = []
  var constraints: [[String]] = []
}

/// The model of the oracle: entities by name, with flat look-ups that ignore speed.
struct DictionaryModel: Sendable {
  var entities: [DictionaryEntity]

  func entity(_ name: String) -> DictionaryEntity? { entities.first { $0.name == name } }

  /// The entity itself and its super-entities, nearest first.
  func lineage(_ name: String) -> [DictionaryEntity] {
    var result: [DictionaryEntity] = []
    var next: String? = name
    while let current = next.flatMap(entity) {
      result.append(current)
      next = current.parent
    }
    return result
  }

  func isKind(_ name: String, of other: String) -> Bool { lineage(name).contains { $0.name == other } }

  func attributes(_ entity: String) -> [DictionaryAttribute] { lineage(entity).reversed().flatMap(\.attributes) }

  /// The attribute or element at a path.
  func attribute(at path: String, _ entity: String) -> DictionaryAttribute? {
    let names = path.split(separator: ".").map(String.init)
    let attribute = attributes(entity).first { $0.name == names.first }
    return names.count < 2 ? attribute : attribute?.elements.first { $0.name == names[1] }
  }

  func relationships(_ entity: String) -> [DictionaryRelationship] {
    lineage(entity).reversed().flatMap(\.relationships)
  }

  func relationship(_ name: String, _ entity: String) -> DictionaryRelationship? {
    relationships(entity).first { $0.name == name }
  }

  func inverse(_ relationship: DictionaryRelationship) -> DictionaryRelationship? {
    relationship.inverse.flatMap { self.relationship($0, relationship.destination) }
  }

  func isOwnInverse(_ relationship: DictionaryRelationship) -> Bool {
    inverse(relationship).map { $0.name == relationship.name && $0.owner == relationship.owner } ?? false
  }

  /// Whether links are compared at this end (M3).
  func isCompared(_ relationship: DictionaryRelationship) -> Bool {
    guard let inverse = inverse(relationship) else { return true }
    if isOwnInverse(relationship) { return true }
    if relationship.isToMany != inverse.isToMany { return !relationship.isToMany }
    return relationship.rank < inverse.rank
  }

  /// Every constraint that applies to an entity, with the entity that declares it.
  func constraints(_ entity: String) -> [(owner: String, names: [String])] {
    lineage(entity).flatMap { owner in owner.constraints.map { (owner.name, $0) } }
  }

  func concrete(kindOf name: String) -> [String] {
    entities.filter { !$0.isAbstract && isKind($0.name, of: name) }.map(\.name)
  }
}
