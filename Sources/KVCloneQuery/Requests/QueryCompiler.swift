import Foundation
package import KVCloneCore
package import KVCloneModel

/// Compiles a predicate for one entity of one model: resolves its names, converts constants to the types that they are
/// compared with, and rejects what can only be a mistake.
///
/// - A key path starts at the tested object, in a subquery too: the subquery's variable is the member.
/// - A key path through a to-many relationship has many values, and needs ANY, ALL, NONE, a collection operator, or
///   CONTAINS and IN, which test for membership.
package struct QueryCompiler {
  let schema: Schema
  let entity: CompiledEntity
  /// The store's UUID, for objects that are named by their URIs.
  let storeUUID: UUID
  /// The variables of the enclosing subqueries, outermost first.
  private var variables: [(name: String, kind: QueryKind)] = []
  /// The grouping, for expressions about groups of objects.
  var grouping: QueryGrouping?
  /// Objects that variables are bound to from the start, such as a fetched property's `$FETCH_SOURCE`.
  var objects: [String: (id: ObjectID, entity: CompiledEntity)] = [:]

  init(_ schema: Schema, _ entity: CompiledEntity, storeUUID: UUID) {
    self.schema = schema
    self.entity = entity
    self.storeUUID = storeUUID
  }

  /// - Throws: `invalidPredicate`, `unknownProperty`, `wrongType`.
  package mutating func condition(_ predicate: QueryPredicate) throws(StoreError) -> QueryCondition {
    switch predicate {
    case .constant(let value): return .constant(value)
    case .not(let other): return .not(try condition(other))
    case .and(let parts): return .all(try conditions(parts))
    case .or(let parts): return .any(try conditions(parts))
    case .comparison(let comparison): return .comparison(try test(comparison))
    }
  }

  private mutating func conditions(_ parts: [QueryPredicate]) throws(StoreError) -> [QueryCondition] {
    var conditions: [QueryCondition] = []
    for part in parts { conditions.append(try condition(part)) }
    return conditions
  }

  // MARK: Expressions

  package mutating func term(_ expression: QueryExpression) throws(StoreError) -> QueryTerm {
    if let grouping, variables.isEmpty, let term = try grouping.term(expression, self) { return term }
    switch expression {
    case .constant(let constant):
      let value = QueryValue(constant)
      return QueryTerm(.constant(value), QueryKind(value))
    case .self: return QueryTerm(.current, .object(entity))
    case .variable(let name):
      if let (id, entity) = objects[name], !variables.contains(where: { $0.name == name }) {
        return QueryTerm(.constant(.object(id)), .object(entity))
      }
      guard let depth = variables.lastIndex(where: { $0.name == name }) else {
        throw invalid("the variable $\(name) has no value; set it with substituting(_:)")
      }
      return QueryTerm(.element(depth), variables[depth].kind)
    case .keyPath(let base, let names): return try follow(try term(base), names)
    case .collection(let base, let function, let names):
      return try collection(function, try follow(try term(base), names))
    case .aggregate(let parts): return try list(parts)
    case .function(let function, let arguments): return try call(function, arguments)
    case .conditional(let predicate, let yes, let no):
      let (first, second) = (try term(yes), try term(no))
      let kind = first.isUnknown ? second.kind : first.kind
      return QueryTerm(.conditional(try condition(predicate), first, second), kind)
    case .cast(let other, let type): return try cast(try term(other), to: type)
    case .subquery(let members, let variable, let predicate):
      return try subquery(try term(members), variable, predicate)
    case .setOperation(let left, let operation, let right):
      let (first, second) = (try term(left), try term(right))
      return QueryTerm(.combination(first, operation, second), .list(first.kind.element))
    case .index(let list, let index): return try item(try term(list), index)
    }
  }

  /// Compiles a key path that starts at a term.
  private func follow(_ start: QueryTerm, _ names: [String]) throws(StoreError) -> QueryTerm {
    var term = start
    var rest = names[...]
    while let name = rest.first {
      if let builtIn = Self.builtIn(name, of: term) {
        term = builtIn
        rest = rest.dropFirst()
        continue
      }
      guard case .object(let entity) = term.kind.element else {
        throw wrongType(term, "\(term.text) is \(term.kind.element.name), which has no property \(name)")
      }
      if let attribute = entity.storedAttribute(name) {
        let column = QueryColumn(attribute)
        let kind = QueryKind(column.type)
        term = QueryTerm(.attribute(of: term, column), term.isList ? .list(kind) : kind)
        rest = rest.dropFirst()
      } else if let index = entity.relationshipIndex[name] {
        let relationship = entity.relationships[index]
        guard let destination = schema.entity(code: relationship.destinationCode) else {
          throw StoreError(
            .corrupted, "the stored model refers to an entity that it does not define; restore the store from a backup",
            entity: entity.name, property: name)
        }
        let kind = QueryKind.object(destination)
        let link = QueryLink(relationship)
        term = QueryTerm(
          .relationship(of: term, link), link.isToMany || term.isList ? .list(kind) : kind)
        rest = rest.dropFirst()
      } else {
        let (column, length) = try column(rest, of: entity)
        let kind = QueryKind(column.type)
        term = QueryTerm(.attribute(of: term, column), term.isList ? .list(kind) : kind)
        rest = rest.dropFirst(length)
      }
    }
    return term
  }

  /// Core Data's built-in names: the length of a text, and the id of an object.
  private static func builtIn(_ name: String, of term: QueryTerm) -> QueryTerm? {
    switch term.kind {
    case .text where name == "length": QueryTerm(.function(.length, [term]), .number)
    case .object(let entity) where name == "objectID" && !entity.hasProperty(name): term
    case .list(.object(let entity)) where name == "objectID" && !entity.hasProperty(name): term
    default: nil
    }
  }

  /// The attribute at the start of the names, and the number of names that it takes: elements of a composite have
  /// several.
  private func column(_ names: ArraySlice<String>, of entity: CompiledEntity) throws(StoreError) -> (QueryColumn, Int) {
    var path = ""
    for (place, name) in names.enumerated() {
      path += place == 0 ? name : "." + name
      if let index = entity.attributeIndex[path] {
        let attribute = entity.attributes[index]
        if attribute.field == nil {
          throw StoreError(
            .invalidPredicate, "\(entity.name).\(path) is transient and therefore not stored; use a stored attribute",
            entity: entity.name, property: path)
        }
        return (QueryColumn(attribute), place + 1)
      }
      if entity.composite(at: path) == nil { break }
      if place + 1 == names.count { return (QueryColumn(composite: path), names.count) }
    }
    throw StoreError(
      .unknownProperty, "\(entity.name) has no property \(path)", entity: entity.name, property: path)
  }

  private func collection(_ function: QueryCollectionOperator, _ list: QueryTerm) throws(StoreError) -> QueryTerm {
    guard list.isList || list.isUnknown else {
      throw invalid("@\(function.rawValue) requires a to-many key path, and \(list.text) is a single value")
    }
    // Without an object behind a to-one relationship, the count of its members is 0.
    if function == .count, case .relationship(let owner, let link) = list.node, owner.isOneObject {
      return QueryTerm(.memberCount(of: owner, link), .number)
    }
    return QueryTerm(.collection(function, list), try kind(of: function, list))
  }

  /// The kind of an operator's result for many values, or for one of each object.
  func kind(of function: QueryCollectionOperator, _ values: QueryTerm) throws(StoreError) -> QueryKind {
    let element = values.kind.element
    switch function {
    case .count: return .number
    case .sum, .avg:
      guard element.fits(.number) else {
        throw wrongType(values, "@\(function.rawValue) requires numbers, and \(values.text) is \(element.name)")
      }
      return .number
    case .min, .max:
      guard element.isOrdered else {
        throw wrongType(
          values, "\(values.text) is \(element.name), which has no order and therefore no minimum or maximum")
      }
      return element
    case .unionOfObjects, .distinctUnionOfObjects: return values.kind
    }
  }

  private mutating func list(_ parts: [QueryExpression]) throws(StoreError) -> QueryTerm {
    var terms: [QueryTerm] = []
    for part in parts { terms.append(try term(part)) }
    return list(terms)
  }

  /// `{a, b}`.
  func list(_ terms: [QueryTerm]) -> QueryTerm {
    let kind = QueryKind.list(terms.first { !$0.isUnknown }?.kind.element ?? .unknown)
    let constants = terms.compactMap(\.constant)
    if constants.count == terms.count { return QueryTerm(.constant(.list(constants)), kind) }
    return QueryTerm(.list(terms), kind)
  }

  private mutating func call(_ function: QueryFunction, _ arguments: [QueryExpression]) throws(StoreError) -> QueryTerm
  {
    var terms: [QueryTerm] = []
    for argument in arguments { terms.append(try term(argument)) }
    guard terms.count == function.argumentCount else {
      throw invalid("\(function.rawValue) takes \(function.argumentCount) arguments, not \(terms.count)")
    }
    for term in terms where !function.takes(term.kind, beside: terms) {
      throw wrongType(term, "\(function.rawValue) does not accept \(term.text), which is \(term.kind.name)")
    }
    return QueryTerm(.function(function, terms), function.kind(terms))
  }

  private mutating func subquery(_ members: QueryTerm, _ variable: String, _ predicate: QueryPredicate)
    throws(StoreError) -> QueryTerm
  {
    guard members.isList, case .object = members.kind.element else {
      throw invalid("SUBQUERY requires a to-many relationship, and \(members.text) is \(members.kind.name)")
    }
    variables.append((variable, members.kind.element))
    defer { variables.removeLast() }
    return QueryTerm(
      .subquery(members, depth: variables.count - 1, try condition(predicate)), members.kind)
  }

  private mutating func item(_ list: QueryTerm, _ index: QueryIndex) throws(StoreError) -> QueryTerm {
    guard list.isList || list.isUnknown else {
      throw invalid("\(list.text) is a single value and has no elements; remove the index")
    }
    let kind = list.kind.element
    switch index {
    case .first: return QueryTerm(.item(list, .first), kind)
    case .last: return QueryTerm(.item(list, .last), kind)
    case .size: return QueryTerm(.item(list, .size), .number)
    case .expression(let expression): return QueryTerm(.item(list, .at(try term(expression))), kind)
    }
  }

  // MARK: Errors

  func invalid(_ message: String, _ term: QueryTerm? = nil) -> StoreError {
    StoreError(.invalidPredicate, message, entity: entity.name, property: term?.path)
  }

  func wrongType(_ term: QueryTerm, _ message: String) -> StoreError {
    StoreError(.wrongType, message, entity: entity.name, property: term.path)
  }
}

