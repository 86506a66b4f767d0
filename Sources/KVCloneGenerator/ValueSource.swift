#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
import KVCloneModel

/// Converts attribute values to Swift expressions.
struct ValueSource {
  let context: GeneratorContext

  /// Returns the value as an expression of the property's type; nil if no Swift expression always has that value.
  func expression(_ value: AttributeValue) -> String? {
    switch value {
    case .integer(let number): "\(number)"
    case .decimal(let number): decimal(number)
    case .double(let number): real(number)
    case .float(let number): real(number)
    case .string(let text): SwiftName.literal(text)
    case .boolean(let flag): "\(flag)"
    case .date(let date):
      "\(context.library("Date"))(timeIntervalSinceReferenceDate: \(real(date.timeIntervalSinceReferenceDate)))"
    case .binary(let data), .transformable(let data): ".data(\(bytes(data)))"
    case .uuid(let uuid): self.uuid(uuid)
    case .uri, .composite, .blob: nil
    }
  }

  /// Returns the value as an `AttributeValue` expression.
  func attributeValue(_ value: AttributeValue) -> String {
    switch value {
    case .integer: ".integer(\(expression(value) ?? ""))"
    case .decimal: ".decimal(\(expression(value) ?? ""))"
    case .double: ".double(\(expression(value) ?? ""))"
    case .float: ".float(\(expression(value) ?? ""))"
    case .string: ".string(\(expression(value) ?? ""))"
    case .boolean: ".boolean(\(expression(value) ?? ""))"
    case .date: ".date(\(expression(value) ?? ""))"
    case .uuid: ".uuid(\(expression(value) ?? ""))"
    case .uri(let text): ".uri(\(SwiftName.literal(text)))"
    case .binary(let data): ".binary(\(bytes(data)))"
    case .transformable(let data): ".transformable(\(bytes(data)))"
    case .composite(let values):
      ".composite(" + dictionary(values.mapValues { attributeValue($0) }) + ")"
    case .blob(let reference):
      ".blob(BlobReference(id: \(reference.id), byteCount: \(reference.byteCount), isTransformable: "
        + "\(reference.isTransformable)))"
    }
  }

  /// Returns a dictionary literal with values that are expressions already.
  func dictionary(_ values: [String: String]) -> String {
    if values.isEmpty { return "[:]" }
    return "["
      + values.sorted { $0.key < $1.key }.map { "\(SwiftName.literal($0.key)): \($0.value)" }
      .joined(separator: ", ") + "]"
  }

  /// Returns whether source, without its comments, uses a type of Foundation.
  static func usesFoundation(_ source: String) -> Bool {
    source.split(separator: "\n").contains { line in
      !line.drop { $0 == " " }.hasPrefix("///")
        && line.split { !$0.isLetter && !$0.isNumber && $0 != "_" }.contains { foundationTypes.contains(String($0)) }
    }
  }

  static let foundationTypes: Set<String> = ["Data", "Date", "Decimal", "UUID", "URL"]

  private func real(_ number: some BinaryFloatingPoint & CustomStringConvertible) -> String {
    if number.isNaN { return ".nan" }
    if number.isInfinite { return number < 0 ? "-.infinity" : ".infinity" }
    return number.description
  }

  private func decimal(_ number: Decimal) -> String {
    let type = context.library("Decimal")
    if number.isNaN { return "\(type).nan" }
    let text = number.description
    if let whole = Int64(text) { return "\(whole)" }
    // No literal is exact for a decimal fraction: it would be converted to binary first.
    let digits = text.filter { $0.isNumber && $0.isASCII }
    if !text.contains("e"), let significand = Int64(digits), let point = text.firstIndex(of: ".") {
      let exponent = -text.distance(from: text.index(after: point), to: text.endIndex)
      let sign = text.hasPrefix("-") ? ".minus" : ".plus"
      return "\(type)(sign: \(sign), exponent: \(exponent), significand: \(significand))"
    }
    return "\(type)(string: \(SwiftName.literal(text))) ?? .nan"
  }

  private func bytes(_ data: Data) -> String {
    "\(context.library("Data"))([" + data.map { "\($0)" }.joined(separator: ", ") + "])"
  }

  private func uuid(_ uuid: UUID) -> String {
    let bytes = withUnsafeBytes(of: uuid.uuid) { $0.map { "\($0)" } }
    return "\(context.library("UUID"))(uuid: (" + bytes.joined(separator: ", ") + "))"
  }
}
