import Foundation
import KVCloneModel

/// Makes a predicate ready for one entity of one model: finds out what its names are, converts constants to the types that
/// they are compared with, and refuses what can only be a mistake.
///
/// - A key path begins at the object that is asked about, in a subquery too: there the member is what the variable names.
/// - A key path that leads through a to-many relationship gives many values, and needs ANY, ALL, NONE, a collection operator,
///   or CONTAINS and IN, which ask for membership.
struct QueryCompiler {
  let schema: Schema
  let entity: CompiledEntity
  /// The store's identity, for objects that are named by their URIs.
  let storeUUID: UUID
  /// Variables of the subqueries around the place that is compiled, outermost first.
  private var variables: [(name: String, kind: QueryKind)] = []
  /// Where expressions are about groups of objects: what they may be made of.
  var grouping: QueryGrouping?
  /// Objects that variables name from the start, as a fetched property's `$FETCH_SOURCE`.
  var objects: [String: (id: ObjectID, entity: CompiledEntity)] = [:]

  init(_ schema: Schema, _ entity: CompiledEntity, storeUUID: UUID) {
    self.schema = schema
    self.entity = entity
    self.storeUUID = storeUUID
  }

  /// - Throws: `invalidPredicate`, `unknownProperty`, `wrongType`.
  mutating func condition(_ predicate: QueryPredicate) throws(StoreError) -> QueryCondition {
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

  // MARK: Comparisons

  private mutating func test(_ comparison: QueryComparison) throws(StoreError) -> QueryTest {
    try check(comparison.options)
    return try test(try term(comparison.left), try term(comparison.right), comparison)
  }

  /// A comparison whose sides are compiled.
  func test(
    _ left: QueryTerm, _ right: QueryTerm, _ comparison: QueryComparison
  ) throws(StoreError) -> QueryTest {
    var (left, right) = (left, right)
    if case .string? = left.constant, let list = ofOneKind(right), (try? adapted(left, to: list)) != nil {
      right = list
    }
    right = try adapted(right, to: left)
    left = try adapted(left, to: right)
    try check(left, right, comparison)
    if case .null? = right.constant { left = left.withoutLargeValues }
    if case .null? = left.constant { right = right.withoutLargeValues }
    if comparison.operator == .matches, case .string(let pattern)? = right.constant, TextPattern(pattern) == nil {
      throw invalid("the regular expression of MATCHES cannot be read; check its brackets and escapes")
    }
    return QueryTest(left, comparison.operator, right, comparison.modifier, comparison.options)
  }

  func check(_ options: QueryComparison.Options) throws(StoreError) {
    if options.contains(.localeSensitive) {
      throw invalid("[l] compares by the rules of a language, which a store does not have; leave it out, or use [cd]")
    }
  }

  private func check(_ left: QueryTerm, _ right: QueryTerm, _ comparison: QueryComparison) throws(StoreError) {
    let isMembership = comparison.operator == .contains && left.isList && comparison.modifier == .direct
    if comparison.modifier != .direct {
      guard left.isList || left.isUnknown else {
        throw invalid("ANY, ALL and NONE need many values on their left, and \(left.text) is one; leave the word out")
      }
    } else if left.isList, !isMembership {
      throw invalid(
        "\(left.text) leads to many values; write ANY, ALL or NONE before it, or a collection operator such as @count",
        left)
    }
    let takesList = comparison.operator == .in || comparison.operator == .between
    if right.isList, !takesList {
      throw invalid(
        "\(right.text) leads to many values; put it on the left with ANY or ALL before it, or use IN", right)
    }
    let (mine, its) = (left.kind.element, right.kind.element)
    guard mine.fits(its) else {
      throw wrongType(left.path == nil ? right : left, "\(left.text) is \(mine.name), and is compared with \(its.name)")
    }
    switch comparison.operator {
    case .equal, .notEqual, .in: break
    case .contains where isMembership: break
    case .contains, .beginsWith, .endsWith, .like, .matches:
      guard mine.fits(.text), its.fits(.text) else {
        throw wrongType(left, "\(comparison.operator.rawValue) compares texts, and \(left.text) is \(mine.name)")
      }
    default:
      guard mine.isOrdered, its.isOrdered else {
        throw wrongType(left, "\(left.text) is \(mine.name), of which none is less than another; use == or IN")
      }
    }
  }

  /// Constants as what they are compared with: a UUID and an object may be written as text.
  private func adapted(_ term: QueryTerm, to other: QueryTerm) throws(StoreError) -> QueryTerm {
    if case .list(let parts) = term.node {
      var others: [QueryTerm] = []
      for part in parts { others.append(try adapted(part, to: other)) }
      return QueryTerm(.list(others), others.first { !$0.isUnknown }.map { .list($0.kind.element) } ?? term.kind)
    }
    guard let value = term.constant else { return term }
    switch value {
    case .string, .list, .object: break
    default: return term
    }
    let converted = try adapted(value, to: other.kind.element, other)
    return QueryTerm(.constant(converted), QueryKind(converted))
  }

  /// A list some of whose elements are UUIDs, dates or objects, with the texts beside them as that too; nil for other terms.
  /// A text on the other side then is compared with all of them alike.
  private func ofOneKind(_ term: QueryTerm) -> QueryTerm? {
    func isWrittenAsText(_ kind: QueryKind) -> Bool {
      switch kind {
      case .uuid, .date, .object: true
      default: false
      }
    }
    switch term.node {
    case .list(let parts):
      guard let model = parts.first(where: { isWrittenAsText($0.kind.element) }) else { return nil }
      return QueryTerm(
        .list(parts.map { (try? adapted($0, to: model)) ?? $0 }), .list(model.kind.element))
    case .constant(.list(let values)):
      guard let kind = values.lazy.map({ QueryKind($0) }).first(where: isWrittenAsText) else { return nil }
      return QueryTerm(.constant(.list(values.map { (try? adapted($0, to: kind, term)) ?? $0 })), .list(kind))
    default: return nil
    }
  }

  private func adapted(_ value: QueryValue, to kind: QueryKind, _ other: QueryTerm) throws(StoreError) -> QueryValue {
    switch (value, kind) {
    case (.list(let values), _):
      var others: [QueryValue] = []
      for value in values { others.append(try adapted(value, to: kind, other)) }
      return .list(others)
    case (.string(let text), .uuid):
      guard let uuid = UUID(uuidString: text) else {
        throw wrongType(other, "a UUID is compared with a text that is none; write 8-4-4-4-12 hexadecimal digits")
      }
      return .uuid(uuid)
    case (.string(let text), .date):
      guard let date = try? Date(text, strategy: .iso8601) else {
        throw wrongType(other, "a date is compared with a text that is none; write it as 2026-01-31T12:00:00Z")
      }
      return .date(date.timeIntervalSinceReferenceDate)
    case (.string(let text), .object):
      guard let (id, _) = try? schema.parse(text, storeUUID: storeUUID) else {
        throw wrongType(other, "an object is compared with a text that names none; write Entity/serial")
      }
      return .object(id)
    default: return value
    }
  }

  // MARK: Expressions

  mutating func term(_ expression: QueryExpression) throws(StoreError) -> QueryTerm {
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
        throw invalid("the variable $\(name) has no value; fill it in with substituting(_:)")
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
    case .cast(let other, let type): return QueryTerm(.cast(try term(other), type), QueryKind(type))
    case .subquery(let members, let variable, let predicate):
      return try subquery(try term(members), variable, predicate)
    case .setOperation(let left, let operation, let right):
      let (first, second) = (try term(left), try term(right))
      return QueryTerm(.combination(first, operation, second), .list(first.kind.element))
    case .index(let list, let index): return try item(try term(list), index)
    }
  }

