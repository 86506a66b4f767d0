/// Properties of whole trees of predicates and expressions.
enum QueryTree {
  /// The maximum height of a tree from outside, and the maximum nesting of a format: walks over trees recurse, and a
  /// thread of a service may have a small stack.
  static let maximumHeight = 200

  static let tooHigh = "the predicate has more than \(maximumHeight) levels of nesting; reduce the nesting"

  /// A part of a tree.
  enum Part {
    case predicate(QueryPredicate)
    case expression(QueryExpression)
    case constants([QueryConstant])
    /// The levels written around a constant.
    case written(Int)
    /// The number of names in a path, and its base: evaluation descends one level for each.
    case path(QueryExpression, Int)
  }

  /// The height of a tree, limited to one more than the maximum, because it may be of any height. Constants without a
  /// literal count with the height of their printed form, so that a printed format always parses.
  static func height(of root: Part) -> Int { height(of: root, limit: maximumHeight + 1) }

  private static func height(of part: Part, limit: Int) -> Int {
    if limit == 1 { return 1 }
    var highest = 0
    forEachChild(of: part) { highest = max(highest, height(of: $0, limit: limit - 1)) }
    return highest + 1
  }

  static func children(of part: Part) -> [Part] {
    var children: [Part] = []
    forEachChild(of: part) { children.append($0) }
    return children
  }

  private static func forEachChild(of part: Part, _ body: (Part) -> Void) {
    switch part {
    case .written(let levels):
      if levels > 1 { body(.written(levels - 1)) }
    case .path(let base, let count): body(count > 1 ? .path(base, count - 1) : .expression(base))
    case .constants(let constants):
      for constant in constants {
        if case .list(let items) = constant {
          body(.constants(items))
        } else if !constant.isLiteral {
          body(.written(2))
        }
      }
    case .predicate(let predicate):
      switch predicate {
      case .constant: break
      case .comparison(let comparison):
        body(.expression(comparison.left))
        body(.expression(comparison.right))
      case .and(let items), .or(let items):
        for item in items { body(.predicate(item)) }
      case .not(let inner): body(.predicate(inner))
      }
    case .expression(let expression): forEachChild(of: expression, body)
    }
  }

  private static func forEachChild(of expression: QueryExpression, _ body: (Part) -> Void) {
    switch expression {
    case .constant(let constant):
      if !constant.isLiteral { body(.constants([constant])) }
    case .self, .variable: break
    case .aggregate(let items), .function(_, let items):
      for item in items { body(.expression(item)) }
    case .keyPath(let base, let names): body(names.count > 1 ? .path(base, names.count - 1) : .expression(base))
    case .collection(let base, _, let names): body(names.isEmpty ? .expression(base) : .path(base, names.count))
    case .cast(let base, _): body(.expression(base))
    case .conditional(let predicate, let first, let second):
      body(.predicate(predicate))
      body(.expression(first))
      body(.expression(second))
    case .subquery(let base, _, let predicate):
      body(.expression(base))
      body(.predicate(predicate))
    case .setOperation(let left, _, let right):
      body(.expression(left))
      body(.expression(right))
    case .index(let base, let index):
      body(.expression(base))
      if case .expression(let place) = index { body(.expression(place)) }
    }
  }

  /// The names of the variables that no enclosing subquery binds.
  static func freeVariables(of root: Part) -> Set<String> {
    var found: Set<String> = []
    var open: [(part: Part, bound: Set<String>)] = [(root, [])]
    while let (part, bound) = open.popLast() {
      switch part {
      case .expression(.variable(let name)):
        if !bound.contains(name) { found.insert(name) }
      case .expression(.subquery(let base, let variable, let predicate)):
        open.append((.expression(base), bound))
        open.append((.predicate(predicate), bound.union([variable])))
      default: open.append(contentsOf: children(of: part).map { ($0, bound) })
      }
    }
    return found
  }
}
