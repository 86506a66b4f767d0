import Foundation
package import KVCloneModel
import KVCloneRecords

/// An aggregate over the members of a relationship, updated value by value in the list's order. nil is ignored.
///
/// Numbers are added as in requests: see ``NumberSum``. The minimum and maximum use the order of fetch requests, with
/// −0 below 0; NaN is neither.
package struct DerivedAggregate {
  private let function: QueryCollectionOperator
  private var sum = NumberSum()
  private var best: AttributeValue?

  /// Whether the sum is independent of the order of the values.
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

  /// The value in the derived attribute's type; nil if the type cannot represent it, if the sum is nil in a request,
  /// and for the average, minimum and maximum without values. The sum without values is 0.
  package func value(_ type: AttributeType) -> AttributeValue? {
    switch function {
    case .min, .max: return best
    case .sum:
      return sum.sum.flatMap { type.derived(number: $0) }
    case .avg:
      // A double would lose digits that these types can represent.
      if type.isInteger, let whole = sum.wholeAverage { return type.coerce(.integer(whole)) }
      if type == .decimal, !sum.hasDouble { return sum.decimalAverage.map { .decimal($0) } }
      return sum.average.flatMap { type.derived(number: $0) }
    default: return nil
    }
  }

  // MARK: One member at a time

  /// Whether `adjusted` is ever possible: for exact sums, the minimum and the maximum.
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

  /// The effect of a member's change on the value.
  enum Adjustment: Equatable {
    case value(AttributeValue?)
    /// All members have to be read.
    case recompute
  }

  /// The effect on `value` when one member's value is removed and another added; nil for none.
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
    // After an overflow, the remaining sum may fit again.
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

  /// Whether one value is less, or greater for a maximum, than another.
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
  /// Orders numbers that are not NaN, with −0 below 0.
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
  /// Converts a source's value to this type of derived attribute: an integral number loses its fraction, digits are
  /// rounded, and what the type cannot represent becomes nil. A derived value never makes a write fail.
  package func derived(from value: AttributeValue) -> AttributeValue? {
    if let exact = coerce(value) { return exact }
    return QueryValue(value).number.flatMap { derived(number: $0) }
  }

  /// Converts a calculated number.
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
