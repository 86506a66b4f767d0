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
}
