import Foundation
import KVCloneModel

/// What functions of predicates give. Nothing is thrown: an argument that a function can do nothing with gives nil, as a nil
/// argument does.
enum QueryFunctions {
  static func call(_ function: QueryFunction, _ arguments: [QueryValue]) -> QueryValue {
    switch function {
    case .sum, .count, .min, .max, .average:
      var aggregate = QueryAggregate(function.aggregate)
      for value in arguments.first?.elements ?? [] { aggregate.add(value) }
      return aggregate.value
    case .median, .mode, .stddev: return statistics(function, arguments.first?.elements.compactMap(\.number) ?? [])
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

  /// A date and seconds: later, earlier; two dates: the seconds between them.
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
      if case .integer(let value) = number, value != .min { return .integer(Swift.abs(value)) }
      if case .decimal(let value) = number { return .decimal(value.magnitude) }
      return .double(Swift.abs(number.double))
    case .negate:
      if case .integer(let value) = number, value != .min { return .integer(-value) }
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
      return QueryNumber.calculate(
        left, right, integer: { $0.addingReportingOverflow($1) }, decimal: { $0 + $1 }, double: { $0 + $1 })
    case .subtract:
      return QueryNumber.calculate(
        left, right, integer: { $0.subtractingReportingOverflow($1) }, decimal: { $0 - $1 }, double: { $0 - $1 })
    case .multiply:
      return QueryNumber.calculate(
        left, right, integer: { $0.multipliedReportingOverflow(by: $1) }, decimal: { $0 * $1 }, double: { $0 * $1 })
    case .divide: return divided(left, right)
    case .raise: return power(left, right)
    case .modulus, .bitwiseAnd, .bitwiseOr, .bitwiseXor, .leftShift, .rightShift:
      guard let a = whole(left), let b = whole(right) else { return nil }
      return integers(function, a, b).map { .integer($0) }
    default: return nil
    }
  }

  private static func integers(_ function: QueryFunction, _ left: Int64, _ right: Int64) -> Int64? {
    switch function {
    case .modulus: right == 0 ? nil : left.remainderReportingOverflow(dividingBy: right).partialValue
    case .bitwiseAnd: left & right
    case .bitwiseOr: left | right
    case .bitwiseXor: left ^ right
    case .leftShift: left << right
    default: left >> right
    }
  }

  /// Two whole numbers give a whole one, without its fraction, as in Core Data's stores. Nothing is divided by 0.
  private static func divided(_ left: QueryNumber, _ right: QueryNumber) -> QueryNumber? {
    if right.double == 0 { return nil }
    return QueryNumber.calculate(
      left, right, integer: { $0.dividedReportingOverflow(by: $1) }, decimal: { $0 / $1 }, double: { $0 / $1 })
  }

  private static func power(_ left: QueryNumber, _ right: QueryNumber) -> QueryNumber? {
    if case .integer(let base) = left, case .integer(let exponent) = right, (0...63).contains(exponent) {
      var result: Int64 = 1
      var isExact = true
      for _ in 0..<exponent {
        let (product, overflows) = result.multipliedReportingOverflow(by: base)
        if overflows { isExact = false }
        result = product
      }
      if isExact { return .integer(result) }
    }
    return real(pow(left.double, right.double))
  }

  private static func rounded(_ number: QueryNumber, _ rule: FloatingPointRoundingRule) -> QueryNumber {
    switch number {
    case .integer: return number
    case .double(let value): return .double(value.rounded(rule))
    case .decimal(var value):
      var result = Decimal()
      // Decimal knows no rounding towards zero.
      let mode: NSDecimalNumber.RoundingMode =
        rule == .up || rule == .towardZero && value < 0 ? .up : .down
      NSDecimalRound(&result, &value, 0, mode)
      return .decimal(result)
    }
  }

  private static func real(_ value: Double) -> QueryNumber { .double(value) }

  /// A number without a fraction, as an integer.
  private static func whole(_ number: QueryNumber) -> Int64? {
    switch number {
    case .integer(let value): return value
    // Not by way of a double, which has only 53 bits.
    case .decimal(let value): return Int64(value.description)
    case .double(let value): return Int64(exactly: value)
    }
  }

  private static func statistics(_ function: QueryFunction, _ numbers: [QueryNumber]) -> QueryValue {
    if numbers.isEmpty { return .null }
    let values = numbers.map(\.double).sorted()
    switch function {
    case .median:
      let middle = values.count / 2
      return .double(values.count % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2)
    case .stddev:
      let mean = values.reduce(0, +) / Double(values.count)
      let squares = values.reduce(0) { $0 + ($1 - mean) * ($1 - mean) }
      return .double((squares / Double(values.count)).squareRoot())
    default:
      var counts: [Double: Int] = [:]
      for value in values { counts[value, default: 0] += 1 }
      let most = counts.values.max() ?? 0
      return .list(counts.filter { $0.value == most }.keys.sorted().map { .double($0) })
    }
  }

  // MARK: Types and sets

