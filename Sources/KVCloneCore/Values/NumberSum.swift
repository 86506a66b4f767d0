import Foundation
import KVCloneRecords

/// Adds numbers of any type of the model, for requests and for derived attributes.
///
/// Integers are added in 128 bits and decimals digit by digit, so that only the result has to fit, regardless of
/// intermediate values. Doubles are added in order. One double makes the sum a double, else one decimal makes it a
/// decimal.
struct NumberSum {
  private(set) var count: Int64 = 0
  private var whole: Int128 = 0
  private var decimal = DecimalSum()
  private var hasDecimal = false
  private var double = 0.0
  private(set) var hasDouble = false

  mutating func add(_ number: QueryNumber) {
    count += 1
    switch number {
    // Overflow would need 2^64 numbers, more than any store has.
    case .integer(let value): whole &+= Int128(value)
    case .decimal(let value):
      hasDecimal = true
      decimal.add(value)
    case .double(let value):
      hasDouble = true
      double += value
    }
  }

  /// The sum; 0 without numbers. A sum of integers has 64 bits, like integers: nil beyond, as is a sum of decimals
  /// beyond their range.
  var sum: QueryNumber? {
    if hasDouble { return .double(inDoubles(double)) }
    if hasDecimal { return allDecimals.value.map { .decimal($0) } }
    return Int64(exactly: whole).map { .integer($0) }
  }

  /// The average; nil without numbers. For integers it is a double, or a decimal if a double would lose digits of an
  /// integral part beyond 2^53.
  var average: QueryNumber? {
    if count == 0 { return nil }
    if hasDouble { return .double(inDoubles(double) / Double(count)) }
    if hasDecimal { return decimalAverage.map { .decimal($0) } }
    // Both numbers are exact, so the quotient is rounded once.
    if whole.magnitude <= 1 << 53 { return .double(Double(whole) / Double(count)) }
    let (quotient, rest) = whole.quotientAndRemainder(dividingBy: Int128(count))
    if rest == 0, let exact = Double(exactly: quotient) { return .double(exact) }
    if quotient.magnitude < 1 << 53 { return .double(Double(quotient) + Double(rest) / Double(count)) }
    return decimalAverage.map { .decimal($0) }
  }

  /// The average of integers without its fraction; nil without numbers, and for other types.
  var wholeAverage: Int64? {
    count == 0 || hasDouble || hasDecimal ? nil : Int64(exactly: whole / Int128(count))
  }

  /// The average of decimals or integers as a decimal; nil without numbers.
  var decimalAverage: Decimal? { count == 0 ? nil : allDecimals.average(count) }

  private func inDoubles(_ double: Double) -> Double {
    guard hasDecimal || whole != 0 else { return double }
    let others = allDecimals.value.flatMap { Double($0.description) } ?? .nan
    return double + others
  }

  /// The sum of decimals and integers.
  private var allDecimals: DecimalSum {
    var sum = decimal
    for part in QueryNumber.decimals(whole) { sum.add(part) }
    return sum
  }
}
