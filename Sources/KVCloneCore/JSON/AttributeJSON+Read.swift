import Foundation
package import KVCloneModel

extension AttributeJSON {
  /// Why a JSON value is not valid for an attribute.
  package struct Refusal: Error, Sendable {
    package let kind: TransferError.Kind
    /// `attribute`, or `composite.element`.
    package let path: String
    package let reason: String
  }

  /// The attributes of a line.
  package struct Attributes: Sendable {
    /// The values. An explicit null replaces the default of the attribute.
    package var values: [String: AttributeValue?] = [:]
    /// Attributes with bytes in files.
    package var files: [FileValue] = []

    package init() {}
  }

  /// `{"file":"relative/path","size":n}`
  package struct FileValue: Sendable {
    package let path: String
    package let file: String
    package let size: UInt64?
  }

  /// Adds one attribute's value to `attributes`.
  package static func read(
    _ json: JSONValue, for attribute: AttributeDescription, into attributes: inout Attributes
  ) throws(Refusal) {
    let fileCount = attributes.files.count
    let value = try value(json, for: attribute, files: &attributes.files)
    if value != nil || attributes.files.count == fileCount { attributes.values[attribute.name] = .some(value) }
  }

  /// Returns one attribute's value; nil for null, and for bytes in a file, which is then added to `files`.
  package static func value(
    _ json: JSONValue, for attribute: AttributeDescription, files: inout [FileValue]
  ) throws(Refusal) -> AttributeValue? {
    json == .null ? nil : try value(json, attribute, path: attribute.name, files: &files)
  }

  /// The value; nil for null, and for bytes in a file.
  private static func value(
    _ json: JSONValue, _ attribute: AttributeDescription, path: String, files: inout [FileValue]
  ) throws(Refusal) -> AttributeValue? {
    switch attribute.type {
    case .integer16: return .integer(try integer(json, Int64(Int16.min)...Int64(Int16.max), path))
    case .integer32: return .integer(try integer(json, Int64(Int32.min)...Int64(Int32.max), path))
    case .integer64: return .integer(try integer(json, Int64.min...Int64.max, path))
    case .double: return .double(try double(json, path))
    case .float: return .float(try float(json, path))
    case .decimal: return .decimal(try decimal(json, path))
    case .boolean:
      guard case .boolean(let value) = json else { throw wrongType(json, "true or false", path) }
      return .boolean(value)
    case .string: return .string(try string(json, "a string", path))
    case .uri: return .uri(try string(json, "a string with a URI", path))
    case .uuid:
      let text = try string(json, "a string with a UUID", path)
      guard let value = UUID(uuidString: text) else {
        throw Refusal(kind: .wrongType, path: path, reason: "the string is not a UUID")
      }
      return .uuid(value)
    case .date: return .date(try date(json, path))
    case .binary: return try bytes(json, path, &files).map { .binary($0) }
    case .transformable: return try bytes(json, path, &files).map { .transformable($0) }
    case .composite: return try composite(json, attribute, path, &files)
    case .undefined: throw Refusal(kind: .wrongType, path: path, reason: "an attribute without a type has no value")
    }
  }

  private static func wrongType(_ json: JSONValue, _ expected: String, _ path: String) -> Refusal {
    Refusal(kind: .wrongType, path: path, reason: "\(json.kind) instead of \(expected)")
  }

  private static func outOfRange(_ path: String, _ reason: String) -> Refusal {
    Refusal(kind: .outOfRange, path: path, reason: reason)
  }

  private static func string(_ json: JSONValue, _ expected: String, _ path: String) throws(Refusal) -> String {
    guard case .string(let text) = json else { throw wrongType(json, expected, path) }
    return text
  }
}

// MARK: - Numbers

extension AttributeJSON {
  private static func integer(
    _ json: JSONValue, _ range: ClosedRange<Int64>, _ path: String
  ) throws(Refusal) -> Int64 {
    let reason = "an integer outside \(range.lowerBound) … \(range.upperBound)"
    switch json {
    case .integer(let value):
      guard range.contains(value) else { throw outOfRange(path, reason) }
      return value
    case .number(let value) where value == 0: return 0
    case .number(let value) where value.magnitude >= 0x1p63: throw outOfRange(path, reason)
    default: throw wrongType(json, "an integer", path)
    }
  }

