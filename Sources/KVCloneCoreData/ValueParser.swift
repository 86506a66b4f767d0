import Foundation
import KVCloneModel

/// A default value or bound as a model file writes it.
struct ParsedValue: Equatable {
  /// Nil where the text cannot be read at all.
  var value: AttributeValue?
  /// Whether the text is not what the type asks for, so that the value is missing or a guess.
  var isDoubtful = false
}

/// Reads default values and bounds; real files have Integer "NO", Boolean "0.0", UUID "empy".
enum ValueParser {
  /// - Parameter interval: seconds since 2001 as text, which Xcode writes beside the text of a Date, and which wins.
  static func parse(_ text: String?, interval: String?, type: AttributeType) -> ParsedValue {
    if type == .date, let seconds = interval.flatMap(Double.init), seconds.isFinite {
      return ParsedValue(value: .date(Date(timeIntervalSinceReferenceDate: seconds)))
    }
    guard let text else { return ParsedValue(value: nil, isDoubtful: interval != nil) }
    let trimmed = text.trimmingCharacters(in: .whitespacesAndNewlines)
    switch type {
    case .integer16, .integer32, .integer64: return integer(trimmed, type)
    case .boolean: return boolean(trimmed)
    case .decimal: return doubtful(decimal(trimmed).map { .decimal($0) })
    case .double: return doubtful(number(trimmed).map { .double($0) })
    case .float: return doubtful(number(trimmed).map { .float(Float($0)) })
    case .string: return ParsedValue(value: .string(text))
    case .uri: return ParsedValue(value: .uri(text))
    case .uuid: return doubtful(UUID(uuidString: trimmed).map { .uuid($0) })
    case .date: return doubtful(date(trimmed).map { .date($0) })
    // Xcode has no field for them: whatever stands there was left behind when the type changed.
    case .binary, .transformable, .composite, .undefined: return ParsedValue(value: nil, isDoubtful: !text.isEmpty)
    }
  }

  private static func doubtful(_ value: AttributeValue?) -> ParsedValue {
    ParsedValue(value: value, isDoubtful: value == nil)
  }

  private static func integer(_ text: String, _ type: AttributeType) -> ParsedValue {
    if let number = Int64(text) { return doubtful(type.coerce(.integer(number))) }
    if let number = number(text) { return doubtful(type.coerce(.double(number))) }
    guard let flag = flag(text) else { return doubtful(nil) }
    return ParsedValue(value: .integer(flag ? 1 : 0), isDoubtful: true)
  }

  private static func boolean(_ text: String) -> ParsedValue {
    if let flag = flag(text) { return ParsedValue(value: .boolean(flag)) }
    return doubtful(number(text).map { .boolean($0 != 0) })
  }

  /// Core Data's spellings of a flag.
  static func flag(_ text: String) -> Bool? {
    switch text.lowercased() {
    case "yes", "true": true
    case "no", "false": false
    default: nil
    }
  }

  private static func number(_ text: String) -> Double? {
    // Double(_:) also reads hexadecimal, "inf" and "nan", which no editor writes.
    guard text.utf8.allSatisfy({ "0123456789+-.eE".utf8.contains($0) }) else { return nil }
    return Double(text).flatMap { $0.isFinite ? $0 : nil }
  }

  private static func decimal(_ text: String) -> Decimal? {
    // Decimal(string:) reads a prefix; Double's reader tells whether all of it is a number.
    number(text) == nil ? nil : Decimal(string: text, locale: Locale(identifier: "en_US_POSIX"))
  }

  /// Reads `2013-04-23 12:00[:00] [+0000]`; all else (`January 1, 2010`, `today`) has no single meaning.
  private static func date(_ text: String) -> Date? {
    let parts = text.split(separator: " ")
    guard (1...3).contains(parts.count) else { return nil }
    let day = parts[0].split(separator: "-", omittingEmptySubsequences: false).map { Int($0) }
    guard day.count == 3, let y = day[0], let m = day[1], let d = day[2] else { return nil }
    guard (1...9999).contains(y), (1...12).contains(m), (1...31).contains(d) else { return nil }
    var seconds = Double(daysSince2001(year: y, month: m, day: d)) * 86_400
    if parts.count > 1 {
      let time = parts[1].split(separator: ":", omittingEmptySubsequences: false).map { Int($0) }
      guard (2...3).contains(time.count), let hour = time[0], let minute = time[1] else { return nil }
      guard let second = time.count == 3 ? time[2] : 0 else { return nil }
      guard (0...23).contains(hour), (0...59).contains(minute), (0...60).contains(second) else { return nil }
      seconds += Double(hour * 3_600 + minute * 60 + second)
    }
    if parts.count > 2 {
      guard parts[2].utf8.count == 5, let zone = Int(parts[2]), abs(zone) <= 1_400 else { return nil }
      seconds -= Double(zone / 100 * 3_600 + zone % 100 * 60)
    }
    return Date(timeIntervalSinceReferenceDate: seconds)
  }

  /// Days by the Gregorian calendar, with March as the first month so that a leap day is the last of its year.
  private static func daysSince2001(year: Int, month: Int, day: Int) -> Int {
    let shifted = month > 2 ? year : year - 1
    let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
    return shifted * 365 + shifted / 4 - shifted / 100 + shifted / 400 + dayOfYear - 730_791
  }
}
