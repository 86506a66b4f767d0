import KVCloneCore
import KVCloneModel

/// The values of groups of objects: the grouping values, and functions of all objects of a group.
///
/// With a grouping, the compiler treats expressions as being about a group: a property outside of a function has to be
/// a grouping value, and `sum:(price)` is the sum of all their prices. Both become places that are filled in for each
/// group.
final class QueryGrouping {
  /// A function of a group: its argument, and how values are aggregated.
  struct Function {
    let expression: QueryExpression
    let function: QueryCollectionOperator
    let argument: QueryTerm
  }

  /// The expressions that objects are grouped by, and their terms for an object.
  let keys: [(expression: QueryExpression, term: QueryTerm)]
  private(set) var functions: [Function] = []
  /// Compiled values, by the names that conditions and sort keys use.
  var named: [String: QueryTerm] = [:]

  init(keys: [(expression: QueryExpression, term: QueryTerm)]) {
    self.keys = keys
  }

  /// The term of an expression that the group provides; nil for one that is composed of others.
  func term(_ expression: QueryExpression, _ compiler: QueryCompiler) throws(StoreError) -> QueryTerm? {
    if let index = keys.firstIndex(where: { $0.expression == expression }) {
      return QueryTerm(.place(index), keys[index].term.kind)
    }
    switch expression {
    case .function(let function, let arguments):
      guard let operation = function.ofGroup, arguments.count == 1 else { return nil }
      return try place(of: operation, arguments[0], expression, compiler)
    case .variable(let name): return named[name]
    case .keyPath(.`self`, let names) where names.count == 1 && named[names[0]] != nil: return named[names[0]]
    case .`self`, .keyPath(.`self`, _), .collection(.`self`, _, _), .collection(.keyPath(.`self`, _), _, _):
      throw compiler.invalid(
        "\(expression.expressionFormat) is not the same for all objects of a group; group by it, or use an aggregate such "
          + "as min: or count:")
    default: return nil
    }
  }

  private func place(
    of operation: QueryCollectionOperator, _ argument: QueryExpression, _ expression: QueryExpression,
    _ compiler: QueryCompiler
  ) throws(StoreError) -> QueryTerm {
    var objects = compiler
    objects.grouping = nil
    let term = try objects.term(argument)
    let kind = try compiler.kind(of: operation, term)
    let index: Int
    if let known = functions.firstIndex(where: { $0.expression == expression }) {
      index = known
    } else {
      index = functions.count
      functions.append(Function(expression: expression, function: operation, argument: term))
    }
    return QueryTerm(.place(keys.count + index), kind)
  }
}

extension QueryFunction {
  /// The aggregate function over all objects of a group; nil for a function of single values.
  var ofGroup: QueryCollectionOperator? {
    switch self {
    case .sum: .sum
    case .count: .count
    case .min: .min
    case .max: .max
    case .average: .avg
    default: nil
    }
  }
}

/// A group while its objects are aggregated.
struct QueryGroup {
  let keys: [QueryValue]
  private var aggregates: [QueryAggregate]

  init(_ keys: [QueryValue], _ functions: [QueryGrouping.Function]) {
    self.keys = keys
    aggregates = functions.map { QueryAggregate($0.function) }
  }

  /// Adds a value for a function. As in SQL, nil is ignored by all of them; a to-many key path adds each of its values.
  mutating func add(_ value: QueryValue, function: Int) {
    for element in value.elements where !element.isNull { aggregates[function].add(element) }
  }

  /// The values of the places: keys, then functions.
  var places: [QueryValue] { keys + aggregates.map(\.value) }
}
