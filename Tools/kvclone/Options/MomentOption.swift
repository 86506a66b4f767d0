import Foundation
import KVClone

/// Points in time as options of the command line give them.
enum MomentOption {
  /// A moment (RFC 3339), or a day alone, `2027-01-31`, which stands for its beginning in UTC; nil for anything else.
  static func date(_ text: String) -> Date? {
    (CalendarText.secondsSince2001(text) ?? CalendarText.startOfDay(text)).map {
      Date(timeIntervalSinceReferenceDate: $0)
    }
  }
}
