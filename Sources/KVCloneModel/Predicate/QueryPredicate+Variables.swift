extension QueryPredicate {
  /// The names of the unbound variables: all but those that a subquery binds.
  package var freeVariables: Set<String> { QueryTree.freeVariables(of: .predicate(self)) }

  /// Returns the predicate with variables replaced by values. Variables without a value, and those that a subquery
  /// binds, are unchanged.
  ///
  /// - Parameter variables: The values by variable name, without the `$`.
  public func substituting(_ variables: [String: QueryArgument]) throws(QueryFormatError) -> QueryPredicate {
    try QuerySubstitution(variables).applied(to: self, bound: [], level: 1)
  }
}

extension QueryExpression {
  /// The names of the unbound variables: all but those that a subquery binds.
  package var freeVariables: Set<String> { QueryTree.freeVariables(of: .expression(self)) }

  /// Returns the expression with variables replaced by values; see ``QueryPredicate/substituting(_:)``.
  public func substituting(_ variables: [String: QueryArgument]) throws(QueryFormatError) -> QueryExpression {
    try QuerySubstitution(variables).applied(to: self, bound: [], level: 1)
  }
}

/// Substitutes variables.
private struct QuerySubstitution {
  private let arguments: [String: QueryArgument]

  init(_ variables: [String: QueryArgument]) {
    arguments = variables
  }

  func applied(
    to predicate: QueryPredicate, bound: Set<String>, level: Int
  ) throws(QueryFormatError) -> QueryPredicate {
    try check(level)
    switch predicate {
    case .constant: return predicate
    case .not(let inner): return .not(try applied(to: inner, bound: bound, level: level + 1))
    case .and(let items): return .and(try applied(to: items, bound: bound, level: level + 1))
    case .or(let items): return .or(try applied(to: items, bound: bound, level: level + 1))
    case .comparison(var comparison):
      comparison.left = try applied(to: comparison.left, bound: bound, level: level + 1)
      comparison.right = try applied(to: comparison.right, bound: bound, level: level + 1)
      if let complaint = comparison.complaint { throw error(.invalidOperand, complaint) }
      return .comparison(comparison)
    }
  }

  func applied(
    to expression: QueryExpression, bound: Set<String>, level: Int
  ) throws(QueryFormatError) -> QueryExpression {
    try check(level)
    func inner(_ part: QueryExpression) throws(QueryFormatError) -> QueryExpression {
      try applied(to: part, bound: bound, level: level + 1)
    }
    switch expression {
    case .constant, .self: return expression
    case .variable(let name): return try value(of: name, bound: bound, level: level)
    case .aggregate(let items): return .aggregate(try applied(to: items, bound: bound, level: level + 1))
    case .function(let function, let items):
      return .function(function, try applied(to: items, bound: bound, level: level + 1))
    case .keyPath(.variable(let name), let names):
      let base = try value(of: name, bound: bound, level: level + 1)
      // A substituted path and the names after it are one path.
      if case .keyPath(let start, let first) = base { return .keyPath(start, first + names) }
      return .keyPath(base, names)
    case .keyPath(let base, let names): return .keyPath(try inner(base), names)
    case .collection(let base, let name, let names): return .collection(try inner(base), name, names)
    case .cast(let base, let type): return .cast(try inner(base), type)
    case .setOperation(let left, let name, let right): return .setOperation(try inner(left), name, try inner(right))
    case .index(let base, .expression(let place)): return .index(try inner(base), .expression(try inner(place)))
    case .index(let base, let index): return .index(try inner(base), index)
    case .conditional(let predicate, let first, let second):
      let condition = try applied(to: predicate, bound: bound, level: level + 1)
      return .conditional(condition, try inner(first), try inner(second))
    case .subquery(let base, let variable, let predicate):
      let condition = try applied(to: predicate, bound: bound.union([variable]), level: level + 1)
      return .subquery(try inner(base), variable: variable, condition)
    }
  }

  private func applied(
    to items: [QueryPredicate], bound: Set<String>, level: Int
  ) throws(QueryFormatError) -> [QueryPredicate] {
    var result: [QueryPredicate] = []
    for item in items { result.append(try applied(to: item, bound: bound, level: level)) }
    return result
  }

  private func applied(
    to items: [QueryExpression], bound: Set<String>, level: Int
  ) throws(QueryFormatError) -> [QueryExpression] {
    var result: [QueryExpression] = []
    for item in items { result.append(try applied(to: item, bound: bound, level: level)) }
    return result
  }

  private func value(of name: String, bound: Set<String>, level: Int) throws(QueryFormatError) -> QueryExpression {
    guard !bound.contains(name), let argument = arguments[name] else { return .variable(name) }
    switch argument.expression() {
    case .failure(.predicate):
      throw error(.wrongArgumentType, "a variable requires a value, but a predicate was given; pass a value")
    case .failure(.depth): throw error(.nestingTooDeep, QueryTree.tooHigh)
    case .success(let expression):
      try check(level + QueryTree.height(of: .expression(expression)) - 1)
      if !bound.isEmpty, !QueryTree.freeVariables(of: .expression(expression)).isDisjoint(with: bound) {
        let message = "the substituted expression has a variable that an enclosing subquery binds; rename one of them"
        throw error(.capturedVariable, message)
      }
      return expression
    }
  }

  private func check(_ level: Int) throws(QueryFormatError) {
    if level > QueryTree.maximumHeight { throw error(.nestingTooDeep, QueryTree.tooHigh) }
  }

  private func error(_ kind: QueryFormatError.Kind, _ message: String) -> QueryFormatError {
    QueryFormatError(kind: kind, message: message, column: 0)
  }
}
