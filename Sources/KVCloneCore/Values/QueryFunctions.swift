import Foundation
package import KVCloneModel
import KVCloneRecords

/// Evaluates functions of predicates. Never throws: an unsupported argument yields nil, like a nil argument.
package enum QueryFunctions {
  package static func call(_ function: QueryFunction, _ arguments: [QueryValue]) -> QueryValue {
    switch function {
    case .sum, .count, .min, .max, .average:
      var aggregate = QueryAggregate(function.aggregate)
      for value in arguments.first?.elements ?? [] { aggregate.add(value) }
      return aggregate.value
    case .median, .mode, .stddev: return statistics(function, arguments.first?.elements ?? [])
    case .uppercase, .lowercase, .length, .canonical:
      guard case .string(let text)? = arguments.first else { return .null }
      return call(function, text)
    case .now: return .date(Date().timeIntervalSinceReferenceDate)
    case .random: return .double(Double.random(in: 0..<1))
    default:
      let numbers = arguments.compactMap(\.number)
      guard numbers.count == arguments.count, numbers.count == function.argumentCount, let first = numbers.first else {
        return dates(function, arguments)
      }
      return (numbers.count == 2 ? call(function, first, numbers[1]) : call(function, first))?.value ?? .null
    }
  }

  private static func call(_ function: QueryFunction, _ text: String) -> QueryValue {
    switch function {
    case .uppercase: .string(text.uppercased())
    case .lowercase: .string(text.lowercased())
    case .length: .integer(Int64(text.utf16.count))
    default: .string(QueryText.folded(text, [.caseInsensitive, .diacriticInsensitive]))
    }
  }

  /// Adds and subtracts a date and seconds; two dates yield the seconds between them.
  private static func dates(_ function: QueryFunction, _ arguments: [QueryValue]) -> QueryValue {
    guard arguments.count == 2 else { return .null }
    switch (function, arguments[0], arguments[1]) {
    case (.add, .date(let date), let other): return other.number.map { .date(date + $0.double) } ?? .null
    case (.add, let other, .date(let date)): return other.number.map { .date(date + $0.double) } ?? .null
    case (.subtract, .date(let a), .date(let b)): return .double(a - b)
    case (.subtract, .date(let date), let other): return other.number.map { .date(date - $0.double) } ?? .null
    default: return .null
    }
  }

  private static func call(_ function: QueryFunction, _ number: QueryNumber) -> QueryNumber? {
    switch function {
    case .sqrt: return real(number.double.squareRoot())
    case .log: return real(Foundation.log10(number.double))
    case .ln: return real(Foundation.log(number.double))
    case .exp: return real(Foundation.exp(number.double))
    case .floor: return rounded(number, .down)
    case .ceiling: return rounded(number, .up)
    case .trunc: return rounded(number, .towardZero)
    case .abs:
      if case .integer(let value) = number { return QueryNumber(Int128(value.magnitude)) }
      if case .decimal(let value) = number { return .decimal(value.magnitude) }
      return .double(Swift.abs(number.double))
    case .negate:
      if case .integer(let value) = number { return QueryNumber(-Int128(value)) }
      if case .decimal(let value) = number { return .decimal(-value) }
      return .double(-number.double)
    case .onesComplement: return whole(number).map { .integer(~$0) }
    case .randomn:
      guard let bound = whole(number), bound > 0 else { return nil }
      return .integer(Int64.random(in: 0..<bound))
    default: return nil
    }
  }

  private static func call(_ function: QueryFunction, _ left: QueryNumber, _ right: QueryNumber) -> QueryNumber? {
    switch function {
    case .add:
      return QueryNumber.calculate(left, right, integer: { $0 + $1 }, decimal: { $0 + $1 }, double: { $0 + $1 })
    case .subtract:
      return QueryNumber.calculate(left, right, integer: { $0 - $1 }, decimal: { $0 - $1 }, double: { $0 - $1 })
    case .multiply:
      return QueryNumber.calculate(
        left, right, integer: { $0 * $1 }, decimal: DecimalDigits.product, double: { $0 * $1 })
    case .divide: return divided(left, right)
    case .raise: return power(left, right)
    case .modulus:
      guard let a = left.whole, let b = right.whole, b != 0 else { return nil }
      return QueryNumber(a.remainderReportingOverflow(dividingBy: b).partialValue)
    case .bitwiseAnd, .bitwiseOr, .bitwiseXor, .leftShift, .rightShift:
      guard let a = whole(left), let b = whole(right) else { return nil }
      return integers(function, a, b).map { .integer($0) }
    default: return nil
    }
  }

  private static func integers(_ function: QueryFunction, _ left: Int64, _ right: Int64) -> Int64? {
    switch function {
    case .bitwiseAnd: left & right
    case .bitwiseOr: left | right
    case .bitwiseXor: left ^ right
    case .leftShift: left << right
    default: left >> right
    }
  }

  /// Two integers yield an integer, without the fraction, as in Core Data's stores. Division by 0 yields nil.
  private static func divided(_ left: QueryNumber, _ right: QueryNumber) -> QueryNumber? {
    if right.double == 0 { return nil }
    return QueryNumber.calculate(left, right, integer: { $0 / $1 }, decimal: { $0 / $1 }, double: { $0 / $1 })
  }

  /// Exact for integers and integral decimals, within a decimal's 38 digits.
  private static func power(_ left: QueryNumber, _ right: QueryNumber) -> QueryNumber? {
    guard case .integer(let exponent) = right, (0...127).contains(exponent), let base = left.exactBase else {
      return real(pow(left.double, right.double))
    }
    var result: Int128 = 1
    for _ in 0..<exponent {
      let (product, overflows) = result.multipliedReportingOverflow(by: base)
      if overflows || product.magnitude > QueryNumber.greatestWhole { return real(pow(left.double, right.double)) }
      result = product
    }
    if case .decimal = left { return .decimal(QueryNumber.decimals(result).reduce(0, +)) }
    return QueryNumber(result)
  }

  private static func rounded(_ number: QueryNumber, _ rule: FloatingPointRoundingRule) -> QueryNumber {
    switch number {
    case .integer: return number
    case .double(let value): return .double(value.rounded(rule))
    case .decimal(var value):
      var result = Decimal()
      // Decimal has no rounding towards zero.
      let mode: NSDecimalNumber.RoundingMode =
        rule == .up || rule == .towardZero && value < 0 ? .up : .down
      NSDecimalRound(&result, &value, 0, mode)
      return .decimal(result)
    }
  }

  private static func real(_ value: Double) -> QueryNumber { .double(value) }

  /// An integral number as a 64-bit integer.
  private static func whole(_ number: QueryNumber) -> Int64? { number.whole.flatMap { Int64(exactly: $0) } }

  private static func statistics(_ function: QueryFunction, _ elements: [QueryValue]) -> QueryValue {
    let numbers = elements.compactMap(\.number)
    if numbers.isEmpty { return .null }
    switch function {
    case .median:
      let sorted = numbers.map(\.value).sorted { $0.sortOrder(against: $1) == .less }
      var middle = NumberSum()
      for place in [(sorted.count - 1) / 2, sorted.count / 2] {
        if let number = sorted[place].number { middle.add(number) }
      }
      return middle.average?.value ?? .null
    case .stddev:
      let values = numbers.map(\.double)
      let mean = values.reduce(0, +) / Double(values.count)
      let squares = values.reduce(0) { $0 + ($1 - mean) * ($1 - mean) }
      return .double((squares / Double(values.count)).squareRoot())
    default:
      var distinct = QueryValueSet()
      var counts: [Int] = []
      for number in numbers {
        let place = distinct.place(of: number.value)
        if place == counts.count { counts.append(0) }
        counts[place] += 1
      }
      let most = counts.max() ?? 0
      let modes = distinct.values.indices.filter { counts[$0] == most }.map { distinct.values[$0] }
      return .list(modes.sorted { $0.sortOrder(against: $1) == .less })
    }
  }

  // MARK: Sets

  package static func combine(_ left: [QueryValue], _ operation: QuerySetOperator, _ right: [QueryValue])
    -> [QueryValue]
  {
    var values = QueryValueSet()
    switch operation {
    case .union: for value in left + right { values.insert(value) }
    case .intersect:
      let others = QueryValueSet(right)
      for value in left where others.contains(value) { values.insert(value) }
    case .minus:
      let others = QueryValueSet(right)
      for value in left where !others.contains(value) { values.insert(value) }
    }
    return values.values
  }
}

extension QueryFunction {
  fileprivate var aggregate: QueryCollectionOperator {
    switch self {
    case .sum: .sum
    case .min: .min
    case .max: .max
    case .average: .avg
    default: .count
    }
  }
}

extension QueryNumber {
  /// The exact base of a power; a double stays one, because a division of integers drops the fraction.
  fileprivate var exactBase: Int128? {
    if case .double = self { return nil }
    return whole
  }
}
