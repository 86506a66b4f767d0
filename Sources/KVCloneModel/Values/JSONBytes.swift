#if canImport(FoundationEssentials)
  package import FoundationEssentials
#else
  package import Foundation
#endif

/// The bytes of JSON values, written to memory that is large enough for them. Every function returns their number.
package enum JSONBytes {
  /// The maximum size of an integer.
  package static let integerLimit = 20
  /// The size of a UUID in quotation marks.
  package static let uuidLength = 38
  /// The maximum size of a number from ``short(_:to:)``.
  package static let shortLimit = 24

  /// The size of the memory for an escaped text: `\u0000` for each byte, and a whole vector.
  package static func escapedLimit(_ count: Int) -> Int { 6 &* count &+ 16 }

  private typealias Vector = SIMD16<UInt8>

  /// Writes a text of UTF-8 with escapes for quotation marks, backslashes and control characters.
  package static func escape(_ text: UnsafeRawBufferPointer, to target: UnsafeMutablePointer<UInt8>) -> Int {
    guard let base = text.baseAddress else { return 0 }
    var (place, written) = (0, 0)
    while text.count &- place >= Vector.scalarCount {
      let bytes = base.loadUnaligned(fromByteOffset: place, as: Vector.self)
      UnsafeMutableRawPointer(target + written).storeBytes(of: bytes, as: Vector.self)
      let isEscaped =
        (bytes .< Vector(repeating: 0x20)) .| (bytes .== Vector(repeating: UInt8(ascii: "\"")))
        .| (bytes .== Vector(repeating: UInt8(ascii: "\\"))) .| (bytes .== Vector(repeating: 0x7F))
      if any(isEscaped) {
        for index in place..<place &+ Vector.scalarCount {
          written &+= escape(base.load(fromByteOffset: index, as: UInt8.self), to: target + written)
        }
      } else {
        written &+= Vector.scalarCount
      }
      place &+= Vector.scalarCount
    }
    while place < text.count {
      written &+= escape(base.load(fromByteOffset: place, as: UInt8.self), to: target + written)
      place &+= 1
    }
    return written
  }

  @inline(__always)
  private static func escape(_ byte: UInt8, to target: UnsafeMutablePointer<UInt8>) -> Int {
    target[0] = byte
    if byte >= 0x20, byte != UInt8(ascii: "\""), byte != UInt8(ascii: "\\"), byte != 0x7F { return 1 }
    return escapeSpecial(byte, to: target)
  }

  @inline(never)
  private static func escapeSpecial(_ byte: UInt8, to target: UnsafeMutablePointer<UInt8>) -> Int {
    target[0] = UInt8(ascii: "\\")
    switch byte {
    case 0x08: target[1] = UInt8(ascii: "b")
    case 0x09: target[1] = UInt8(ascii: "t")
    case 0x0A: target[1] = UInt8(ascii: "n")
    case 0x0C: target[1] = UInt8(ascii: "f")
    case 0x0D: target[1] = UInt8(ascii: "r")
    case UInt8(ascii: "\""), UInt8(ascii: "\\"): target[1] = byte
    default:
      target[1] = UInt8(ascii: "u")
      target[2] = UInt8(ascii: "0")
      target[3] = UInt8(ascii: "0")
      target[4] = hexDigit(byte &>> 4, letters: UInt8(ascii: "a"))
      target[5] = hexDigit(byte & 15, letters: UInt8(ascii: "a"))
      return 6
    }
    return 2
  }

  @inline(__always)
  private static func hexDigit(_ value: UInt8, letters: UInt8) -> UInt8 {
    value < 10 ? UInt8(ascii: "0") &+ value : letters &+ value &- 10
  }

  /// Writes a text in quotation marks.
  package static func quoted(_ text: UnsafeRawBufferPointer, to target: UnsafeMutablePointer<UInt8>) -> Int {
    target[0] = UInt8(ascii: "\"")
    let length = escape(text, to: target + 1)
    target[1 &+ length] = UInt8(ascii: "\"")
    return length &+ 2
  }

  /// Writes a text of an escaped start, with its quotation mark, and a number.
  package static func quoted(
    _ start: UnsafeRawBufferPointer, _ number: UInt64, to target: UnsafeMutablePointer<UInt8>
  ) -> Int {
    UnsafeMutableRawBufferPointer(start: target, count: start.count).copyMemory(from: start)
    let length = start.count &+ integer(number, to: target + start.count)
    target[length] = UInt8(ascii: "\"")
    return length &+ 1
  }

  /// Writes a date in quotation marks; nothing if it has no short text.
  package static func date(_ secondsSince2001: Double, to target: UnsafeMutablePointer<UInt8>) -> Int {
    let length = CalendarText.write(secondsSince2001: secondsSince2001, to: target + 1)
    if length == 0 { return 0 }
    target[0] = UInt8(ascii: "\"")
    target[1 &+ length] = UInt8(ascii: "\"")
    return length &+ 2
  }

  /// Writes a UUID in capital letters and quotation marks.
  package static func uuid(_ uuid: UUID, to target: UnsafeMutablePointer<UInt8>) -> Int {
    target[0] = UInt8(ascii: "\"")
    var place = 1
    withUnsafeBytes(of: uuid.uuid) { bytes in
      for (index, byte) in bytes.enumerated() {
        if index == 4 || index == 6 || index == 8 || index == 10 {
          target[place] = UInt8(ascii: "-")
          place &+= 1
        }
        target[place] = hexDigit(byte &>> 4, letters: UInt8(ascii: "A"))
        target[place &+ 1] = hexDigit(byte & 15, letters: UInt8(ascii: "A"))
        place &+= 2
      }
    }
    target[place] = UInt8(ascii: "\"")
    return place &+ 1
  }
}

