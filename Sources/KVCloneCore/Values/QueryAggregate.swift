package import KVCloneModel

/// Computes `@count`, `@sum` and the others, value by value. nil counts only for `@count`.
package struct QueryAggregate {
  private let function: QueryCollectionOperator
  private var count: Int64 = 0
  private var sum = NumberSum()
  private var best: QueryValue = .null
  private var values: [QueryValue] = []
  private var distinct = QueryValueSet()

  package init(_ function: QueryCollectionOperator) {
    self.function = function
  }

  package mutating func add(_ value: QueryValue) {
    count += 1
    if value.isNull { return }
    switch function {
    case .count: break
    case .sum, .avg:
      if let number = value.number { sum.add(number) }
    case .min: if best.isNull || value.order(against: best) == .less { best = value }
    case .max: if best.isNull || value.order(against: best) == .greater { best = value }
    case .unionOfObjects: values.append(value)
    case .distinctUnionOfObjects: distinct.insert(value)
    }
  }

  /// The sum without values is 0; the average, minimum and maximum without values are nil, and so is a sum that is too
  /// large.
  package var value: QueryValue {
    switch function {
    case .count: .integer(count)
    case .sum: sum.sum?.value ?? .null
    case .avg: sum.average?.value ?? .null
    case .min, .max: best
    case .unionOfObjects: .list(values)
    case .distinctUnionOfObjects: .list(distinct.values)
    }
  }
}
