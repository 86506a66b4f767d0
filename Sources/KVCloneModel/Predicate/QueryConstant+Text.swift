#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// Formats have literals only for numbers, texts, booleans and nil. Every other constant is written as a CAST of one of
/// these, which parses to the constant: `CAST(654210600.25, "NSDate")`.
extension QueryConstant {
  /// The constant of a CAST of a literal; nil if the cast can only be evaluated with the object, or is invalid.
  init?(_ literal: QueryExpression, as type: String) {
    if type == "NSArray" {
      guard let list = Self.list(literal) else { return nil }
      self = list
      return
    }
    let value: AttributeValue?
    switch literal {
    case .constant(.value(.string(let text))):
      if type == "NSManagedObjectID" {
        guard let id = Self.objectID(text) else { return nil }
        self = .object(id)
        return
      }
      value = Self.value(text, type)
    case .constant(.value(.integer(let number))) where type == "NSDate" || type == "Date":
      value = .date(Date(timeIntervalSinceReferenceDate: Double(number)))
    case .constant(.value(.double(let number))) where type == "NSDate" || type == "Date":
      value = .date(Date(timeIntervalSinceReferenceDate: number))
    default: value = nil
    }
    guard let value else { return nil }
    self = .value(value)
  }

  private static func list(_ literal: QueryExpression) -> QueryConstant? {
    switch literal {
    case .constant(let constant): return constant
    case .aggregate(let items):
      var constants: [QueryConstant] = []
      for item in items {
        guard let constant = list(item) else { return nil }
        constants.append(constant)
      }
      return .list(constants)
    default: return nil
    }
  }

  private static func value(_ text: String, _ type: String) -> AttributeValue? {
    switch type {
    // Numbers without a literal. Calendar texts stay as written, and are parsed by the cast itself.
    case "NSDate", "Date":
      special(text).map { .date(Date(timeIntervalSinceReferenceDate: $0)) }
    case "NSUUID", "UUID": UUID(uuidString: text).map { .uuid($0) }
    case "NSURL", "URL", "URI": .uri(text)
    case "NSDecimalNumber", "Decimal": decimal(text).map { .decimal($0) }
    case "Double": special(text).map { .double($0) }
    case "Float": Self.float(text)
    case "Binary": Data(base64Encoded: text).map { .binary($0) }
    case "Transformable": Data(base64Encoded: text).map { .transformable($0) }
    case "Composite", "Blob": stored(text, type)
    default: nil
    }
  }

  /// A double without a literal, in the form of ``formatText(_:)``.
  private static func special(_ text: String) -> Double? {
    ExactText.double(text).flatMap { !$0.isFinite && ExactText.text($0) == text ? $0 : nil }
  }

  /// A float in the form of ``formatText(_:)``.
  private static func float(_ text: String) -> AttributeValue? {
    ExactText.float(text).flatMap { ExactText.text($0) == text ? .float($0) : nil }
  }

  private static func decimal(_ text: String) -> Decimal? {
    text == "NaN" ? .nan : DecimalText(text, isLoose: true)?.value
  }

  private static func stored(_ text: String, _ type: String) -> AttributeValue? {
    switch try? JSONDecoder().decode(AttributeValue.self, from: Data(text.utf8)) {
    case .composite(let elements)? where type == "Composite": .composite(elements)
    case .blob(let reference)? where type == "Blob": .blob(reference)
    default: nil
    }
  }

  private static func objectID(_ text: String) -> ObjectID? {
    let parts = text.split(separator: "/", omittingEmptySubsequences: false)
    guard parts.count == 2, let code = UInt16(parts[0]), let serial = UInt64(parts[1]) else { return nil }
    return serial <= ObjectID.maximumSerial ? ObjectID(rootCode: code, serial: serial) : nil
  }

  /// Whether formats have a literal for it. Decimals are printed as casts, because a literal may also be a double.
  var isLiteral: Bool {
    switch self {
    case .null, .value(.integer), .value(.string), .value(.boolean): true
    case .value(.double(let number)): number.isFinite
    default: false
    }
  }

  /// The constant in the format language.
  var formatText: String {
    switch self {
    case .null: "nil"
    case .value(let value): Self.formatText(value)
    case .object(let id): Self.cast(id.description, "NSManagedObjectID")
    case .list: "CAST(\(bracedText), \"NSArray\")"
    }
  }

  /// The constant within a list, where nested lists are only braces.
  private var bracedText: String {
    guard case .list(let items) = self else { return formatText }
    return "{" + items.map(\.bracedText).joined(separator: ", ") + "}"
  }

  private static func formatText(_ value: AttributeValue) -> String {
    switch value {
    case .integer(let number): return "\(number)"
    case .decimal(let number): return cast(number.isNaN ? "NaN" : number.description, "NSDecimalNumber")
    case .double(let number): return number.isFinite ? "\(number)" : cast(ExactText.text(number), "Double")
    case .float(let number): return cast(ExactText.text(number), "Float")
    case .string(let text): return QueryPrinter.quoted(text)
    case .boolean(let flag): return flag ? "TRUE" : "FALSE"
    case .date(let date):
      let seconds = date.timeIntervalSinceReferenceDate
      return seconds.isFinite ? "CAST(\(seconds), \"NSDate\")" : cast(ExactText.text(seconds), "NSDate")
    case .binary(let data): return cast(data.base64EncodedString(), "Binary")
    case .uuid(let uuid): return cast(uuid.uuidString, "NSUUID")
    case .uri(let text): return cast(text, "NSURL")
    case .transformable(let data): return cast(data.base64EncodedString(), "Transformable")
    case .composite: return cast(storedText(value), "Composite")
    case .blob: return cast(storedText(value), "Blob")
    }
  }

  private static func cast(_ text: String, _ type: String) -> String {
    "CAST(\(QueryPrinter.quoted(text)), \"\(type)\")"
  }

  private static func storedText(_ value: AttributeValue) -> String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys]
    // Encoding cannot fail: numbers are encoded as texts.
    return (try? encoder.encode(value)).map { String(decoding: $0, as: UTF8.self) } ?? ""
  }
}