// MARK: - Numbers

extension JSONBytes {
  package static func integer(_ value: Int64, to target: UnsafeMutablePointer<UInt8>) -> Int {
    guard value < 0 else { return integer(UInt64(value), to: target) }
    target[0] = UInt8(ascii: "-")
    return 1 &+ integer(value.magnitude, to: target + 1)
  }

  package static func integer(_ value: UInt64, to target: UnsafeMutablePointer<UInt8>) -> Int {
    var (count, limit) = (1, UInt64(10))
    while value >= limit, count < integerLimit {
      count &+= 1
      // Wraps for the greatest count only, which ends the loop.
      limit = limit &* 10
    }
    digits(value, count, to: target)
    return count
  }

  /// Writes the last digits of a number, with leading zeros.
  @inline(__always)
  static func digits(_ value: UInt64, _ count: Int, to target: UnsafeMutablePointer<UInt8>) {
    var (rest, place) = (value, count)
    while place > 0 {
      place &-= 1
      let (quotient, digit) = rest.quotientAndRemainder(dividingBy: 10)
      target[place] = UInt8(ascii: "0") &+ UInt8(truncatingIfNeeded: digit)
      rest = quotient
    }
  }

  /// Writes the shortest number that parses to an equal one, if it has few digits; 0 if it has more.
  package static func short(_ value: Double, to target: UnsafeMutablePointer<UInt8>) -> Int {
    guard let decimal = ShortDecimal(value.magnitude) else { return 0 }
    var count = 0
    if value.sign == .minus {
      target[0] = UInt8(ascii: "-")
      count = 1
    }
    let (whole, fraction) = decimal.parts
    count &+= integer(whole, to: target + count)
    if decimal.scale == 0 { return count }
    target[count] = UInt8(ascii: ".")
    digits(fraction, decimal.scale, to: target + count + 1)
    return count &+ 1 &+ decimal.scale
  }
}

// MARK: - Any number

extension JSONBytes {
  /// The shortest number that parses to an equal one; NaN and the infinities, which JSON lacks, as strings.
  package static func text(_ value: Double) -> String {
    if value.isFinite { return shortest(value.description) }
    return value.isNaN ? #""NaN""# : value < 0 ? #""-Infinity""# : #""Infinity""#
  }

  /// A finite number, with the fewer digits that identify a Float.
  package static func text(_ value: Float) -> String {
    let text = value.description
    // A parser may use Double, and rounding twice can differ from rounding once.
    let survives = Double(text).map { Float($0) == value } ?? false
    return shortest(survives ? text : Double(value).description)
  }

  /// Swift's description has the fewest digits already, but writes `5.0` and `1e+20`.
  private static func shortest(_ description: String) -> String {
    if description.hasSuffix(".0") { return String(description.dropLast(2)) }
    guard let exponent = description.firstIndex(of: "e") else { return description }
    var digits = description[description.index(after: exponent)...]
    let isNegative = digits.hasPrefix("-")
    if isNegative || digits.hasPrefix("+") { digits = digits.dropFirst() }
    while digits.count > 1, digits.hasPrefix("0") { digits = digits.dropFirst() }
    var mantissa = description[..<exponent]
    if mantissa.hasSuffix(".0") { mantissa = mantissa.dropLast(2) }
    return "\(mantissa)e\(isNegative ? "-" : "")\(digits)"
  }
}

/// A Double from 0 as a decimal of up to 15 digits, up to six of them after the point: most numbers and dates are one.
///
/// Different decimals of up to 15 digits are different Doubles, so this one is the shortest that parses to the Double.
struct ShortDecimal {
  /// All digits as a number; the last one is not 0 unless ``scale`` is.
  private let digits: UInt64
  /// The number of digits after the point.
  let scale: Int
  /// 10 to the power of ``scale``.
  let divisor: UInt64

  private static let maximumScale = 6

  init?(_ value: Double) {
    // Smaller ones need more digits, or an exponent.
    guard value >= 0.001 || value == 0 else { return nil }
    var (factor, scale) = (UInt64(1), 0)
    while scale <= Self.maximumScale {
      let scaled = value * Double(factor)
      guard scaled < 999_999_999_999_999 else { return nil }
      let digits = UInt64(scaled + 0.5)
      // Both numbers are exact, so the quotient is the Double next to the decimal.
      if Double(digits) / Double(factor) == value {
        (self.digits, self.scale, divisor) = (digits, scale, factor)
        return
      }
      factor &*= 10
      scale &+= 1
    }
    return nil
  }

  /// The digits before and after the point.
  var parts: (whole: UInt64, fraction: UInt64) {
    let (whole, fraction) = digits.quotientAndRemainder(dividingBy: divisor)
    return (whole, fraction)
  }
}
