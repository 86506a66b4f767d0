import ArgumentParser
import Foundation
import KVClone
import KVCloneExplorer

/// Points in time in command line options.
enum MomentOption {
  /// Parses a time (RFC 3339), or a day, `2027-01-31`, as its beginning in UTC; nil for other texts.
  static func date(_ text: String) -> Date? {
    (CalendarText.secondsSince2001(text) ?? CalendarText.startOfDay(text)).map {
      Date(timeIntervalSinceReferenceDate: $0)
    }
  }

  /// Parses a time (RFC 3339), the beginning of a day in UTC, or a duration from now.
  static func expiry(_ text: String) throws -> Date {
    if let date = date(text) { return date }
    let units: [Character: Double] = ["m": 60, "h": 3_600, "d": 86_400, "w": 7 * 86_400, "y": 365 * 86_400]
    if let unit = text.last.flatMap({ units[$0] }), let count = UInt16(text.dropLast()), count > 0 {
      return Date.now.addingTimeInterval(Double(count) * unit)
    }
    throw ValidationError(
      "\(text) is neither a date like 2027-01-31 or 2027-01-31T00:00:00Z, nor a duration like 12h, 30d or 8w")
  }
}