  /// A key path from a term on.
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
            .damaged, "the model names an entity that it does not have", entity: entity.name, property: name)
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

  /// What Core Data finds under names that no model has: the length of a text, and an object itself by its id.
  private static func builtIn(_ name: String, of term: QueryTerm) -> QueryTerm? {
    switch term.kind {
    case .text where name == "length": QueryTerm(.function(.length, [term]), .number)
    case .object(let entity) where name == "objectID" && !entity.hasProperty(name): term
    case .list(.object(let entity)) where name == "objectID" && !entity.hasProperty(name): term
    default: nil
    }
  }

  /// The attribute that names begin with, and how many of them it takes: the elements of a composite have several.
  private func column(_ names: ArraySlice<String>, of entity: CompiledEntity) throws(StoreError) -> (QueryColumn, Int) {
    var path = ""
    for (place, name) in names.enumerated() {
      path += place == 0 ? name : "." + name
      if let index = entity.attributeIndex[path] {
        let attribute = entity.attributes[index]
        if attribute.field == nil {
          throw StoreError(
            .invalidPredicate, "\(entity.name).\(path) is transient, so it is not stored and cannot be asked for",
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
      throw invalid("@\(function.rawValue) needs many values, and \(list.text) is one")
    }
    // Behind a to-one relationship there may be no object whose members could be counted: those are 0 then.
    if function == .count, case .relationship(let owner, let link) = list.node, owner.isOneObject {
      return QueryTerm(.memberCount(of: owner, link), .number)
    }
    return QueryTerm(.collection(function, list), try kind(of: function, list))
  }

  /// What an operator gives for many values, or for one of each object.
  func kind(of function: QueryCollectionOperator, _ values: QueryTerm) throws(StoreError) -> QueryKind {
    let element = values.kind.element
    switch function {
    case .count: return .number
    case .sum, .avg:
      guard element.fits(.number) else {
        throw wrongType(values, "@\(function.rawValue) needs numbers, and \(values.text) is \(element.name)")
      }
      return .number
    case .min, .max:
      guard element.isOrdered else {
        throw wrongType(values, "\(values.text) is \(element.name), of which none is the least or the greatest")
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
      throw invalid("\(function.rawValue) takes \(function.argumentCount) arguments, and has \(terms.count)")
    }
    for term in terms where !function.takes(term.kind, beside: terms) {
      throw wrongType(term, "\(function.rawValue) can do nothing with \(term.text), which is \(term.kind.name)")
    }
    return QueryTerm(.function(function, terms), function.kind(terms))
  }

  private mutating func subquery(_ members: QueryTerm, _ variable: String, _ predicate: QueryPredicate)
    throws(StoreError) -> QueryTerm
  {
    guard members.isList, case .object = members.kind.element else {
      throw invalid("SUBQUERY needs a to-many relationship, and \(members.text) is \(members.kind.name)")
    }
    variables.append((variable, members.kind.element))
    defer { variables.removeLast() }
    return QueryTerm(
      .subquery(members, depth: variables.count - 1, try condition(predicate)), members.kind)
  }

  private mutating func item(_ list: QueryTerm, _ index: QueryIndex) throws(StoreError) -> QueryTerm {
    guard list.isList || list.isUnknown else { throw invalid("\(list.text) is one value, and has no elements") }
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

  private func wrongType(_ term: QueryTerm, _ message: String) -> StoreError {
    StoreError(.wrongType, message, entity: entity.name, property: term.path)
  }
}

extension CompiledEntity {
  /// Whether the model has a property of this name: an attribute, a composite one as a whole, or a relationship.
  fileprivate func hasProperty(_ name: String) -> Bool {
    attributeIndex[name] != nil || relationshipIndex[name] != nil || composite(at: name) != nil
  }
}

extension QueryTerm {
  /// The same term where only nil is asked for.
  fileprivate var withoutLargeValues: QueryTerm {
    guard case .attribute(let owner, let column) = node, column.readsLargeValues else { return self }
    return QueryTerm(.attribute(of: owner, QueryColumn(withoutLargeValues: column)), kind)
  }

  /// It gives an object, whatever is stored.
  fileprivate var isOneObject: Bool {
    switch node {
    case .current, .element: true
    default: false
    }
  }

  /// Nobody knows yet what it gives.
  var isUnknown: Bool {
    if case .unknown = kind { return true }
    return false
  }

  /// The key path, as it was written; nil for what is none.
  var path: String? {
    switch node {
    case .attribute(let owner, let column): owner.prefix + column.name
    case .relationship(let owner, let link), .memberCount(let owner, let link): owner.prefix + link.name
    default: nil
    }
  }

  private var prefix: String { path.map { $0 + "." } ?? "" }

  /// In an error's message: never a value.
  var text: String {
    if let path { return path }
    switch node {
    case .constant: return "a constant"
    case .current: return "SELF"
    case .element: return "a variable"
    case .subquery: return "a subquery"
    case .collection(let function, _): return "@\(function.rawValue)"
    case .function(let function, _): return function.rawValue
    default: return "an expression"
    }
  }
}

extension QueryKind {
  /// Whether one value can be less than another.
  var isOrdered: Bool {
    switch self {
    case .object, .opaque, .list: false
    default: true
    }
  }
}

extension QueryFunction {
  /// Whether an argument of this kind can give anything but nil.
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

  /// What the function gives.
  fileprivate func kind(_ arguments: [QueryTerm]) -> QueryKind {
    switch self {
    case .uppercase, .lowercase, .canonical: .text
    case .now: .date
    case .mode: .list(.number)
    case .min, .max: arguments.first?.kind.element ?? .unknown
    // A date and a number give a date, two dates a number.
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

extension QueryValue {
  init(_ constant: QueryConstant) {
    switch constant {
    case .null: self = .null
    case .value(let value): self = QueryValue(value)
    case .object(let id): self = .object(id)
    case .list(let constants): self = .list(constants.map { QueryValue($0) })
    }
  }
}
