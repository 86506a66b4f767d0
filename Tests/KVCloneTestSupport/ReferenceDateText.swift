/// Dates in NDJSON, converted by string arithmetic: exact, independently of the rounding of Foundation's formatters.
enum ReferenceDateText {
  /// Days from 0001-01-01 of the proleptic Gregorian calendar to 2001-01-01.
  private static let daysBefore2001 = 730_485

  /// Returns RFC 3339 in UTC with the fewest fractional digits that read back equal, or nil beyond the calendar.
  static func text(secondsSince2001 seconds: Double) -> String? {
    guard seconds.isFinite, seconds.magnitude < 4e11, !(seconds == 0 && seconds.sign == .minus) else { return nil }
    let whole = seconds.rounded(.down)
    guard let digits = fractionDigits(seconds), digits.count <= 17 else { return nil }
    let wholeSeconds = Int(whole)
    let days = Int((Double(wholeSeconds) / 86400).rounded(.down))
    let rest = wholeSeconds - days * 86400
    let (year, month, day) = date(daysSince0001: days + daysBefore2001)
    guard (0...9999).contains(year) else { return nil }
    let clock = "\(pad(rest / 3600, 2)):\(pad(rest / 60 % 60, 2)):\(pad(rest % 60, 2))"
    let fraction = digits.isEmpty ? "" : "." + digits
    let text = "\(pad(year, 4))-\(pad(month, 2))-\(pad(day, 2))T\(clock)\(fraction)Z"
    return secondsSince2001(text) == seconds ? text : nil
  }

  /// Returns seconds since 2001-01-01 00:00 UTC, correctly rounded, or nil for text that is not RFC 3339.
  static func secondsSince2001(_ text: String) -> Double? {
    var rest = Substring(text)
    func number(_ count: Int, then separators: String) -> Int? {
      let digits = rest.prefix(count)
      guard digits.count == count, digits.allSatisfy(\.isASCIIDigit) else { return nil }
      rest = rest.dropFirst(count)
      if !separators.isEmpty {
        guard let separator = rest.first, separators.contains(separator) else { return nil }
        rest = rest.dropFirst()
      }
      return Int(digits)
    }
    guard let year = number(4, then: "-"), let month = number(2, then: "-"), let day = number(2, then: "Tt "),
      let hour = number(2, then: ":"), let minute = number(2, then: ":"), let second = number(2, then: "")
    else { return nil }
    var fraction = Substring()
    if rest.first == "." {
      fraction = rest.dropFirst().prefix { $0.isASCIIDigit }
      rest = rest.dropFirst(fraction.count + 1)
    }
    var offset = 0
    if rest == "Z" || rest == "z" {
      rest = ""
    } else if let sign = rest.first, sign == "+" || sign == "-" {
      rest = rest.dropFirst()
      guard let hours = number(2, then: ":"), let minutes = number(2, then: "") else { return nil }
      offset = (hours * 60 + minutes) * (sign == "+" ? 60 : -60)
    } else {
      return nil
    }
    guard rest.isEmpty, (1...12).contains(month), (1...31).contains(day), hour < 24, minute < 60, second <= 60 else {
      return nil
    }
    let days = daysSince0001(year, month, day) - daysBefore2001
    return decimal(days * 86400 + hour * 3600 + minute * 60 + second - offset, String(fraction))
  }

  /// Returns `whole` plus the decimal fraction `digits`, rounded once.
  private static func decimal(_ whole: Int, _ digits: String) -> Double? {
    guard digits.contains(where: { $0 != "0" }) else { return Double(whole) }
    return whole >= 0 ? Double("\(whole).\(digits)") : Double("-\(-(whole + 1)).\(complement(digits))")
  }

  /// Returns the digits of 1 minus the fraction `digits`, without trailing zeros.
  private static func complement(_ digits: String) -> String {
    var result = digits.utf8.map { Int($0) - 48 }
    while result.last == 0 { result.removeLast() }
    for index in result.indices {
      result[index] = (index == result.count - 1 ? 10 : 9) - result[index]
    }
    return result.map(String.init).joined()
  }

  /// Returns the fractional digits of the distance from the second below, or nil if there are too many.
  private static func fractionDigits(_ seconds: Double) -> String? {
    guard seconds != seconds.rounded(.down) else { return "" }
    let shortest = "\(seconds.magnitude)"
    guard !shortest.contains("e"), let point = shortest.firstIndex(of: ".") else { return nil }
    let digits = String(shortest[shortest.index(after: point)...])
    return seconds < 0 ? complement(digits) : digits
  }

  private static func pad(_ value: Int, _ width: Int) -> String {
    let text = String(value)
    return String(repeating: "0", count: max(0, width - text.count)) + text
  }

  /// Returns the days from 0001-01-01, which is 0.
  private static func daysSince0001(_ year: Int, _ month: Int, _ day: Int) -> Int {
    let before = year - 1
    let centuries = Int((Double(before) / 100).rounded(.down))
    let leaps = Int((Double(before) / 4).rounded(.down)) - centuries + Int((Double(before) / 400).rounded(.down))
    var days = before * 365 + leaps + day - 1
    for earlier in 1..<max(month, 1) { days += length(ofMonth: earlier, in: year) }
    return days
  }

  private static func date(daysSince0001 days: Int) -> (year: Int, month: Int, day: Int) {
    var year = Int((Double(days) / 365.2425).rounded(.down)) + 1
    while daysSince0001(year, 1, 1) > days { year -= 1 }
    while daysSince0001(year + 1, 1, 1) <= days { year += 1 }
    var month = 1
    while month < 12 && daysSince0001(year, month + 1, 1) <= days { month += 1 }
    return (year, month, days - daysSince0001(year, month, 1) + 1)
  }

  private static func length(ofMonth month: Int, in year: Int) -> Int {
    switch month {
    case 2: (year % 4 == 0 && year % 100 != 0) || year % 400 == 0 ? 29 : 28
    case 4, 6, 9, 11: 30
    default: 31
    }
  }
}

extension Character {
  fileprivate var isASCIIDigit: Bool { isASCII && isNumber }
}