  /// The value as one of another type; nil where it has none.
  static func cast(_ value: QueryValue, to type: AttributeType) -> QueryValue {
    switch (QueryKind(type), value) {
    case (_, .null): return .null
    case (.date, .date), (.uuid, .uuid), (.bytes, .binary), (.text, .string): return value
    case (.date, .string(let text)):
      return (try? Date(text, strategy: .iso8601)).map { .date($0.timeIntervalSinceReferenceDate) } ?? .null
    case (.date, _): return value.number.map { .date($0.double) } ?? .null
    case (.number, .date(let seconds)): return .double(seconds)
    case (.number, .string(let text)): return number(text, type)
    case (.number, _): return value.number.map { cast($0, type) } ?? .null
    case (.uuid, .string(let text)): return UUID(uuidString: text).map { .uuid($0) } ?? .null
    case (.text, .uuid(let uuid)): return .string(uuid.uuidString)
    case (.text, _): return text(value)
    default: return .null
    }
  }

  private static func number(_ text: String, _ type: AttributeType) -> QueryValue {
    if type == .decimal { return Decimal(string: text).map { .decimal($0) } ?? .null }
    if let integer = Int64(text) { return cast(.integer(integer), type) }
    return Double(text).map { cast(.double($0), type) } ?? .null
  }

  private static func cast(_ number: QueryNumber, _ type: AttributeType) -> QueryValue {
    switch type {
    case .integer16, .integer32, .integer64:
      if case .integer = number { return number.value }
      let value = number.double.rounded(.towardZero)
      return Int64(exactly: value).map { .integer($0) } ?? .null
    case .boolean: return .boolean(number.double != 0)
    case .decimal:
      switch number {
      case .integer(let value): return .decimal(Decimal(value))
      case .double(let value): return Decimal(string: value.description).map { .decimal($0) } ?? .null
      case .decimal: return number.value
      }
    default: return .double(number.double)
    }
  }

  private static func text(_ value: QueryValue) -> QueryValue {
    switch value {
    case .boolean(let value): .string(value ? "1" : "0")
    case .integer(let value): .string(value.description)
    case .double(let value): .string(value.description)
    case .decimal(let value): .string(value.description)
    default: .null
    }
  }

  static func combine(_ left: [QueryValue], _ operation: QuerySetOperator, _ right: [QueryValue]) -> [QueryValue] {
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

/// Values, each once, in the order that they came.
struct QueryValueSet {
  private(set) var values: [QueryValue] = []
  /// By what equal values have in common.
  private var places: [Int: [Int]] = [:]

  init(_ values: [QueryValue] = []) {
    for value in values { insert(value) }
  }

  func contains(_ value: QueryValue) -> Bool {
    places[value.equalityHash]?.contains { values[$0].isEqual(to: value) } ?? false
  }

  mutating func insert(_ value: QueryValue) { _ = place(of: value) }

  /// Where the value, or one that equals it, stands in ``values``: at the end, if it is new.
  mutating func place(of value: QueryValue) -> Int {
    let hash = value.equalityHash
    if let known = places[hash]?.first(where: { values[$0].isEqual(to: value) }) { return known }
    places[hash, default: []].append(values.count)
    values.append(value)
    return values.count - 1
  }
}

extension QueryValue {
  /// A number that equal values share.
  fileprivate var equalityHash: Int {
    switch self {
    case .null: 0
    case .boolean, .integer, .double, .decimal: (number?.double ?? 0).hashValue
    case .string(let text): text.hashValue
    case .date(let seconds): seconds.hashValue
    case .uuid(let uuid): uuid.hashValue
    case .binary(let data): data.hashValue
    case .object(let id): id.hashValue
    case .other(.composite(let elements)): elements.count
    case .other(let value): value.hashValue
    case .list(let values): values.map(\.equalityHash).hashValue
    }
  }
}

/// `@count`, `@sum` and the others, fed value by value. nil counts for `@count` alone.
struct QueryAggregate {
  private let function: QueryCollectionOperator
  private var count: Int64 = 0
  private var numberCount: Int64 = 0
  private var sum = QueryNumber.integer(0)
  private var best: QueryValue = .null
  private var values: [QueryValue] = []
  private var distinct = QueryValueSet()

  init(_ function: QueryCollectionOperator) {
    self.function = function
  }

  mutating func add(_ value: QueryValue) {
    count += 1
    if value.isNull { return }
    switch function {
    case .count: break
    case .sum, .avg:
      guard let number = value.number else { return }
      numberCount += 1
      sum = QueryNumber.calculate(
        sum, number, integer: { $0.addingReportingOverflow($1) }, decimal: { $0 + $1 }, double: { $0 + $1 })
    case .min: if best.isNull || value.order(against: best) == .less { best = value }
    case .max: if best.isNull || value.order(against: best) == .greater { best = value }
    case .unionOfObjects: values.append(value)
    case .distinctUnionOfObjects: distinct.insert(value)
    }
  }

  /// The sum of nothing is 0; the average, least and greatest of nothing are nil.
  var value: QueryValue {
    switch function {
    case .count: .integer(count)
    case .sum: sum.value
    case .avg: numberCount == 0 ? .null : average
    case .min, .max: best
    case .unionOfObjects: .list(values)
    case .distinctUnionOfObjects: .list(distinct.values)
    }
  }

  private var average: QueryValue {
    if case .decimal(let total) = sum { return .decimal(total / Decimal(numberCount)) }
    return .double(sum.double / Double(numberCount))
  }
}
