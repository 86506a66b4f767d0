public import Foundation
public import KVCloneModel

/// A Swift type that attributes of some type can have.
///
/// The types that generated source uses conform; an enum with raw values of one of them conforms by saying so.
public protocol AttributeConvertible: Sendable {
  /// The value of a stored attribute; nil for one that this type does not have.
  init?(attributeValue: AttributeValue)
  /// The value as an attribute stores it.
  var attributeValue: AttributeValue { get }
}

extension AttributeConvertible where Self: RawRepresentable, RawValue: AttributeConvertible {
  /// The case with the stored raw value.
  public init?(attributeValue: AttributeValue) {
    guard let raw = RawValue(attributeValue: attributeValue) else { return nil }
    self.init(rawValue: raw)
  }

  /// The raw value.
  public var attributeValue: AttributeValue { rawValue.attributeValue }
}

extension AttributeConvertible where Self: FixedWidthInteger & Sendable {
  /// The number, where it fits.
  public init?(attributeValue: AttributeValue) {
    guard case .integer(let number) = attributeValue else { return nil }
    self.init(exactly: number)
  }

  /// The number; none of the types that conform has more than 64 bits and a sign.
  public var attributeValue: AttributeValue { .integer(Int64(truncatingIfNeeded: self)) }
}

extension Int16: AttributeConvertible {}
extension Int32: AttributeConvertible {}
extension Int64: AttributeConvertible {}
extension Int: AttributeConvertible {}

extension Double: AttributeConvertible {
  /// The number.
  public init?(attributeValue: AttributeValue) {
    guard case .double(let number) = attributeValue else { return nil }
    self = number
  }

  /// The number.
  public var attributeValue: AttributeValue { .double(self) }
}

extension Float: AttributeConvertible {
  /// The number.
  public init?(attributeValue: AttributeValue) {
    guard case .float(let number) = attributeValue else { return nil }
    self = number
  }

  /// The number.
  public var attributeValue: AttributeValue { .float(self) }
}

extension Decimal: AttributeConvertible {
  /// The number.
  public init?(attributeValue: AttributeValue) {
    guard case .decimal(let number) = attributeValue else { return nil }
    self = number
  }

  /// The number.
  public var attributeValue: AttributeValue { .decimal(self) }
}

extension String: AttributeConvertible {
  /// The text.
  public init?(attributeValue: AttributeValue) {
    guard case .string(let text) = attributeValue else { return nil }
    self = text
  }

  /// The text.
  public var attributeValue: AttributeValue { .string(self) }
}

extension Bool: AttributeConvertible {
  /// The truth value.
  public init?(attributeValue: AttributeValue) {
    guard case .boolean(let flag) = attributeValue else { return nil }
    self = flag
  }

  /// The truth value.
  public var attributeValue: AttributeValue { .boolean(self) }
}

extension Date: AttributeConvertible {
  /// The point in time.
  public init?(attributeValue: AttributeValue) {
    guard case .date(let date) = attributeValue else { return nil }
    self = date
  }

  /// The point in time.
  public var attributeValue: AttributeValue { .date(self) }
}

extension UUID: AttributeConvertible {
  /// The UUID.
  public init?(attributeValue: AttributeValue) {
    guard case .uuid(let uuid) = attributeValue else { return nil }
    self = uuid
  }

  /// The UUID.
  public var attributeValue: AttributeValue { .uuid(self) }
}

extension URL: AttributeConvertible {
  /// The URL, where the stored text is one.
  public init?(attributeValue: AttributeValue) {
    guard case .uri(let text) = attributeValue else { return nil }
    self.init(string: text)
  }

  /// The URL as text.
  public var attributeValue: AttributeValue { .uri(absoluteString) }
}

extension AttributeValue: AttributeConvertible {
  /// The value as it is.
  public init?(attributeValue: AttributeValue) {
    self = attributeValue
  }

  /// The value as it is.
  public var attributeValue: AttributeValue { self }
}
