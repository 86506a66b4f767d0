/// Points in time as RFC 3339 text in UTC, without losing a bit of the stored Double.
///
/// A date is a Double of seconds since 2001-01-01T00:00:00Z. Its shortest decimal form is converted to days and seconds
/// digit by digit, never by arithmetic on the fraction, so parsing the text returns the same Double.
///
/// This is the only parser and formatter of dates as text: predicates, CAST, NDJSON, the command line and models'
/// default values all use it.
package enum CalendarText {
  /// The range of years with four digits.
  private static let years: ClosedRange<Int64> = 0...9999
  static let secondsPerDay: Int64 = 86_400
  /// Days from 0000-03-01 to 2001-01-01 in the proleptic Gregorian calendar.
  private static let referenceDay: Int64 = 730_791

  /// Formats a date; nil if no calendar text parses to an equal one (NaN, the infinities, −0, years past 9999).
  package static func text(secondsSince2001 value: Double) -> String? {
    let short = [UInt8](unsafeUninitializedCapacity: shortLimit) { buffer, count in
      if let base = buffer.baseAddress { count = write(secondsSince2001: value, to: base) }
    }
    if !short.isEmpty { return String(decoding: short, as: UTF8.self) }
    guard value.isFinite, value != 0 || value.sign == .plus, abs(value) < maximumSeconds else { return nil }
    var (whole, fraction) = decimalParts(value.magnitude)
    if value < 0 {
      // −2.25 is 0.75 of a second after −3.
      if fraction.isEmpty {
        whole = -whole
      } else {
        whole = -whole - 1
        fraction = complement(fraction)
      }
    }
    var text = [UInt8](unsafeUninitializedCapacity: 32) { buffer, count in
      if let base = buffer.baseAddress, write(wholeSeconds: whole, to: base) { count = wholeLength }
    }
    if text.isEmpty { return nil }
    if !fraction.isEmpty {
      text.append(UInt8(ascii: "."))
      text.append(contentsOf: fraction)
    }
    text.append(UInt8(ascii: "Z"))
    return String(decoding: text, as: UTF8.self)
  }

  /// The maximum size of a text from ``write(secondsSince2001:to:)``.
  package static let shortLimit = 32
  /// Beyond every year with four digits.
  private static let maximumSeconds = 4e11
  /// The length of `2001-01-01T00:00:00`.
  private static let wholeLength = 19

  /// Writes the text of a date with up to six digits after the second; returns its length, or 0 for other dates.
  package static func write(secondsSince2001 value: Double, to target: UnsafeMutablePointer<UInt8>) -> Int {
    guard value != 0 || value.sign == .plus, value.magnitude < maximumSeconds,
      let decimal = ShortDecimal(value.magnitude)
    else { return 0 }
    let parts = decimal.parts
    var (whole, fraction) = (Int64(parts.whole), parts.fraction)
    if value < 0 {
      whole = -whole
      if fraction > 0 { (whole, fraction) = (whole - 1, decimal.divisor - fraction) }
    }
    guard write(wholeSeconds: whole, to: target) else { return 0 }
    var count = wholeLength
    if decimal.scale > 0 {
      target[count] = UInt8(ascii: ".")
      JSONBytes.digits(fraction, decimal.scale, to: target + count + 1)
      count += 1 + decimal.scale
    }
    target[count] = UInt8(ascii: "Z")
    return count + 1
  }

  /// Writes a date and time of day; returns false if its year does not have four digits.
  private static func write(wholeSeconds whole: Int64, to target: UnsafeMutablePointer<UInt8>) -> Bool {
    let day = floorDivide(whole, secondsPerDay)
    let second = UInt64(whole - day * secondsPerDay)
    let (year, month, dayOfMonth) = civil(day: day)
    guard years.contains(year) else { return false }
    JSONBytes.digits(UInt64(year), 4, to: target)
    target[4] = UInt8(ascii: "-")
    JSONBytes.digits(UInt64(month), 2, to: target + 5)
    target[7] = UInt8(ascii: "-")
    JSONBytes.digits(UInt64(dayOfMonth), 2, to: target + 8)
    target[10] = UInt8(ascii: "T")
    JSONBytes.digits(second / 3600, 2, to: target + 11)
    target[13] = UInt8(ascii: ":")
    JSONBytes.digits(second / 60 % 60, 2, to: target + 14)
    target[16] = UInt8(ascii: ":")
    JSONBytes.digits(second % 60, 2, to: target + 17)
    return true
  }
}

// MARK: - Decimal digits

extension CalendarText {
  /// The shortest decimal form of a positive number below 2^53, as whole seconds and the digits after the point.
  private static func decimalParts(_ value: Double) -> (whole: Int64, fraction: [UInt8]) {
    let description = Array(value.description.utf8)
    var digits: [UInt8] = []
    var pointAt: Int?
    var exponent = 0
    for (index, byte) in description.enumerated() {
      if byte == UInt8(ascii: ".") {
        pointAt = digits.count
      } else if byte == UInt8(ascii: "e") {
        exponent = Int(String(decoding: description[(index + 1)...], as: UTF8.self)) ?? 0
        break
      } else {
        digits.append(byte)
      }
    }
    let point = (pointAt ?? digits.count) + exponent
    if point < 0 { digits.insert(contentsOf: repeatElement(UInt8(ascii: "0"), count: -point), at: 0) }
    let split = max(point, 0)
    if digits.count < split {
      digits.append(contentsOf: repeatElement(UInt8(ascii: "0"), count: split - digits.count))
    }
    var whole: Int64 = 0
    for digit in digits[..<split] { whole = whole * 10 + Int64(digit - UInt8(ascii: "0")) }
    var fraction = Array(digits[split...])
    while fraction.last == UInt8(ascii: "0") { fraction.removeLast() }
    return (whole, fraction)
  }

  /// The digits of 1 − 0.fraction; `fraction` is not zero and does not end in 0.
  static func complement(_ fraction: [UInt8]) -> [UInt8] {
    let nine = UInt8(ascii: "9")
    let zero = UInt8(ascii: "0")
    var result = fraction.map { nine - $0 + zero }
    // The last digit is not 0, so its complement to ten needs no carry.
    result[result.count - 1] += 1
    return result
  }
}

// MARK: - The calendar

extension CalendarText {
  private static func floorDivide(_ value: Int64, _ divisor: Int64) -> Int64 {
    value >= 0 ? value / divisor : -((divisor - 1 - value) / divisor)
  }

  // Both directions count in years that begin on March 1, so that the leap day is a year's last one, and in eras of 400
  // years, which have 146,097 days each.

  private static func civil(day: Int64) -> (year: Int64, month: Int64, dayOfMonth: Int64) {
    let shifted = day + referenceDay
    let era = floorDivide(shifted, 146_097)
    let dayOfEra = shifted - era * 146_097
    let yearOfEra = (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let shiftedMonth = (5 * dayOfYear + 2) / 153
    let month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
    let year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
    return (year, month, dayOfYear - (153 * shiftedMonth + 2) / 5 + 1)
  }

  static func day(year: Int64, month: Int64, dayOfMonth: Int64) -> Int64 {
    let shiftedYear = month <= 2 ? year - 1 : year
    let era = floorDivide(shiftedYear, 400)
    let yearOfEra = shiftedYear - era * 400
    let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + dayOfMonth - 1
    let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
    return era * 146_097 + dayOfEra - referenceDay
  }

  static func daysInMonth(_ month: Int64, year: Int64) -> Int64 {
    switch month {
    case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
    case 4, 6, 9, 11: 30
    default: 31
    }
  }
}
