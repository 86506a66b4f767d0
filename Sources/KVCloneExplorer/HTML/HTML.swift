/// A piece of HTML.
///
/// Literals are markup; interpolated texts are escaped. So a value of the store cannot become markup:
/// ```swift
/// let cell: HTML = "<td>\(name)</td>"
/// ```
struct HTML: Sendable, ExpressibleByStringInterpolation {
  private(set) var text: String

  init(stringLiteral value: String) { text = value }

  init(stringInterpolation: StringInterpolation) { text = stringInterpolation.text }

  init(_ parts: some Sequence<HTML>) {
    text = ""
    for part in parts { text += part.text }
  }

  static let empty: HTML = ""

  /// A text with its line breaks, for the content of a field.
  static func lines(_ text: String) -> HTML {
    let lines = text.unicodeScalars.split(separator: "\n", omittingEmptySubsequences: false)
    return HTML(lines.enumerated().map { $0 == 0 ? "\(String($1))" : "\n\(String($1))" })
  }

  static func += (left: inout HTML, right: HTML) { left.text += right.text }

  static func + (left: HTML, right: HTML) -> HTML {
    var sum = left
    sum += right
    return sum
  }

  var isEmpty: Bool { text.isEmpty }

  struct StringInterpolation: StringInterpolationProtocol {
    fileprivate(set) var text = ""

    init(literalCapacity: Int, interpolationCount: Int) {
      text.reserveCapacity(literalCapacity + 16 * interpolationCount)
    }

    mutating func appendLiteral(_ literal: String) { text += literal }

    /// Appends markup.
    mutating func appendInterpolation(_ part: HTML) { text += part.text }

    /// Appends markup, or nothing for nil.
    mutating func appendInterpolation(_ part: HTML?) { if let part { text += part.text } }

    mutating func appendInterpolation(_ parts: [HTML]) { for part in parts { text += part.text } }

    /// Appends a text, escaped for content and for quoted attributes.
    mutating func appendInterpolation(_ value: String) { Escaping.append(value, to: &text) }

    mutating func appendInterpolation(_ value: Substring) { Escaping.append(String(value), to: &text) }

    mutating func appendInterpolation(_ value: some BinaryInteger) { text += String(value) }

    /// Appends a coordinate with at most two decimals.
    mutating func appendInterpolation(_ value: Double) { text += Coordinate.text(value) }
  }
}

/// Numbers of drawings.
enum Coordinate {
  /// Returns a number with at most two decimals, without trailing zeros.
  static func text(_ value: Double) -> String {
    guard value.isFinite else { return "0" }
    let hundredths = (value * 100).rounded()
    guard abs(hundredths) < 1e15 else { return "0" }
    let number = Int(hundredths)
    let fraction = abs(number % 100)
    let sign = number < 0 ? "-" : ""
    let whole = "\(sign)\(abs(number / 100))"
    if fraction == 0 { return number == 0 ? "0" : whole }
    return fraction % 10 == 0 ? "\(whole).\(fraction / 10)" : "\(whole).\(fraction < 10 ? "0" : "")\(fraction)"
  }
}
