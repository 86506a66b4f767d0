import Foundation
import KVCloneTestSupport

/// The arithmetic and functions of the oracle.
enum OracleArithmetic {
  static func combine(_ sign: String, _ left: OracleValue, _ right: OracleValue) -> OracleValue {
    switch (left, right) {
    case (.null, _), (_, .null): return .null
    case (.date(let one), .date(let other)): return .double(one - other)
    case (.date(let one), _): return .date(sign == "+" ? one + double(right) : one - double(right))
    case (_, .date(let other)): return .date(double(left) + other)
    case (.integer(let one), .integer(let other)): return integers(sign, one, other)
    case (.double, _), (_, .double): return doubles(sign, double(left), double(right))
    default: return decimals(sign, decimal(left), decimal(right))
    }
  }

  private static func integers(_ sign: String, _ one: Int64, _ other: Int64) -> OracleValue {
    let result: (partialValue: Int64, overflow: Bool)
    switch sign {
    case "+": result = one.addingReportingOverflow(other)
    case "-": result = one.subtractingReportingOverflow(other)
    case "*": result = one.multipliedReportingOverflow(by: other)
    case "/" where other == 0: return .null
    case "/": result = one.dividedReportingOverflow(by: other)
    default: return doubles(sign, Double(one), Double(other))
    }
    // 2^126, the largest product, has 38 digits.
    return result.overflow ? decimals(sign, Decimal(one), Decimal(other)) : .integer(result.partialValue)
  }

  private static func doubles(_ sign: String, _ one: Double, _ other: Double) -> OracleValue {
    switch sign {
    case "+": .double(one + other)
    case "-": .double(one - other)
    case "*": .double(one * other)
    case "/": other == 0 ? .null : .double(one / other)
    default: .double(pow(one, other))
    }
  }

  private static func decimals(_ sign: String, _ one: Decimal, _ other: Decimal) -> OracleValue {
    switch sign {
    case "+": .decimal(one + other)
    case "-": .decimal(one - other)
    case "*": .decimal(one * other)
    default: other == 0 ? .null : .decimal(one / other)
    }
  }

  private static func double(_ value: OracleValue) -> Double {
    switch value {
    case .integer(let number): Double(number)
    case .double(let number): number
    case .decimal(let number): Double(number.description) ?? .nan
    default: .nan
    }
  }

  private static func decimal(_ value: OracleValue) -> Decimal {
    switch value {
    case .integer(let number): Decimal(number)
    case .decimal(let number): number
    default: .nan
    }
  }

  // MARK: Functions

  static func call(_ name: String, _ values: [OracleValue]) -> OracleValue {
    if case .list(let list)? = values.first { return gather(name == "average" ? "avg" : name, list) }
    guard let first = values.first, !values.contains(where: \.isNull) else { return .null }
    switch (name, first) {
    case ("-", _): return combine("-", .integer(0), first)
    case ("abs", .integer(let number)): return number < 0 ? combine("-", .integer(0), first) : first
    case ("abs", .decimal(let number)): return .decimal(number < 0 ? -number : number)
    case ("abs", .double(let number)): return .double(Swift.abs(number))
    case ("floor", .double(let number)): return .double(number.rounded(.down))
    case ("ceiling", .double(let number)): return .double(number.rounded(.up))
    case ("trunc", .double(let number)): return .double(number.rounded(.towardZero))
    case ("floor", _), ("ceiling", _), ("trunc", _): return first
    case ("sqrt", _): return .double(double(first).squareRoot())
    case ("length", .text(let text)): return .integer(Int64(text.unicodeScalars.count))
    case ("lowercase", .text(let text)): return .text(text.lowercased())
    case ("uppercase", .text(let text)): return .text(text.uppercased())
    case ("onesComplement", .integer(let number)): return .integer(~number)
    case (_, .integer(let one)):
      guard case .integer(let other)? = values.last else { return .null }
      switch name {
      case "bitwiseAnd:with:": return .integer(one & other)
      case "bitwiseOr:with:": return .integer(one | other)
      case "bitwiseXor:with:": return .integer(one ^ other)
      case "leftshift:by:": return .integer(one << other)
      case "rightshift:by:": return .integer(one >> other)
      default: return other == 0 ? .null : .integer(one % other)
      }
    default: return .null
    }
  }

  /// Returns the result of a collection operator.
  static func gather(_ name: String, _ values: [OracleValue]) -> OracleValue {
    let known = values.filter { !$0.isNull }
    let sum = known.reduce(.integer(0)) { combine("+", $0, $1) }
    let rules = OracleComparison("")
    switch name {
    case "count": return .integer(Int64(values.count))
    case "sum":
      let wholes = known.compactMap { value -> Int64? in if case .integer(let number) = value { number } else { nil } }
      if wholes.count < known.count { return sum }
      return Int64(exactly: wholes.reduce(Int128(0)) { $0 + Int128($1) }).map { .integer($0) } ?? .null
    case "avg":
      if known.isEmpty { return .null }
      if case .decimal = sum { return combine("/", sum, .integer(Int64(known.count))) }
      return .double(double(sum) / Double(known.count))
    case "min": return known.min { rules.isLess($0, $1) } ?? .null
    case "max": return known.max { rules.isLess($0, $1) } ?? .null
    case "distinctUnionOfObjects":
      var result: [OracleValue] = []
      for value in values where !result.contains(where: { rules.areEqual($0, value) }) { result.append(value) }
      return .list(result)
    default: return .list(values)
    }
  }
}
