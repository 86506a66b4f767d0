#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// A single key names the case: `{"integer":3}`, `{"date":"654210600.25"}`, `{"binary":"aGVsbG8="}`. Floating-point
/// numbers and decimals are texts, because JSON numbers have neither NaN nor −0, and some parsers round them.
extension AttributeValue: Codable {
  private enum CodingKeys: String, CodingKey {
    case integer, decimal, double, float, string, boolean, date, binary, uuid, uri, transformable, composite, blob
  }

  /// Decodes the output of ``encode(to:)``.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    guard container.allKeys.count == 1, let key = container.allKeys.first else {
      throw DecodingError.dataCorrupted(
        .init(codingPath: decoder.codingPath, debugDescription: "an attribute value has one key, its kind"))
    }
    func parsed<Value>(_ parse: (String) -> Value?) throws -> Value {
      guard let value = parse(try container.decode(String.self, forKey: key)) else {
        throw DecodingError.dataCorruptedError(
          forKey: key, in: container, debugDescription: "the text cannot be read as \(key.rawValue)")
      }
      return value
    }
    switch key {
    case .integer: self = .integer(try container.decode(Int64.self, forKey: key))
    case .decimal: self = .decimal(try parsed { $0 == "NaN" ? .nan : DecimalText($0)?.value ?? Decimal(string: $0) })
    case .double: self = .double(try parsed(ExactText.double))
    case .float: self = .float(try parsed(ExactText.float))
    case .string: self = .string(try container.decode(String.self, forKey: key))
    case .boolean: self = .boolean(try container.decode(Bool.self, forKey: key))
    case .date: self = .date(Date(timeIntervalSinceReferenceDate: try parsed(ExactText.double)))
    case .binary: self = .binary(try parsed { Data(base64Encoded: $0) })
    case .uuid: self = .uuid(try parsed { UUID(uuidString: $0) })
    case .uri: self = .uri(try container.decode(String.self, forKey: key))
    case .transformable: self = .transformable(try parsed { Data(base64Encoded: $0) })
    case .composite: self = .composite(try container.decode([String: AttributeValue].self, forKey: key))
    case .blob: self = .blob(try container.decode(BlobReference.self, forKey: key))
    }
  }

  /// Encodes the value under a single key, which names its kind.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    switch self {
    case .integer(let value): try container.encode(value, forKey: .integer)
    case .decimal(let value): try container.encode(value.description, forKey: .decimal)
    case .double(let value): try container.encode(ExactText.text(value), forKey: .double)
    case .float(let value): try container.encode(ExactText.text(value), forKey: .float)
    case .string(let value): try container.encode(value, forKey: .string)
    case .boolean(let value): try container.encode(value, forKey: .boolean)
    case .date(let value): try container.encode(ExactText.text(value.timeIntervalSinceReferenceDate), forKey: .date)
    case .binary(let value): try container.encode(value.base64EncodedString(), forKey: .binary)
    case .uuid(let value): try container.encode(value.uuidString, forKey: .uuid)
    case .uri(let value): try container.encode(value, forKey: .uri)
    case .transformable(let value): try container.encode(value.base64EncodedString(), forKey: .transformable)
    case .composite(let value): try container.encode(value, forKey: .composite)
    case .blob(let value): try container.encode(value, forKey: .blob)
    }
  }
}

/// Numbers as texts that parse to the same bits: the shortest decimal form, or `bits:` and hexadecimal for NaN.
enum ExactText {
  static func text(_ value: Double) -> String {
    value.isNaN ? "bits:" + String(value.bitPattern, radix: 16) : value.description
  }

  static func text(_ value: Float) -> String {
    value.isNaN ? "bits:" + String(value.bitPattern, radix: 16) : value.description
  }

  static func double(_ text: String) -> Double? {
    text.hasPrefix("bits:") ? UInt64(text.dropFirst(5), radix: 16).map(Double.init(bitPattern:)) : Double(text)
  }

  static func float(_ text: String) -> Float? {
    text.hasPrefix("bits:") ? UInt32(text.dropFirst(5), radix: 16).map(Float.init(bitPattern:)) : Float(text)
  }
}
