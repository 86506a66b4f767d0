#if canImport(FoundationEssentials)
  package import FoundationEssentials
#else
  package import Foundation
#endif

/// Encodes Foundation's `Decimal` in 20 bytes, independent of Foundation's own layout.
///
/// mantissa u128 | exponent i8 | flags u8 (1 negative, 2 NaN) | reserved u16 (0), little-endian. The mantissa has no
/// trailing decimal zeros as far as the exponent allows, so that equal numbers have equal bytes.
package enum DecimalCodec {
  /// A number as mantissa × 10^exponent.
  package struct Parts: Equatable {
    package var mantissa: UInt128 = 0
    package var exponent = 0
    package var isNegative = false
    package var isNaN = false

    package init(mantissa: UInt128 = 0, exponent: Int = 0, isNegative: Bool = false, isNaN: Bool = false) {
      self.mantissa = mantissa
      self.exponent = exponent
      self.isNegative = isNegative
      self.isNaN = isNaN
    }
  }

  /// Foundation does not expose the words of a `Decimal` on Linux; the digits of its significand are exact and public.
  package static func parts(of value: Decimal) -> Parts {
    if value.isNaN { return Parts(isNaN: true) }
    guard var mantissa = UInt128(value.significand.magnitude.description), mantissa != 0 else { return Parts() }
    var exponent = value.exponent
    while exponent < Int(Int8.max), mantissa % 10 == 0 {
      mantissa /= 10
      exponent += 1
    }
    return Parts(mantissa: mantissa, exponent: exponent, isNegative: value.isSignMinus)
  }

  /// The parts of an integer, without a `Decimal`, which provides its digits only as text.
  static func parts(of value: Int64) -> Parts {
    var mantissa = value.magnitude
    var exponent = 0
    while mantissa != 0, mantissa.isMultiple(of: 10) {
      mantissa /= 10
      exponent += 1
    }
    return Parts(mantissa: UInt128(mantissa), exponent: exponent, isNegative: value < 0)
  }

  package static func decimal(from parts: Parts) -> Decimal {
    if parts.isNaN { return .nan }
    let low = Decimal(UInt64(truncatingIfNeeded: parts.mantissa))
    let high = Decimal(UInt64(truncatingIfNeeded: parts.mantissa >> 64))
    let significand = high.isZero ? low : high * twoTo64 + low
    return Decimal(sign: parts.isNegative ? .minus : .plus, exponent: parts.exponent, significand: significand)
  }

  private static let twoTo64 = Decimal(UInt64.max) + 1

  static func store(_ parts: Parts, to address: UnsafeMutableRawPointer) {
    address.storeBytes(of: parts.mantissa.littleEndian, as: UInt128.self)
    address.storeBytes(of: Int8(parts.exponent), toByteOffset: 16, as: Int8.self)
    let flags: UInt8 = (parts.isNegative ? 1 : 0) | (parts.isNaN ? 2 : 0)
    address.storeBytes(of: flags, toByteOffset: 17, as: UInt8.self)
    address.storeBytes(of: 0, toByteOffset: 18, as: UInt16.self)
  }

  /// Any 20 bytes are a number: undefined bits are ignored.
  package static func load(from address: UnsafeRawPointer) -> Decimal {
    let flags = address.load(fromByteOffset: 17, as: UInt8.self)
    return decimal(
      from: Parts(
        mantissa: UInt128(littleEndian: address.loadUnaligned(as: UInt128.self)),
        exponent: Int(address.load(fromByteOffset: 16, as: Int8.self)),
        isNegative: flags & 1 != 0, isNaN: flags & 2 != 0))
  }
}
