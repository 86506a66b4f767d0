/// What is said of whole trees of predicates and expressions.
enum QueryTree {
  /// How high a tree may be that comes from outside, and how deep a format may be nested: what walks over trees calls
  /// itself for every level, and a thread of a service may have a small stack.
  static let maximumHeight = 200

  static let tooHigh = "there are more than \(maximumHeight) levels of nesting; write the predicate flatter"

  /// A part of a tree.
  enum Part {
    case predicate(QueryPredicate)
    case expression(QueryExpression)
    case constants([QueryConstant])
    /// So many levels of what is written around a constant.
    case written(Int)
  }

  /// How many levels a tree has, counted without recursion, because the tree may be of any height. Constants without a
  /// literal count as high as they are written, so that what was printed can always be read.
  static func height(of root: Part) -> Int {
    var level = [root]
    var height = 0
    while !level.isEmpty, height <= maximumHeight {
      height += 1
      level = level.flatMap(children)
    }
    return height
  }

  static func children(of part: Part) -> [Part] {
    switch part {
    case .written(let levels): levels > 1 ? [.written(levels - 1)] : []
    case .constants(let constants):
      constants.compactMap {
        if case .list(let items) = $0 { .constants(items) } else { $0.isLiteral ? nil : .written(2) }
      }
    case .predicate(let predicate):
      switch predicate {
      case .constant: []
      case .comparison(let comparison): [.expression(comparison.left), .expression(comparison.right)]
      case .and(let items), .or(let items): items.map { .predicate($0) }
      case .not(let inner): [.predicate(inner)]
      }
    case .expression(let expression):
      switch expression {
      case .constant(let constant): constant.isLiteral ? [] : [.constants([constant])]
      case .self, .variable: []
      case .aggregate(let items), .function(_, let items): items.map { .expression($0) }
      case .keyPath(let base, _), .collection(let base, _, _), .cast(let base, _): [.expression(base)]
      case .conditional(let predicate, let first, let second):
        [.predicate(predicate), .expression(first), .expression(second)]
      case .subquery(let base, _, let predicate): [.expression(base), .predicate(predicate)]
      case .setOperation(let left, _, let right): [.expression(left), .expression(right)]
      case .index(let base, .expression(let place)): [.expression(base), .expression(place)]
      case .index(let base, _): [.expression(base)]
      }
    }
  }

  /// The names of the variables that no subquery around them binds.
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
