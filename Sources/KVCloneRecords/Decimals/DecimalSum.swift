#if canImport(FoundationEssentials)
  package import FoundationEssentials
#else
  package import Foundation
#endif

/// An exact sum of decimals, regardless of their order and exponents.
///
/// Short numbers are added as `Decimal`s, which is exact; longer ones use digits of base 10^18 over all exponents of a
/// `Decimal`. Only the result is rounded, if it exceeds 38 digits.
package struct DecimalSum {
  private static let base: Int64 = 1_000_000_000_000_000_000
  private static let baseDigits = 18
  /// The exponent of the lowest digit: a multiple of 18 below the least exponent, -128.
  private static let lowest = -144
  /// Digits up to 10^216, above 2^48 times the greatest Decimal, about 10^166.
  private static let limbCount = 20

  private var short = Decimal(0)
  /// Little-endian, each between -10^18 and 10^18; empty while all numbers were short.
  private var limbs: [Int64] = []
  private var hasNaN = false

  package init() {}

  package mutating func add(_ number: Decimal) {
    if number.isNaN {
      hasNaN = true
    } else if number.isShort {
      short += number
      if short.isShort { return }
      spill(short)
      short = 0
    } else {
      spill(number)
    }
  }

  /// The sum; nil beyond the range of a Decimal. One of more than 38 digits is rounded to 38 digits. If that would be a
  /// short number, the last of the 38 digits is 1 or 9 instead: a rounded sum never looks like one that can be adjusted
  /// by the change of a member.
  package var value: Decimal? {
    if hasNaN { return .nan }
    if limbs.isEmpty { return short }
    var (digits, isNegative) = allDigits
    let exponent = Self.lowest
    if digits.count - DecimalDigits.trailingZeros(digits) <= DecimalDigits.precision {
      return DecimalDigits.decimal(digits, exponent, isNegative)
    }
    let dropped = digits.count - DecimalDigits.precision
    let cut = Array(digits.prefix(DecimalDigits.precision))
    DecimalDigits.round(&digits, dropping: dropped, isTailZero: true)
    let nearest = DecimalDigits.decimal(digits, exponent + dropped, isNegative)
    guard let nearest, nearest.isShort else { return nearest }
    return DecimalDigits.decimal(cut.last == 0 ? cut.dropLast() + [1] : cut, exponent + dropped, isNegative)
  }

  /// The sum divided by a count above 0, rounded once, to 38 digits; nil beyond the range of a Decimal.
  package func average(_ count: Int64) -> Decimal? {
    if hasNaN { return .nan }
    var sum = self
    if sum.limbs.isEmpty { sum.spill(0) }
    let (whole, isNegative) = sum.allDigits
    // Long division to 38 digits and one more for rounding, if needed.
    var digits: [UInt8] = []
    var rest: UInt128 = 0
    var exponent = Self.lowest + whole.count
    for place in 0..<(whole.count + 2 * DecimalDigits.precision) {
      rest = rest * 10 + UInt128(place < whole.count ? whole[place] : 0)
      let digit = UInt8(rest / UInt128(count))
      rest %= UInt128(count)
      exponent -= 1
      if digit != 0 || !digits.isEmpty { digits.append(digit) }
      if digits.count > DecimalDigits.precision, place + 1 >= whole.count { break }
    }
    return DecimalDigits.rounded(digits, exponent, isNegative, isTailZero: rest == 0)
  }

  // MARK: Limbs

  private mutating func spill(_ number: Decimal) {
    if limbs.isEmpty { limbs = [Int64](repeating: 0, count: Self.limbCount) }
    let parts = DecimalCodec.parts(of: number)
    let shift = parts.exponent - Self.lowest
    var scale: UInt128 = 1
    for _ in 0..<(shift % Self.baseDigits) { scale *= 10 }
    var mantissa = parts.mantissa
    var carry: UInt128 = 0
    var place = shift / Self.baseDigits
    let base = UInt128(Self.base)
    while mantissa != 0 || carry != 0 {
      carry += mantissa % base * scale
      mantissa /= base
      add(parts.isNegative ? -Int64(carry % base) : Int64(carry % base), at: place)
      carry /= base
      place += 1
    }
  }

  private mutating func add(_ digit: Int64, at place: Int) {
    var (digit, place) = (digit, place)
    while digit != 0 {
      limbs[place] += digit
      digit = limbs[place] / Self.base
      limbs[place] %= Self.base
      place += 1
    }
  }

  /// All decimal digits, most significant first, without leading zeros, down to ``lowest``.
  private var allDigits: ([UInt8], isNegative: Bool) {
    var sum = self
    if sum.short != 0 { sum.spill(sum.short) }
    var limbs = sum.limbs
    let isNegative = (limbs.last { $0 != 0 } ?? 0) < 0
    if isNegative { limbs = limbs.map { -$0 } }
    // Normalizes to the sign of the most significant one.
    for place in limbs.indices where limbs[place] < 0 {
      limbs[place] += Self.base
      limbs[place + 1] -= 1
    }
    var digits: [UInt8] = []
    for var limb in limbs {
      for _ in 0..<Self.baseDigits {
        digits.append(UInt8(limb % 10))
        limb /= 10
      }
    }
    while digits.last == 0 { digits.removeLast() }
    return (digits.reversed(), isNegative)
  }
}

extension Decimal {
  /// Whether sums of a few such numbers fit the digits of a decimal.
  package var isShort: Bool { !isNaN && exponent >= -18 && magnitude < 1_000_000_000_000_000_000 }
}