extension CompiledEntity {
  /// Whether the model has a property with this name: an attribute, a whole composite, or a relationship.
  fileprivate func hasProperty(_ name: String) -> Bool {
    attributeIndex[name] != nil || relationshipIndex[name] != nil || composite(at: name) != nil
  }
}

extension QueryTerm {
  /// Whether it is an object, regardless of the data.
  fileprivate var isOneObject: Bool {
    switch node {
    case .current, .element: true
    default: false
    }
  }

  /// Whether its kind is only known at evaluation.
  var isUnknown: Bool {
    if case .unknown = kind { return true }
    return false
  }
}

extension QueryKind {
  /// Whether its values are ordered.
  var isOrdered: Bool {
    switch self {
    case .object, .opaque, .list: false
    default: true
    }
  }
}

extension QueryFunction {
  /// Whether the function of an argument of this kind can be anything but nil.
  fileprivate func takes(_ kind: QueryKind, beside arguments: [QueryTerm]) -> Bool {
    switch self {
    case .sum, .count, .min, .max, .average, .median, .mode, .stddev: return true
    case .uppercase, .lowercase, .length, .canonical: return kind.fits(.text)
    case .add:
      let dates = arguments.filter { $0.kind.isDate }.count
      return kind.fits(.number) || kind.isDate && dates == 1
    case .subtract: return kind.fits(.number) ? !(arguments.last?.kind.isDate ?? false) : kind.isDate
    default: return kind.fits(.number)
    }
  }

  /// The kind of the function's result.
  fileprivate func kind(_ arguments: [QueryTerm]) -> QueryKind {
    switch self {
    case .uppercase, .lowercase, .canonical: .text
    case .now: .date
    case .mode: .list(.number)
    case .min, .max: arguments.first?.kind.element ?? .unknown
    // A date and a number make a date, two dates a number.
    case .add, .subtract: arguments.allSatisfy { $0.kind.isNumber } ? .number : .unknown
    default: .number
    }
  }
}

extension QueryKind {
  fileprivate var isDate: Bool {
    if case .date = self { return true }
    return false
  }

  fileprivate var isNumber: Bool {
    if case .number = self { return true }
    return false
  }
}
