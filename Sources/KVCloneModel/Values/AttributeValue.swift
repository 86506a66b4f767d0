#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

/// The value of one attribute of one object; nil is `Optional<AttributeValue>.none`.
///
/// Two values are equal if a store would save the same data for both. Numbers of type Double, Float and Date are
/// compared by bit pattern: NaN equals itself, and −0 differs from 0. Decimals are compared by number, and NaN equals
/// NaN.
public enum AttributeValue: Sendable {
  /// An Integer 16, Integer 32 or Integer 64.
  case integer(Int64)
  /// A decimal number with up to 38 digits.
  case decimal(Decimal)
  /// A 64-bit floating-point number.
  case double(Double)
  /// A 32-bit floating-point number.
  case float(Float)
  /// Text.
  case string(String)
  /// A Boolean value.
  case boolean(Bool)
  /// A point in time, as seconds since 2001-01-01 00:00 UTC.
  case date(Date)
  /// Bytes in memory; see ``blob(_:)`` for values that are only stored.
  case binary(Data)
  /// A UUID.
  case uuid(UUID)
  /// A URI as written, without validation.
  case uri(String)
  /// The archive that a transformer created from a value.
  case transformable(Data)
  /// The elements of a composite attribute by name, without those that are nil.
  case composite([String: AttributeValue])
  /// A stored binary or transformable value above the inline size.
  case blob(BlobReference)
}

extension AttributeValue: Hashable {
  /// Returns whether a store would save the same data for both values.
  public static func == (left: AttributeValue, right: AttributeValue) -> Bool {
    switch (left, right) {
    case (.integer(let a), .integer(let b)): a == b
    case (.decimal(let a), .decimal(let b)): a.isNaN || b.isNaN ? a.isNaN && b.isNaN : a == b
    case (.double(let a), .double(let b)): a.bitPattern == b.bitPattern
    case (.float(let a), .float(let b)): a.bitPattern == b.bitPattern
    case (.string(let a), .string(let b)): a.utf8.elementsEqual(b.utf8)
    case (.boolean(let a), .boolean(let b)): a == b
    case (.date(let a), .date(let b)):
      a.timeIntervalSinceReferenceDate.bitPattern == b.timeIntervalSinceReferenceDate.bitPattern
    case (.binary(let a), .binary(let b)): a == b
    case (.uuid(let a), .uuid(let b)): a == b
    case (.uri(let a), .uri(let b)): a.utf8.elementsEqual(b.utf8)
    case (.transformable(let a), .transformable(let b)): a == b
    case (.composite(let a), .composite(let b)): a == b
    case (.blob(let a), .blob(let b)): a == b
    default: false
    }
  }

  /// Hashes the case and the value, so that equal values have equal hashes.
  public func hash(into hasher: inout Hasher) {
    hasher.combine(kindCode)
    switch self {
    case .integer(let value): hasher.combine(value)
    // By its digits: Foundation hashes a decimal by the nearest double, which any number of decimals share.
    case .decimal(let value): if !value.isNaN { hasher.combine(DecimalText(value.description)) }
    case .double(let value): hasher.combine(value.bitPattern)
    case .float(let value): hasher.combine(value.bitPattern)
    // By bytes, like equality: String's own hash is equal for all canonically equivalent spellings, of which an
    // attacker can create any number.
    case .string(let value), .uri(let value): hasher.combine(bytesOf: value)
    case .boolean(let value): hasher.combine(value)
    case .date(let value): hasher.combine(value.timeIntervalSinceReferenceDate.bitPattern)
    case .binary(let value), .transformable(let value): hasher.combine(bytesOf: value)
    case .uuid(let value): hasher.combine(value)
    case .composite(let value): hasher.combine(value)
    case .blob(let value): hasher.combine(value)
    }
  }

  private var kindCode: UInt8 {
    switch self {
    case .integer: 1
    case .decimal: 2
    case .double: 3
    case .float: 4
    case .string: 5
    case .boolean: 6
    case .date: 7
    case .binary: 8
    case .uuid: 9
    case .uri: 10
    case .transformable: 11
    case .composite: 12
    case .blob: 13
    }
  }
}

extension Hasher {
  /// Hashes all bytes of a text, and their count.
  package mutating func combine(bytesOf text: String) {
    var text = text
    combine(text.utf8.count)
    text.withUTF8 { combine(bytes: UnsafeRawBufferPointer($0)) }
  }

  /// Hashes all bytes, and their count; Foundation's own hash uses the first 80.
  package mutating func combine(bytesOf data: Data) {
    combine(data.count)
    data.withUnsafeBytes { combine(bytes: $0) }
  }
}

extension AttributeValue: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral, ExpressibleByFloatLiteral,
  ExpressibleByBooleanLiteral, ExpressibleByDictionaryLiteral
{
  /// Text.
  public init(stringLiteral value: String) { self = .string(value) }
  /// An integer; ``AttributeType/coerce(_:)`` converts it to the attribute's type.
  public init(integerLiteral value: Int64) { self = .integer(value) }
  /// A Double; ``AttributeType/coerce(_:)`` converts it to the attribute's type.
  public init(floatLiteral value: Double) { self = .double(value) }
  /// A Boolean value.
  public init(booleanLiteral value: Bool) { self = .boolean(value) }
  /// A composite. If a name occurs more than once, the last element is used.
  public init(dictionaryLiteral elements: (String, AttributeValue)...) {
    self = .composite(Dictionary(elements) { _, last in last })
  }
}

extension AttributeValue: CustomStringConvertible {
  /// The value as readable text: `Milk`, `3`, `2026-11-21 10:00:00 +0000`; for bytes, only their count.
  public var description: String {
    switch self {
    case .integer(let value): "\(value)"
    case .decimal(let value): "\(value)"
    case .double(let value): "\(value)"
    case .float(let value): "\(value)"
    case .string(let value), .uri(let value): value
    case .boolean(let value): "\(value)"
    case .date(let value): "\(value)"
    case .binary(let value), .transformable(let value): "<\(value.count) bytes>"
    case .uuid(let value): value.uuidString
    case .composite(let elements):
      "[" + elements.sorted { $0.key < $1.key }.map { "\($0.key): \($0.value)" }.joined(separator: ", ") + "]"
    case .blob(let reference): "<\(reference.byteCount) bytes>"
    }
  }
}
