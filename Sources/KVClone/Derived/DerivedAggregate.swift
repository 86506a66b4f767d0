import Foundation
import KVCloneModel

/// The members of a relationship taken together, value by value in the list's order. nil counts for nothing.
///
/// Whole numbers are added exactly, whatever their sum. Decimals are, as far as 38 digits go. Doubles and floats are
/// added in the list's order. The least and the greatest value are by the order of fetch requests, −0 below 0; NaN is
/// neither.
struct DerivedAggregate {
  private let function: QueryCollectionOperator
  private var whole: Int128 = 0
  private var decimal = Decimal(0)
  private var double = 0.0
  private var hasDecimal = false
  private var hasDouble = false
  private var count = 0
  private var best: AttributeValue?
  /// Whether no order of the values would have given another sum.
  private(set) var isExact = true

  init(_ function: QueryCollectionOperator) {
    self.function = function
  }

  mutating func add(_ value: AttributeValue?) {
    guard let value else { return }
    switch function {
    case .min, .max:
      if value.isNaN { return }
      if best.map({ Self.precedes(value, $0, function) }) ?? true { best = value }
    default:
      count += 1
      switch value {
      case .integer(let number): whole += Int128(number)
      case .decimal(let number):
        hasDecimal = true
        decimal += number
        isExact = isExact && number.isShort && decimal.isShort
      case .double(let number): add(number)
      case .float(let number): add(Double(number))
      default: count -= 1
      }
    }
  }

  private mutating func add(_ number: Double) {
    hasDouble = true
    isExact = false
    double += number
  }

  /// The value as the derived attribute has it; nil where its type cannot hold it, where the average of nothing, or the
  /// least of nothing, is asked for. The sum of nothing is 0.
  func value(_ type: AttributeType) -> AttributeValue? {
    switch function {
    case .min, .max: return best
    case .sum:
      if hasDecimal { return type.derived(from: .decimal(decimal)) }
      return hasDouble ? type.derived(from: .double(double)) : type.derived(from: whole)
    case .avg:
      if count == 0 { return nil }
      if hasDecimal { return type.derived(from: .decimal(decimal / Decimal(count))) }
      if hasDouble { return type.derived(from: .double(double / Double(count))) }
      if type == .decimal { return .decimal(whole.decimal / Decimal(count)) }
      return type.derived(from: .double(Double(whole) / Double(count)))
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
      return .value(type.derived(from: Int128(old) - Int128(minus) + Int128(plus)))
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

extension Decimal {
  /// Whether sums of such numbers stay within the digits that a decimal has.
  fileprivate var isShort: Bool { !isNaN && exponent >= -18 && magnitude < 1_000_000_000_000_000_000 }
}

extension Int128 {
  fileprivate var decimal: Decimal { Decimal(string: description) ?? .nan }
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
  func derived(from value: AttributeValue) -> AttributeValue? {
    if let exact = coerce(value) { return exact }
    guard let number = QueryValue(value).number else { return nil }
    switch self {
    case .double: return .double(number.double)
    case .float: return .float(Float(number.double))
    case .decimal, .integer16, .integer32, .integer64:
      switch QueryFunctions.cast(number.value, to: self) {
      case .integer(let whole): return coerce(.integer(whole))
      case .decimal(let decimal): return .decimal(decimal)
      default: return nil
      }
    default: return nil
    }
  }

  /// The same for a sum of whole numbers.
  func derived(from whole: Int128) -> AttributeValue? {
    if let number = Int64(exactly: whole) { return derived(from: .integer(number)) }
    switch self {
    case .double: return .double(Double(whole))
    case .float: return .float(Float(whole))
    case .decimal: return .decimal(whole.decimal)
    default: return nil
    }
  }
}
