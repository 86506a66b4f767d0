import Foundation
import KVCloneModel

extension ReferenceJSON {
  /// Creates the JSON form of `value`, as in the command line's contract.
  init(_ value: AttributeValue) throws {
    switch value {
    case .integer(let number): self = .number(String(number))
    case .boolean(let flag): self = .boolean(flag)
    case .double(let number): self = Self.number(number, "\(number)")
    case .float(let number): self = Self.number(Double(number), "\(number)")
    case .decimal(let number): self = .string(number.isNaN ? "NaN" : number.description)
    case .string(let text), .uri(let text): self = .string(text)
    case .uuid(let uuid): self = .string(uuid.uuidString.uppercased())
    case .date(let date):
      let seconds = date.timeIntervalSinceReferenceDate
      if let text = ReferenceDateText.text(secondsSince2001: seconds) {
        self = .string(text)
      } else {
        self = .object(["secondsSince2001": Self.number(seconds, "\(seconds)")])
      }
    case .binary(let data), .transformable(let data):
      self = .object(["base64": .string(data.base64EncodedString())])
    case .composite(let elements): self = .object(try elements.mapValues { try ReferenceJSON($0) })
    case .blob: throw ReferenceFormatError("a blob reference stands for bytes that a reference graph must hold itself")
    }
  }

  /// Returns a JSON number, or the word for a number that JSON cannot represent.
  private static func number(_ value: Double, _ text: String) -> ReferenceJSON {
    if value.isNaN { return .string("NaN") }
    if value.isInfinite { return .string(value < 0 ? "-Infinity" : "Infinity") }
    return .number(text)
  }

  /// Returns the value for an attribute, or nil for null.
  ///
  /// - Parameter files: The directory that `{"file":…}` is relative to; without one such values are errors.
  func value(for attribute: AttributeDescription, files: String?) throws -> AttributeValue? {
    if case .null = self { return nil }
    let wrong = ReferenceFormatError("the value of \(attribute.name) does not fit \(attribute.type)")
    switch (attribute.type, self) {
    case (.integer16, .number(let text)):
      guard let number = Int16(text) else { throw wrong }
      return .integer(Int64(number))
    case (.integer32, .number(let text)):
      guard let number = Int32(text) else { throw wrong }
      return .integer(Int64(number))
    case (.integer64, .number(let text)):
      guard let number = Int64(text) else { throw wrong }
      return .integer(number)
    case (.boolean, .boolean(let flag)): return .boolean(flag)
    case (.double, _):
      guard let number = floatingPoint(Double.init) else { throw wrong }
      return .double(number)
    case (.float, _):
      guard let number = floatingPoint({ Float($0) }) else { throw wrong }
      return .float(number)
    case (.decimal, .string(let text)):
      guard let number = text == "NaN" ? Decimal.nan : Decimal(string: text) else { throw wrong }
      return .decimal(number)
    case (.string, .string(let text)): return .string(text)
    case (.uri, .string(let text)): return .uri(text)
    case (.uuid, .string(let text)):
      guard let uuid = UUID(uuidString: text) else { throw wrong }
      return .uuid(uuid)
    case (.date, _):
      guard let seconds = secondsSince2001 else { throw wrong }
      return .date(Date(timeIntervalSinceReferenceDate: seconds))
    case (.binary, .object(let members)): return .binary(try Self.bytes(members, files: files))
    case (.transformable, .object(let members)): return .transformable(try Self.bytes(members, files: files))
    case (.composite, .object(let members)):
      var elements: [String: AttributeValue] = [:]
      for (name, member) in members {
        guard let element = attribute.elements.first(where: { $0.name == name }) else { throw wrong }
        elements[name] = try member.value(for: element, files: files)
      }
      return .composite(elements)
    default: throw wrong
    }
  }

  private func floatingPoint<Number: BinaryFloatingPoint>(_ read: (String) -> Number?) -> Number? {
    switch self {
    case .number(let text): read(text)
    case .string("NaN"): Number.nan
    case .string("Infinity"): Number.infinity
    case .string("-Infinity"): -Number.infinity
    default: nil
    }
  }

  private var secondsSince2001: Double? {
    switch self {
    case .string(let text): ReferenceDateText.secondsSince2001(text)
    case .object(let members): members["secondsSince2001"]?.floatingPoint(Double.init)
    default: nil
    }
  }

  private static func bytes(_ members: [String: ReferenceJSON], files: String?) throws -> Data {
    if case .string(let text)? = members["base64"] {
      guard let data = Data(base64Encoded: text) else { throw ReferenceFormatError("not base64") }
      return data
    }
    guard case .string(let path)? = members["file"], let files else {
      throw ReferenceFormatError("expected base64, or a file and the directory it is relative to")
    }
    return try Data(contentsOf: URL(fileURLWithPath: files).appendingPathComponent(path))
  }
}
