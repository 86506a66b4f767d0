#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// How values of one type become values of another, when a new version of a model changes an attribute's type.
///
/// Nothing is ever rounded or cut off: a type is turned into one that has all of its values, or each single value is looked at,
/// and one that has no equal in the new type is an error.
package struct AttributeConversion: Sendable, Hashable {
  package let source: AttributeType
  package let destination: AttributeType

  /// Nil where values of `source` mean nothing as `destination`, or would lose something; the identity is a conversion.
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

  /// The value in the new type; nil where it has no equal there.
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
    // A number's own text: the shortest one that reads back equal.
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
    // What is around a number in texts that people typed; `Double` and `Int64` take none of it.
    let start = text.drop { $0.isWhitespace }
    let text = String(start.prefix { !$0.isWhitespace })
    guard start.dropFirst(text.count).allSatisfy(\.isWhitespace) else { return nil }
    switch destination {
    case .integer16, .integer32, .integer64: return Int64(text).flatMap { destination.coerce(.integer($0)) }
    // Names of what is not finite are read, digits that would have to become it are not.
    case .double: return Double(text).flatMap { $0.isFinite || !Self.hasDigits(text) ? .double($0) : nil }
    case .float: return Float(text).flatMap { $0.isFinite || !Self.hasDigits(text) ? .float($0) : nil }
    case .decimal: return text == "NaN" ? .decimal(.nan) : DecimalText(text, isLoose: true)?.value.map { .decimal($0) }
    default: return nil
    }
  }

  private static func hasDigits(_ text: String) -> Bool { text.utf8.contains { $0 &- 0x30 < 10 } }
}
