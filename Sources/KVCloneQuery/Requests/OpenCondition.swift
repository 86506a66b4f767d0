import KVCloneCore
import KVCloneModel

/// A condition that is compiled as far as possible without the values of its variables.
indirect enum OpenCondition: Sendable {
  case ready(QueryCondition)
  case all([OpenCondition])
  case any([OpenCondition])
  case not(OpenCondition)
  case comparison(OpenComparison)
}

/// A comparison with variables.
final class OpenComparison: Sendable {
  let source: QueryComparison
  let left: OpenTerm
  let right: OpenTerm

  init(_ source: QueryComparison, _ left: OpenTerm, _ right: OpenTerm) {
    self.source = source
    self.left = left
    self.right = right
  }

  /// The property that values are compared with, if there is one.
  var path: String? { left.path ?? right.path }
}

/// A side of a comparison, or an element of a list in it.
enum OpenTerm: Sendable {
  case ready(QueryTerm)
  case variable(String)
  case list([OpenTerm])

  var names: [String] {
    switch self {
    case .ready: []
    case .variable(let name): [name]
    case .list(let parts): parts.flatMap(\.names)
    }
  }

  fileprivate var path: String? {
    if case .ready(let term) = self { return term.path }
    return nil
  }
}

extension QueryCompiler {
  /// Compiles what does not depend on variables; nil if one is elsewhere than as a side of a comparison, or in a list
  /// that is one.
  mutating func open(_ predicate: QueryPredicate) throws(StoreError) -> OpenCondition? {
    if predicate.freeVariables.isEmpty { return .ready(try condition(predicate)) }
    switch predicate {
    case .constant: return nil
    case .not(let other): return try open(other).map { .not($0) }
    case .and(let parts): return try open(parts).map { .all($0) }
    case .or(let parts): return try open(parts).map { .any($0) }
    case .comparison(let comparison):
      try check(comparison.options)
      guard let left = try open(comparison.left), let right = try open(comparison.right) else { return nil }
      return .comparison(OpenComparison(comparison, left, right))
    }
  }

  private mutating func open(_ parts: [QueryPredicate]) throws(StoreError) -> [OpenCondition]? {
    var opened: [OpenCondition] = []
    for part in parts {
      guard let condition = try open(part) else { return nil }
      opened.append(condition)
    }
    return opened
  }

  private mutating func open(_ expression: QueryExpression) throws(StoreError) -> OpenTerm? {
    if case .variable(let name) = expression { return .variable(name) }
    if expression.freeVariables.isEmpty { return .ready(try term(expression)) }
    guard case .aggregate(let parts) = expression else { return nil }
    var opened: [OpenTerm] = []
    for part in parts {
      guard let term = try open(part) else { return nil }
      opened.append(term)
    }
    return .list(opened)
  }
}

/// Binds values to variables. Everything that depends on them is decided now, as for an unprepared request: whether
/// types match, and how a value is compared.
struct QueryBinder {
  let compiler: QueryCompiler
  let values: QueryVariables

  /// Nil if a variable is bound to something other than a value.
  func condition(_ open: OpenCondition) throws(StoreError) -> QueryCondition? {
    switch open {
    case .ready(let condition): return condition
    case .not(let other): return try condition(other).map { .not($0) }
    case .all(let parts): return try conditions(parts).map { .all($0) }
    case .any(let parts): return try conditions(parts).map { .any($0) }
    case .comparison(let comparison): return try test(comparison).map { .comparison($0) }
    }
  }

  /// Substitutes the variables in the predicate, and compiles it again.
  func condition(_ predicate: QueryPredicate) throws(StoreError) -> QueryCondition {
    let names = predicate.freeVariables.sorted()
    for name in names where values[name] == nil { throw missing(name, nil) }
    do throws(StoreError) {
      var compiler = compiler
      let filled = try self.predicate(predicate)
      if filled.isTooDeep { throw compiler.tooDeep }
      return try compiler.condition(filled)
    } catch {
      throw named(error, names, nil)
    }
  }

  /// The predicate with the values substituted.
  func predicate(_ predicate: QueryPredicate) throws(StoreError) -> QueryPredicate {
    do {
      return try predicate.substituting(values.dictionary)
    } catch {
      throw compiler.invalid(error.message)
    }
  }

  private func conditions(_ parts: [OpenCondition]) throws(StoreError) -> [QueryCondition]? {
    var conditions: [QueryCondition] = []
    conditions.reserveCapacity(parts.count)
    for part in parts {
      guard let condition = try condition(part) else { return nil }
      conditions.append(condition)
    }
    return conditions
  }

  private func test(_ open: OpenComparison) throws(StoreError) -> QueryTest? {
    guard let left = try term(open.left, open), let right = try term(open.right, open) else { return nil }
    do throws(StoreError) {
      if case .variable(let name) = open.right, let value = values[name]?.constant,
        let complaint = open.source.complaint(about: value)
      {
        throw compiler.invalid(complaint)
      }
      return try compiler.test(left, right, open.source)
    } catch {
      throw named(error, open.left.names + open.right.names, open.path)
    }
  }

  private func term(_ open: OpenTerm, _ comparison: OpenComparison) throws(StoreError) -> QueryTerm? {
    switch open {
    case .ready(let term): return term
    case .variable(let name):
      guard let argument = values[name] else { throw missing(name, comparison.path) }
      guard let value = argument.constant.map({ QueryValue($0) }) else { return nil }
      return QueryTerm(.constant(value), QueryKind(value))
    case .list(let parts):
      var terms: [QueryTerm] = []
      for part in parts {
        guard let term = try term(part, comparison) else { return nil }
        terms.append(term)
      }
      return compiler.list(terms)
    }
  }

  // MARK: Errors

  private func missing(_ name: String, _ property: String?) -> StoreError {
    StoreError(
      .invalidPredicate, "the variable $\(name) of a prepared request has no value; pass a value or nil for it",
      entity: compiler.entity.name, property: property)
  }

  private func named(_ error: StoreError, _ names: [String], _ property: String?) -> StoreError {
    let variables = names.map { "$" + $0 }.joined(separator: ", ")
    return StoreError(
      error.kind, "with the value of \(variables): \(error.message)", entity: error.entity,
      property: error.property ?? property, object: error.object)
  }
}
