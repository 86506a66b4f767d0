#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The conversion of values from one type to another, for a new version of a model that changes an attribute's type.
///
/// Never rounds or truncates: either the new type has all values of the old one, or each value is checked, and one
/// without an equal in the new type is an error.
package struct AttributeConversion: Sendable, Hashable {
  package let source: AttributeType
  package let destination: AttributeType

  /// Nil if values of `source` have no meaning as `destination`, or would lose information; the identity is a
  /// conversion.
  package init?(from source: AttributeType, to destination: AttributeType) {
    guard source == destination || Self.isDefined(source, destination) else { return nil }
    self.source = source
    self.destination = destination
  }

  private static func isDefined(_ source: AttributeType, _ destination: AttributeType) -> Bool {
    switch source {
    case .boolean: destination.isInteger
    case .integer16: [.integer32, .integer64, .float, .double, .decimal, .string, .date].contains(destination)
    case .integer32: [.integer64, .double, .decimal, .string, .date].contains(destination)
    case .integer64: [.decimal, .string].contains(destination)
    case .float: [.double, .string, .date].contains(destination)
    case .double: [.string, .date].contains(destination)
    case .decimal: destination == .string
    case .date: destination == .double
    case .string:
      destination.isInteger || [.decimal, .double, .float, .uuid, .uri].contains(destination)
    case .uuid, .uri: destination == .string
    default: false
    }
  }

  /// Returns the value in the new type; nil if it has no equal there.
  package func convert(_ value: AttributeValue) -> AttributeValue? {
    if source == destination { return value }
    switch (value, destination) {
    case (.boolean(let flag), _): return destination.coerce(.integer(flag ? 1 : 0))
    case (.date(let date), .double): return .double(date.timeIntervalSinceReferenceDate)
    case (.string(let text), .uuid), (.string(let text), .uri): return destination.coerce(.string(text))
    case (.string(let text), _): return number(text)
    case (_, .date): return seconds(value).map { .date(Date(timeIntervalSinceReferenceDate: $0)) }
    case (.uuid(let uuid), .string): return .string(uuid.uuidString)
    case (.uri(let text), .string): return .string(text)
    case (.integer(let number), .string): return .string(String(number))
    // The shortest text that parses to an equal number.
    case (.double(let number), .string): return .string(number.description)
    case (.float(let number), .string): return .string(number.description)
    case (.decimal(let number), .string): return .string(number.description)
    default: return destination.coerce(value)
    }
  }

  private func seconds(_ value: AttributeValue) -> Double? {
    guard case .double(let seconds)? = AttributeType.double.coerce(value) else { return nil }
    return seconds
  }

  private func number(_ text: String) -> AttributeValue? {
    // Trims whitespace in typed texts, which `Double` and `Int64` reject.
    let start = text.drop { $0.isWhitespace }
    let text = String(start.prefix { !$0.isWhitespace })
    guard start.dropFirst(text.count).allSatisfy(\.isWhitespace) else { return nil }
    switch destination {
    case .integer16, .integer32, .integer64: return Int64(text).flatMap { destination.coerce(.integer($0)) }
    // Accepts the names of non-finite numbers, but no digits that overflow to infinity.
    case .double: return Double(text).flatMap { $0.isFinite || !Self.hasDigits(text) ? .double($0) : nil }
    case .float: return Float(text).flatMap { $0.isFinite || !Self.hasDigits(text) ? .float($0) : nil }
    case .decimal: return text == "NaN" ? .decimal(.nan) : DecimalText(text, isLoose: true)?.value.map { .decimal($0) }
    default: return nil
    }
  }

  private static func hasDigits(_ text: String) -> Bool { text.utf8.contains { $0 &- 0x30 < 10 } }
}
