/// The parsed expression of a derived attribute: its function and its source.
///
/// The forms are those that Core Data maintains: a value of the object or, through to-one relationships, of another one
/// (`album.title`), unchanged or transformed (`canonical:(name)`, `lowercase:(…)`, `uppercase:(…)`); an aggregate of
/// the members of a to-many relationship (`items.@count`, `items.@sum.price`, `items.price.@sum`, `max:(items.price)`);
/// `now()`.
package struct DerivedExpression: Hashable, Sendable {
  /// The function that is applied to the source's values.
  package enum Function: Hashable, Sendable {
    /// The time of the commit that changed the object.
    case now
    /// The source's value, unchanged.
    case value
    /// The source's text, transformed by a function of predicates.
    case text(QueryFunction)
    /// An aggregate of all members' values.
    case aggregate(QueryCollectionOperator)
  }

  /// The function that is applied to the source's values.
  package let function: Function
  /// The relationships on the path to the source, in order: to-one ones, or, for an aggregate, one to-many one.
  package let relationships: [String]
  /// The path of the attribute at the end; nil for the time and for a count.
  package let attribute: String?
  /// The destination entity of the last relationship; the object's own without relationships.
  package let sourceEntity: String
  /// The source attribute's type; nil without one.
  package let sourceType: AttributeType?

  /// Why an expression is not supported, as text that follows the attribute's name.
  package struct Problem: Error, Hashable {
    package let reason: String
  }

  /// Parses the expression of a derived attribute, and checks it against the model.
  package init(of attribute: AttributeDescription, in entity: String, _ model: ManagedObjectModel) throws(Problem) {
    if attribute.isTransient { throw Problem(reason: "is transient, but only stored attributes can be derived") }
    let expression: QueryExpression
    do {
      expression = try QueryExpression(format: attribute.derivationExpression ?? "", arguments: [])
    } catch {
      throw Problem(reason: "has a derivation expression that cannot be parsed: \(error)")
    }
    let (function, names) = try Self.form(of: expression)
    self.function = function
    var walk = Walk(model: model, entity: entity)
    switch function {
    case .now: break
    case .value, .text: try walk.follow(names)
    case .aggregate(let operation): try walk.followMembers(names, isCounted: operation == .count)
    }
    relationships = walk.relationships
    self.attribute = walk.attribute
    sourceEntity = walk.entity
    sourceType = walk.type
    guard Self.fits(function, walk.type, attribute.type) else {
      let source = walk.type.map { " from \($0.rawValue)" } ?? ""
      throw Problem(reason: "has the type \(attribute.type.rawValue), which its expression cannot produce\(source)")
    }
  }

  /// The function of an expression, and the names of its path.
  private static func form(of expression: QueryExpression) throws(Problem) -> (Function, [String]) {
    switch expression {
    case .function(.now, _): return (.now, [])
    case .keyPath(.self, let names): return (.value, names)
    case .function(let function, let arguments):
      guard arguments.count == 1, case .keyPath(.self, let names) = arguments[0] else { break }
      switch function {
      case .canonical, .lowercase, .uppercase: return (.text(function), names)
      case .count: return (.aggregate(.count), names)
      case .sum: return (.aggregate(.sum), names)
      case .average: return (.aggregate(.avg), names)
      case .min: return (.aggregate(.min), names)
      case .max: return (.aggregate(.max), names)
      default: break
      }
    case .collection(.keyPath(.self, let names), let operation, let rest):
      switch operation {
      case .count, .sum, .avg, .min, .max: return (.aggregate(operation), names + rest)
      case .distinctUnionOfObjects, .unionOfObjects: break
      }
    default: break
    }
    throw Problem(
      reason:
        "has a derivation expression of an unsupported form; write a key path, canonical:(…), now(), or "
        + "@count, @sum, @min, @max or @avg of a to-many relationship")
  }

  /// Whether the function returns values of `type` for values of `source`.
  private static func fits(_ function: Function, _ source: AttributeType?, _ type: AttributeType) -> Bool {
    switch function {
    case .now: return type == .date
    case .text: return type == .string && (source == .string || source == .uri)
    case .aggregate(.count): return type.isNumber
    case .aggregate(.sum), .aggregate(.avg): return type.isNumber && source?.isNumber == true
    case .aggregate: return type == source && type.isComparable
    case .value: return type == source && type.isComparable || type.isNumber && source?.isNumber == true
    }
  }
}

/// Resolves the names of an expression in a model.
private struct Walk {
  let model: ManagedObjectModel
  var entity: String
  var relationships: [String] = []
  var attribute: String?
  var type: AttributeType?

  /// Resolves to-one relationships and an attribute.
  mutating func follow(_ names: [String]) throws(DerivedExpression.Problem) {
    var rest = names[...]
    while let name = rest.first, let relationship = model.relationship(name, of: entity) {
      guard !relationship.isToMany, !relationship.isTransient else {
        throw .init(reason: "follows \(name) without an @ operator, but \(name) is not a stored to-one relationship")
      }
      relationships.append(name)
      entity = relationship.destinationEntityName
      rest.removeFirst()
    }
    try end(in: rest)
  }

  /// Resolves a to-many relationship and an attribute of its members.
  mutating func followMembers(_ names: [String], isCounted: Bool) throws(DerivedExpression.Problem) {
    guard let name = names.first, let relationship = model.relationship(name, of: entity), relationship.isToMany,
      !relationship.isTransient
    else { throw .init(reason: "aggregates values other than the members of a stored to-many relationship") }
    relationships.append(name)
    entity = relationship.destinationEntityName
    let rest = names.dropFirst()
    if isCounted, rest.isEmpty { return }
    if isCounted { throw .init(reason: "counts attribute values; only members of a relationship can be counted") }
    try end(in: rest)
  }

  /// Resolves the attribute with the remaining names as its path.
  private mutating func end(in names: ArraySlice<String>) throws(DerivedExpression.Problem) {
    guard let first = names.first, var found = model.attribute(first, of: entity) else {
      throw .init(reason: "names '\(names.first ?? "")', which is not an attribute of \(entity)")
    }
    if found.isTransient { throw .init(reason: "is derived from \(first), which is transient") }
    for name in names.dropFirst() {
      guard found.type == .composite, let element = found.elements.first(where: { $0.name == name }) else {
        throw .init(reason: "names '\(name)', which is not an element of \(first) of \(entity)")
      }
      found = element
    }
    attribute = names.joined(separator: ".")
    type = found.type
  }
}

extension AttributeType {
  /// Whether values are numbers that can be added.
  fileprivate var isNumber: Bool { isInteger || self == .decimal || self == .double || self == .float }

  /// Whether a value can be copied and compared without reading a blob.
  fileprivate var isComparable: Bool {
    switch self {
    case .binary, .transformable, .composite, .undefined: false
    default: true
    }
  }
}
