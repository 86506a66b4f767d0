import Foundation

/// Formatting of numbers and of short texts.
package enum Text {
  /// `4.7 MB`, in powers of ten; exact below 1,000.
  package static func bytes(_ count: UInt64) -> String { scaled(count, by: 1000, ["kB", "MB", "GB", "TB"]) }

  /// `4.7 MiB`, in powers of 1,024; exact below.
  package static func binary(_ count: UInt64) -> String { scaled(count, by: 1024, ["KiB", "MiB", "GiB", "TiB"]) }

  private static func scaled(_ count: UInt64, by factor: Double, _ units: [String]) -> String {
    var value = Double(count)
    if value < factor { return "\(count) B" }
    for unit in units {
      value /= factor
      if value < factor - 0.05 || unit == units.last { return String(format: "%.1f %@", value, unit) }
    }
    return "\(count) B"
  }

  /// `1.2 ms`.
  package static func seconds(_ value: Double) -> String {
    switch value {
    case ..<0.001: String(format: "%.0f µs", value * 1e6)
    case ..<1: String(format: "%.1f ms", value * 1e3)
    default: String(format: "%.2f s", value)
    }
  }

  /// `1 object`, `2 objects`.
  package static func count(_ number: Int, _ noun: String) -> String {
    number == 1 ? "1 \(noun)" : "\(number) \(noun)s"
  }

  /// A text in XML, as content or in a quoted attribute.
  package static func xml(_ text: String) -> String {
    text.replacing("&", with: "&amp;").replacing("<", with: "&lt;").replacing(">", with: "&gt;")
      .replacing("\"", with: "&quot;")
  }

  /// Truncates to a width, with an ellipsis.
  package static func cut(_ text: String, _ width: Int) -> String {
    text.count <= width ? text : text.prefix(max(width - 1, 0)) + "…"
  }
}

extension Duration {
  package var inSeconds: Double {
    Double(components.seconds) + Double(components.attoseconds) / 1e18
  }
}
