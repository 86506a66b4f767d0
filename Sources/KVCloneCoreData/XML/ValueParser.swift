import Foundation
import KVCloneModel

/// A default value or bound of a model file.
struct ParsedValue: Equatable {
  /// Nil if the text cannot be parsed.
  var value: AttributeValue?
  /// Whether the text does not match the type, so that the value is missing or a guess.
  var isDoubtful = false
}

/// Parses default values and bounds; real files have Integer "NO", Boolean "0.0", UUID "empy".
enum ValueParser {
  /// - Parameter interval: seconds since 2001 as text, which Xcode writes next to the text of a Date, and which takes
  ///   precedence. An invalid one leaves the text, marked as doubtful. For other types it is a leftover of a changed
  ///   type.
  static func parse(_ text: String?, interval: String?, type: AttributeType) -> ParsedValue {
    let trimmed = text?.trimmingCharacters(in: .whitespacesAndNewlines) ?? ""
    if type == .date, let interval, !interval.isEmpty {
      guard let seconds = number(interval.trimmingCharacters(in: .whitespacesAndNewlines)) else {
        return ParsedValue(value: date(trimmed).map { .date($0) }, isDoubtful: true)
      }
      return ParsedValue(value: .date(Date(timeIntervalSinceReferenceDate: seconds)))
    }
    guard let text else { return ParsedValue(value: nil) }
    switch type {
    case .integer16, .integer32, .integer64: return integer(trimmed, type)
    case .boolean: return boolean(trimmed)
    case .decimal: return doubtful(decimal(trimmed).map { .decimal($0) })
    case .double: return doubtful(number(trimmed).map { .double($0) })
    case .float: return doubtful(number(trimmed).flatMap { Float($0).isFinite ? .float(Float($0)) : nil })
    case .string: return ParsedValue(value: .string(text))
    case .uri: return ParsedValue(value: .uri(text))
    case .uuid: return doubtful(UUID(uuidString: trimmed).map { .uuid($0) })
    case .date: return doubtful(date(trimmed).map { .date($0) })
    // Xcode has no field for them: a value is a leftover of a changed type.
    case .binary, .transformable, .composite, .undefined: return ParsedValue(value: nil, isDoubtful: !text.isEmpty)
    }
  }

  private static func doubtful(_ value: AttributeValue?) -> ParsedValue {
    ParsedValue(value: value, isDoubtful: value == nil)
  }

  private static func integer(_ text: String, _ type: AttributeType) -> ParsedValue {
    if let number = Int64(text) { return doubtful(type.coerce(.integer(number))) }
    if let number = decimal(text) { return doubtful(type.coerce(.decimal(number))) }
    if let number = number(text) { return doubtful(type.coerce(.double(number))) }
    guard let flag = flag(text) else { return doubtful(nil) }
    return ParsedValue(value: .integer(flag ? 1 : 0), isDoubtful: true)
  }

  private static func boolean(_ text: String) -> ParsedValue {
    if let flag = flag(text) { return ParsedValue(value: .boolean(flag)) }
    return doubtful(number(text).map { .boolean($0 != 0) })
  }

  /// Parses Core Data's spellings of a flag.
  static func flag(_ text: String) -> Bool? {
    switch text.lowercased() {
    case "yes", "true": true
    case "no", "false": false
    default: nil
    }
  }

  private static func number(_ text: String) -> Double? { NumberText.double(text) }

  /// Nil also beyond the 38 digits of a Decimal, which would be rounded.
  private static func decimal(_ text: String) -> Decimal? { DecimalText(text, isLoose: true)?.value }

  /// Parses RFC 3339, or `2013-04-23 12:00[:00] [+0000]` of older files; all other forms (`January 1, 2010`, `today`)
  /// are ambiguous.
  private static func date(_ text: String) -> Date? {
    if let seconds = CalendarText.secondsSince2001(text) { return Date(timeIntervalSinceReferenceDate: seconds) }
    let parts = text.split(separator: " ")
    guard (1...3).contains(parts.count) else { return nil }
    let day = parts[0].split(separator: "-", omittingEmptySubsequences: false).map(number)
    guard day.count == 3, let y = day[0], let m = day[1], let d = day[2] else { return nil }
    var time: [Int64?] = [0, 0, 0]
    if parts.count > 1 {
      time = parts[1].split(separator: ":", omittingEmptySubsequences: false).map(number)
      if time.count == 2 { time.append(0) }
      guard time.count == 3 else { return nil }
    }
    guard let hour = time[0], let minute = time[1], let second = time[2],
      let whole = CalendarText.secondsSince2001(year: y, month: m, day: d, hour: hour, minute: minute, second: second)
    else { return nil }
    var offset: Int64 = 0
    if parts.count > 2 {
      let sign = parts[2].first
      guard parts[2].utf8.count == 5, sign == "+" || sign == "-", let zone = number(parts[2].dropFirst()),
        zone / 100 < 24, zone % 100 < 60
      else { return nil }
      offset = (zone / 100 * 60 + zone % 100) * (sign == "-" ? -60 : 60)
    }
    return Date(timeIntervalSinceReferenceDate: Double(whole - offset))
  }

  /// Parses a number of ASCII digits.
  private static func number(_ text: Substring) -> Int64? {
    text.utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) } ? Int64(text) : nil
  }
}
