#if canImport(FoundationEssentials)
  package import FoundationEssentials
#else
  package import Foundation
#endif

/// Decimal arithmetic digit by digit, where Foundation's rounds too early, or traps.
package enum DecimalDigits {
  /// The number of digits of a `Decimal`.
  static let precision = 38
  private static let exponents = -128...127

  /// The product of two decimals, rounded once to 38 digits; nil beyond the range of a Decimal, 0 below it. Foundation
  /// traps if the exponent of the product is out of range.
  package static func product(_ left: Decimal, _ right: Decimal) -> Decimal? {
    if left.isNaN || right.isNaN { return .nan }
    // Rounding to 38 digits raises the exponent by 39 at most.
    if (-128...88).contains(left.exponent + right.exponent) { return left * right }
    let (one, other) = (DecimalCodec.parts(of: left), DecimalCodec.parts(of: right))
    let (high, low) = one.mantissa.multipliedFullWidth(by: other.mantissa)
    var words = [UInt64(truncatingIfNeeded: high >> 64), UInt64(truncatingIfNeeded: high)]
    words += [UInt64(truncatingIfNeeded: low >> 64), UInt64(truncatingIfNeeded: low)]
    var digits: [UInt8] = []
    while words.contains(where: { $0 != 0 }) {
      var rest: UInt128 = 0
      for place in words.indices {
        let part = rest << 64 | UInt128(words[place])
        words[place] = UInt64(part / 10)
        rest = part % 10
      }
      digits.append(UInt8(rest))
    }
    return rounded(
      digits.reversed(), one.exponent + other.exponent, one.isNegative != other.isNegative, isTailZero: true)
  }

  /// The nearest decimal to a number of digits, most significant first and not 0; nil beyond the range of a Decimal, 0
  /// below it.
  ///
  /// - Parameter isTailZero: whether nothing follows the last digit.
  static func rounded(_ digits: [UInt8], _ exponent: Int, _ isNegative: Bool, isTailZero: Bool) -> Decimal? {
    var digits = digits
    let dropped = max(0, digits.count - precision, exponents.lowerBound - exponent)
    if dropped > digits.count || digits.isEmpty { return 0 }
    round(&digits, dropping: dropped, isTailZero: isTailZero)
    return decimal(digits, exponent + dropped, isNegative)
  }

  static func trailingZeros(_ digits: [UInt8]) -> Int { digits.reversed().prefix { $0 == 0 }.count }

  /// Rounds half to even.
  static func round(_ digits: inout [UInt8], dropping count: Int, isTailZero: Bool) {
    guard count > 0 else { return }
    let tail = digits.suffix(count)
    digits.removeLast(count)
    guard let first = tail.first else { return }
    let isHalf = first == 5 && isTailZero && tail.dropFirst().allSatisfy { $0 == 0 }
    guard isHalf ? (digits.last ?? 0) % 2 == 1 : first >= 5 else { return }
    for place in digits.indices.reversed() {
      if digits[place] < 9 {
        digits[place] += 1
        return
      }
      digits[place] = 0
    }
    digits.insert(1, at: 0)
  }

  static func decimal(_ digits: [UInt8], _ exponent: Int, _ isNegative: Bool) -> Decimal? {
    var digits = digits
    var exponent = exponent
    let zeros = trailingZeros(digits)
    digits.removeLast(zeros)
    exponent += zeros
    // Foundation removes trailing zeros of a significand, so the exponent counts without them.
    guard digits.count <= precision, exponent <= 127 else { return digits.isEmpty ? 0 : nil }
    let mantissa = digits.reduce(UInt128(0)) { $0 * 10 + UInt128($1) }
    if mantissa == 0 { return 0 }
    return DecimalCodec.decimal(from: .init(mantissa: mantissa, exponent: exponent, isNegative: isNegative))
  }
}
