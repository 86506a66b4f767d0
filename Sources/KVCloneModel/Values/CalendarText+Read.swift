extension CalendarText {
  /// Why a text is not a date, without a word of the text.
  package struct Problem: Error, Hashable, CustomStringConvertible {
    /// The reason, as text that follows "it is no date: ".
    package let reason: String
    /// The position in the text, in characters from 1.
    package let column: Int

    /// The reason and the place.
    package var description: String { "\(reason) (character \(column) of the date's text)" }
  }

  /// Returns the seconds since 2001 of an RFC 3339 text; nil if it is invalid, see ``read(_:)``.
  package static func secondsSince2001(_ text: String) -> Double? {
    switch read(text) {
    case .success(let seconds): seconds
    case .failure: nil
    }
  }

  /// Parses RFC 3339: `2021-11-15T08:10:00.25Z`, or with an offset such as `+01:00`.
  ///
  /// The result is the Double nearest to the text. Years are 0000 to 9999, `t` and `z` may be lower case, the fraction
  /// may have any number of digits. Rejects days that do not exist, 24:00, leap seconds (`:60`, which a count of
  /// seconds cannot distinguish from the next minute), offsets beyond 23:59, a missing offset, spaces, other digits
  /// than ASCII's, and trailing text.
  package static func read(_ text: String) -> Result<Double, Problem> {
    var text = text
    return text.withUTF8 { bytes in
      do throws(Problem) {
        var reader = CalendarReader(bytes)
        return .success(try reader.dateAndTime())
      } catch {
        return .failure(error)
      }
    }
  }

  /// Parses a day, `2021-11-15`, as its first second in UTC; nil if it is invalid.
  package static func startOfDay(_ text: String) -> Double? {
    var text = text
    return text.withUTF8 { bytes in
      var reader = CalendarReader(bytes)
      guard let day = try? reader.day(), reader.isAtEnd else { return nil }
      return Double(day * secondsPerDay)
    }
  }

  /// Returns the seconds since 2001 of a day and a time of day in UTC; nil if they do not exist.
  package static func secondsSince2001(
    year: Int64, month: Int64, day: Int64, hour: Int64, minute: Int64, second: Int64
  ) -> Int64? {
    guard (0...9999).contains(year), (1...12).contains(month), day >= 1, day <= daysInMonth(month, year: year),
      (0..<24).contains(hour), (0..<60).contains(minute), (0..<60).contains(second)
    else { return nil }
    return self.day(year: year, month: month, dayOfMonth: day) * secondsPerDay + hour * 3600 + minute * 60 + second
  }

  /// The Double nearest to whole seconds and the digits after their point.
  fileprivate static func seconds(whole: Int64, fraction: Slice<UnsafeBufferPointer<UInt8>>) -> Double {
    var digits = fraction
    while digits.last == UInt8(ascii: "0") { digits.removeLast() }
    if digits.isEmpty { return Double(whole) }
    // A Double represents both numbers exactly: their quotient is rounded once.
    if digits.count <= 9 {
      var scale: Int64 = 1
      var part: Int64 = 0
      for digit in digits {
        scale *= 10
        part = part * 10 + Int64(digit - UInt8(ascii: "0"))
      }
      let (product, overflows) = whole.multipliedReportingOverflow(by: scale)
      let sum = product &+ part
      if !overflows, sum.magnitude <= 1 << 53 { return Double(sum) / Double(scale) }
    }
    let isNegative = whole < 0
    let magnitude = isNegative ? -(whole + 1) : whole
    let text = String(decoding: isNegative ? complement(Array(digits)) : Array(digits), as: UTF8.self)
    // Digits with a point always parse.
    return Double("\(isNegative ? "-" : "")\(magnitude).\(text)") ?? .nan
  }
}

/// Consumes the parts of a date from the start of a text's bytes.
private struct CalendarReader {
  private let bytes: UnsafeBufferPointer<UInt8>
  private var position = 0

  init(_ bytes: UnsafeBufferPointer<UInt8>) { self.bytes = bytes }

  var isAtEnd: Bool { position == bytes.count }

  mutating func dateAndTime() throws(CalendarText.Problem) -> Double {
    let day = try day()
    guard take("T") || take("t") else { throw problem("a T is missing between the day and the time") }
    let hour = try number(2, 0...23, "the hour is not 00 to 23")
    try take(":", "a colon is missing after the hour")
    let minute = try number(2, 0...59, "the minute is not 00 to 59")
    try take(":", "the seconds are missing")
    let second = try number(2, 0...59, "the second is not 00 to 59; leap seconds are not supported")
    let fraction = try fraction()
    let offset = try offsetMinutes()
    guard isAtEnd else { throw problem("unexpected characters follow the date") }
    let whole = day * CalendarText.secondsPerDay + hour * 3600 + minute * 60 + second - offset * 60
    return CalendarText.seconds(whole: whole, fraction: fraction)
  }

  /// Days since 2001-01-01.
  mutating func day() throws(CalendarText.Problem) -> Int64 {
    let year = try number(4, 0...9999, "the year does not have four digits")
    try take("-", "a hyphen is missing after the year")
    let month = try number(2, 1...12, "the month is not 01 to 12")
    try take("-", "a hyphen is missing after the month")
    let last = CalendarText.daysInMonth(month, year: year)
    let dayOfMonth = try number(2, 1...last, "the month has no such day")
    return CalendarText.day(year: year, month: month, dayOfMonth: dayOfMonth)
  }

  private mutating func fraction() throws(CalendarText.Problem) -> Slice<UnsafeBufferPointer<UInt8>> {
    guard take(".") else { return bytes[position..<position] }
    let start = position
    while position < bytes.count, isDigit(bytes[position]) { position += 1 }
    if position == start { throw problem("no digit follows the decimal point") }
    return bytes[start..<position]
  }

  private mutating func offsetMinutes() throws(CalendarText.Problem) -> Int64 {
    if take("Z") || take("z") { return 0 }
    let isNegative = take("-")
    guard isNegative || take("+") else { throw problem("the offset is missing; write Z or an offset such as +01:00") }
    let hours = try number(2, 0...23, "the offset's hour is not 00 to 23")
    try take(":", "a colon is missing in the offset")
    let minutes = try number(2, 0...59, "the offset's minute is not 00 to 59")
    return (isNegative ? -1 : 1) * (hours * 60 + minutes)
  }

  private mutating func number(
    _ width: Int, _ range: ClosedRange<Int64>, _ reason: String
  ) throws(CalendarText.Problem) -> Int64 {
    var result: Int64 = 0
    for place in position..<position + width {
      guard place < bytes.count, isDigit(bytes[place]) else {
        throw CalendarText.Problem(reason: reason, column: place + 1)
      }
      result = result * 10 + Int64(bytes[place] - UInt8(ascii: "0"))
    }
    guard range.contains(result) else { throw problem(reason) }
    position += width
    return result
  }

  private mutating func take(_ scalar: Unicode.Scalar) -> Bool {
    guard position < bytes.count, bytes[position] == UInt8(ascii: scalar) else { return false }
    position += 1
    return true
  }

  private mutating func take(_ scalar: Unicode.Scalar, _ reason: String) throws(CalendarText.Problem) {
    guard take(scalar) else { throw problem(reason) }
  }

  private func isDigit(_ byte: UInt8) -> Bool { byte &- UInt8(ascii: "0") < 10 }

  /// Everything before the position is ASCII, so bytes are characters.
  private func problem(_ reason: String) -> CalendarText.Problem {
    CalendarText.Problem(reason: reason, column: position + 1)
  }
}