  private static func double(_ json: JSONValue, _ path: String) throws(Refusal) -> Double {
    switch json {
    case .integer(let value): return Double(value)
    case .number(let value): return value
    case .string("NaN"): return .nan
    case .string("Infinity"): return .infinity
    case .string("-Infinity"): return -.infinity
    default: throw wrongType(json, "a number", path)
    }
  }

  private static func float(_ json: JSONValue, _ path: String) throws(Refusal) -> Float {
    if case .integer(let value) = json { return Float(value) }
    let value = try double(json, path)
    let float = Float(value)
    if value.isFinite, !float.isFinite { throw outOfRange(path, "a number too large for a Float") }
    return float
  }

  private static func decimal(_ json: JSONValue, _ path: String) throws(Refusal) -> Decimal {
    switch json {
    case .integer(let value): return Decimal(value)
    case .string("NaN"): return .nan
    case .string(let text):
      guard let parts = DecimalText(text) else {
        throw Refusal(kind: .wrongType, path: path, reason: "the string is not a decimal number")
      }
      guard let value = parts.value else { throw outOfRange(path, DecimalText.range) }
      return value
    default: throw wrongType(json, "a string with a decimal number", path)
    }
  }

  private static func date(_ json: JSONValue, _ path: String) throws(Refusal) -> Date {
    switch json {
    case .string(let text):
      switch CalendarText.read(text) {
      case .success(let seconds): return Date(timeIntervalSinceReferenceDate: seconds)
      case .failure(let problem):
        let reason = "the string is not a date such as 2021-11-15T08:10:00Z: \(problem)"
        throw Refusal(kind: .wrongType, path: path, reason: reason)
      }
    case .object(let object):
      guard object.members.count == 1, let seconds = object["secondsSince2001"] else {
        throw Refusal(kind: .wrongType, path: path, reason: #"an object other than {"secondsSince2001":number}"#)
      }
      return Date(timeIntervalSinceReferenceDate: try double(seconds, path))
    default: throw wrongType(json, "a string with a date", path)
    }
  }
}

// MARK: - Bytes and composites

extension AttributeJSON {
  private static func bytes(
    _ json: JSONValue, _ path: String, _ files: inout [FileValue]
  ) throws(Refusal) -> Data? {
    guard case .object(let object) = json else {
      throw wrongType(json, #"{"base64":"…"} or {"file":"…","size":n}"#, path)
    }
    if object.members.count == 1, case .string(let text)? = object["base64"] {
      guard let data = Data(base64Encoded: text) else {
        throw Refusal(kind: .wrongType, path: path, reason: "the string is not base64")
      }
      return data
    }
    guard case .string(let file)? = object["file"],
      object.members.allSatisfy({ $0.name == "file" || $0.name == "size" })
    else {
      throw Refusal(
        kind: .wrongType, path: path, reason: #"an object other than {"base64":"…"} or {"file":"…","size":n}"#)
    }
    var size: UInt64?
    if let given = object["size"] {
      guard case .integer(let number) = given, number >= 0 else {
        throw wrongType(given, "the file's size in bytes", path)
      }
      size = UInt64(number)
    }
    files.append(FileValue(path: path, file: file, size: size))
    return nil
  }

  private static func composite(
    _ json: JSONValue, _ attribute: AttributeDescription, _ path: String, _ files: inout [FileValue]
  ) throws(Refusal) -> AttributeValue {
    guard case .object(let object) = json else { throw wrongType(json, "an object with the elements", path) }
    var elements: [String: AttributeValue] = [:]
    for member in object.members {
      let elementPath = "\(path).\(ErrorText.shown(member.name))"
      guard let element = attribute.elements.first(where: { $0.name == member.name }) else {
        throw Refusal(kind: .unknownProperty, path: elementPath, reason: "the composite has no such element")
      }
      if member.value == .null { continue }
      elements[member.name] = try value(member.value, element, path: elementPath, files: &files)
    }
    return .composite(elements)
  }
}
