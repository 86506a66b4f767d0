#if canImport(FoundationEssentials)
  package import FoundationEssentials
#else
  package import Foundation
#endif

/// A decimal number as text, parsed digit by digit: Foundation's parsers stop silently at what they do not understand,
/// and round what is too long.
///
/// This is the only parser of decimal numbers: literals, CAST, NDJSON, models' values and migrations all use it. Two
/// are equal if they represent the same number.
package struct DecimalText: Hashable {
  private var isNegative = false
  /// Without leading and trailing zeros; empty for 0.
  private var digits: [UInt8] = []
  private var exponent = 0

  /// Parses `-12.5e3` completely; nil if it is not a number.
  ///
  /// - Parameter isLoose: whether `.5` and `5.` are numbers too, as in Core Data's files and in SQL.
  package init?(_ text: some StringProtocol, isLoose: Bool = false) {
    var rest = Array(text.utf8)[...]
    if let sign = rest.first, sign == UInt8(ascii: "-") || sign == UInt8(ascii: "+") {
      isNegative = sign == UInt8(ascii: "-")
      rest = rest.dropFirst()
    }
    let whole = Self.takeDigits(&rest)
    digits.append(contentsOf: whole)
    var fraction: ArraySlice<UInt8> = []
    if rest.first == UInt8(ascii: ".") {
      rest = rest.dropFirst()
      fraction = Self.takeDigits(&rest)
      if fraction.isEmpty, !isLoose { return nil }
      digits.append(contentsOf: fraction)
      exponent = -fraction.count
    }
    guard !whole.isEmpty || isLoose && !fraction.isEmpty else { return nil }
    if let mark = rest.first, mark | 0x20 == UInt8(ascii: "e") {
      guard let power = Self.power(rest.dropFirst()) else { return nil }
      exponent += power
      rest = []
    }
    guard rest.isEmpty else { return nil }
    while digits.last == UInt8(ascii: "0") {
      digits.removeLast()
      exponent += 1
    }
    digits = Array(digits.drop { $0 == UInt8(ascii: "0") })
    if digits.isEmpty { (isNegative, exponent) = (false, 0) }
  }

  /// The range of ``value``, for error messages.
  package static let range =
    "more digits than the 38 of a Decimal, or a last digit outside the range 10^-128 to 10^127"

  /// The number; nil if a Decimal would round it: beyond 38 digits, or its exponents.
  package var value: Decimal? {
    if digits.isEmpty { return 0 }
    guard digits.count <= 38, (-128...127).contains(exponent) else { return nil }
    return Decimal(string: "\(isNegative ? "-" : "")\(String(decoding: digits, as: UTF8.self))e\(exponent)")
  }

  /// Whether the number has no fraction.
  package var isWhole: Bool { exponent >= 0 }

  /// The number without its fraction; nil beyond 64 bits.
  package var whole: Int64? {
    if exponent >= 0 {
      guard digits.count + exponent <= 19 else { return nil }
      return integer(digits + Array(repeating: UInt8(ascii: "0"), count: exponent))
    }
    return integer(Array(digits.dropLast(-exponent)))
  }

  private func integer(_ digits: [UInt8]) -> Int64? {
    Int64((isNegative ? "-" : "") + (digits.isEmpty ? "0" : String(decoding: digits, as: UTF8.self)))
  }

  private static func takeDigits(_ rest: inout ArraySlice<UInt8>) -> ArraySlice<UInt8> {
    let taken = rest.prefix { $0 &- UInt8(ascii: "0") < 10 }
    rest = rest.dropFirst(taken.count)
    return taken
  }

  /// Parses an exponent; one with too many digits becomes a large number.
  private static func power(_ text: ArraySlice<UInt8>) -> Int? {
    var rest = text
    let isNegative = rest.first == UInt8(ascii: "-")
    if isNegative || rest.first == UInt8(ascii: "+") { rest = rest.dropFirst() }
    let digits = takeDigits(&rest)
    guard !digits.isEmpty, rest.isEmpty else { return nil }
    var power = 0
    for digit in digits { power = min(power * 10 + Int(digit - UInt8(ascii: "0")), 1_000_000) }
    return isNegative ? -power : power
  }
}

/// A floating-point number as text.
package enum NumberText {
  /// Returns the Double nearest to a decimal number such as `-12.5e3`; nil if the text is not a number, or too large
  /// for a finite one. Unlike Swift's own parser it accepts neither hexadecimal numbers nor names.
  package static func double(_ text: some StringProtocol) -> Double? {
    guard DecimalText(text, isLoose: true) != nil else { return nil }
    // Swift requires digits before and after the point.
    var whole = String(text)
    if let point = whole.firstIndex(of: ".") {
      let next = whole.index(after: point)
      if next == whole.endIndex || !whole[next].isNumber { whole.insert("0", at: next) }
      if point == whole.startIndex || !whole[whole.index(before: point)].isNumber { whole.insert("0", at: point) }
    }
    return Double(whole).flatMap { $0.isFinite ? $0 : nil }
  }
}
