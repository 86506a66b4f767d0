import Foundation
package import KVCloneModel

/// The members of a relationship taken together, value by value in the list's order. nil counts for nothing.
///
/// Numbers are added as requests add them: see ``NumberSum``. The least and the greatest value are by the order of fetch
/// requests, −0 below 0; NaN is neither.
package struct DerivedAggregate {
  private let function: QueryCollectionOperator
  private var sum = NumberSum()
  private var best: AttributeValue?

  /// Whether no order of the values would have given another sum.
  var isExact: Bool { !sum.hasDouble }

  package init(_ function: QueryCollectionOperator) {
    self.function = function
  }

  package mutating func add(_ value: AttributeValue?) {
    guard let value else { return }
    switch function {
    case .min, .max:
      if value.isNaN { return }
      if best.map({ Self.precedes(value, $0, function) }) ?? true { best = value }
    default:
      if let number = QueryValue(value).number { sum.add(number) }
    }
  }

  /// The value as the derived attribute has it; nil where its type cannot hold it, where the sum is nil in a request, and
  /// for the average, the least and the greatest of nothing. The sum of nothing is 0.
  package func value(_ type: AttributeType) -> AttributeValue? {
    switch function {
    case .min, .max: return best
    case .sum:
      return sum.sum.flatMap { type.derived(number: $0) }
    case .avg:
      // A double would lose digits that these types have.
      if type.isInteger, let whole = sum.wholeAverage { return type.coerce(.integer(whole)) }
      if type == .decimal, !sum.hasDouble { return sum.decimalAverage.map { .decimal($0) } }
      return sum.average.flatMap { type.derived(number: $0) }
    default: return nil
    }
  }

  // MARK: One member at a time

  /// Whether `adjusted` can ever do anything: sums that are exact, the least and the greatest value.
  static func isIncremental(_ function: DerivedExpression.Function, _ source: AttributeType?, _ type: AttributeType)
    -> Bool
  {
    guard case .aggregate(let operation) = function, let source else { return false }
    switch operation {
    case .sum: return source.isInteger && type.isInteger || source == .decimal && type == .decimal
    case .min, .max: return true
    default: return false
    }
  }

  /// What becomes of a value when a member's changes.
  enum Adjustment: Equatable {
    case value(AttributeValue?)
    /// All members have to be looked at.
    case recompute
  }

  /// What becomes of `value` when one member's value leaves, another comes; nil is none.
  static func adjusted(
    _ function: QueryCollectionOperator, _ value: AttributeValue?, lost: AttributeValue?, gained: AttributeValue?,
    _ type: AttributeType
  ) -> Adjustment {
    switch function {
    case .sum: sum(value, lost, gained, type)
    case .min, .max: extreme(function, value, lost, gained)
    default: .recompute
    }
  }

  private static func sum(
    _ value: AttributeValue?, _ lost: AttributeValue?, _ gained: AttributeValue?, _ type: AttributeType
  ) -> Adjustment {
    switch value {
    case .integer(let old):
      guard let minus = lost.map(\.wholeNumber) ?? 0, let plus = gained.map(\.wholeNumber) ?? 0 else {
        return .recompute
      }
      let new = Int128(old) - Int128(minus) + Int128(plus)
      return .value(Int64(exactly: new).flatMap { type.derived(from: .integer($0)) })
    case .decimal(let old):
      guard let minus = lost.map(\.shortDecimal) ?? Decimal(0), let plus = gained.map(\.shortDecimal) ?? Decimal(0),
        old.isShort
      else { return .recompute }
      return .value(.decimal(old - minus + plus))
    // A sum that did not fit: what is left may fit again.
    default: return .recompute
    }
  }

  private static func extreme(
    _ function: QueryCollectionOperator, _ value: AttributeValue?, _ lost: AttributeValue?, _ gained: AttributeValue?
  ) -> Adjustment {
    let gained = gained.flatMap { $0.isNaN ? nil : $0 }
    let lost = lost.flatMap { $0.isNaN ? nil : $0 }
    guard let value else { return lost == nil ? .value(gained) : .recompute }
    if let gained, !precedes(value, gained, function) { return .value(gained) }
    return lost == value ? .recompute : .value(value)
  }

  /// Whether one value is further on the way to the least, or the greatest, than another.
  private static func precedes(_ left: AttributeValue, _ right: AttributeValue, _ function: QueryCollectionOperator)
    -> Bool
  {
    let order =
      switch (left, right) {
      case (.double(let a), .double(let b)): QueryOrder(total: a, b)
      case (.float(let a), .float(let b)): QueryOrder(total: Double(a), Double(b))
      case (.date(let a), .date(let b)):
        QueryOrder(total: a.timeIntervalSinceReferenceDate, b.timeIntervalSinceReferenceDate)
      default: QueryValue(left).order(against: QueryValue(right)) ?? .same
      }
    return order == (function == .min ? .less : .greater)
  }
}

extension QueryOrder {
  /// Of numbers that are not NaN, with −0 below 0.
  fileprivate init(total left: Double, _ right: Double) {
    self = left == right && left.sign != right.sign ? (left.sign == .minus ? .less : .greater) : .init(left, right)
  }
}

extension AttributeValue {
  fileprivate var wholeNumber: Int64? {
    if case .integer(let number) = self { return number }
    return nil
  }

  fileprivate var shortDecimal: Decimal? {
    if case .decimal(let number) = self, number.isShort { return number }
    return nil
  }

  fileprivate var isNaN: Bool {
    switch self {
    case .double(let number): number.isNaN
    case .float(let number): number.isNaN
    case .decimal(let number): number.isNaN
    case .date(let date): date.timeIntervalSinceReferenceDate.isNaN
    default: false
    }
  }
}

extension AttributeType {
  /// A value of a source as a derived attribute of this type has it: without its fraction where it is whole, rounded where
  /// it has fewer digits, and nil where it cannot hold it. A derived value never stands in the way of a write.
  package func derived(from value: AttributeValue) -> AttributeValue? {
    if let exact = coerce(value) { return exact }
    return QueryValue(value).number.flatMap { derived(number: $0) }
  }

  /// The same for a number that was calculated.
  func derived(number: QueryNumber) -> AttributeValue? {
    switch self {
    case .double: return .double(number.double)
    case .float: return .float(Float(number.double))
    case .decimal, .integer16, .integer32, .integer64:
      switch try? QueryFunctions.cast(number.value, to: self) {
      case .integer(let whole): return .integer(whole)
      case .decimal(let decimal): return .decimal(decimal)
      default: return nil
      }
    default: return nil
    }
  }
}
