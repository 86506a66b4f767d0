public import Foundation
public import KVCloneModel

/// A Swift type for the values of attributes.
///
/// The types that generated source uses conform. An enum with raw values of one of these types conforms by declaring
/// the conformance.
public protocol AttributeConvertible: Sendable {
  /// Creates a value from a stored attribute value; nil if this type cannot represent it.
  init?(attributeValue: AttributeValue)
  /// The value in the form that an attribute stores.
  var attributeValue: AttributeValue { get }
}

extension AttributeConvertible where Self: RawRepresentable, RawValue: AttributeConvertible {
  /// Creates the case with the stored raw value; nil if there is no such case.
  public init?(attributeValue: AttributeValue) {
    guard let raw = RawValue(attributeValue: attributeValue) else { return nil }
    self.init(rawValue: raw)
  }

  /// The stored raw value.
  public var attributeValue: AttributeValue { rawValue.attributeValue }
}

extension AttributeConvertible where Self: FixedWidthInteger & Sendable {
  /// Creates a number; nil if the stored number does not fit the type.
  public init?(attributeValue: AttributeValue) {
    guard case .integer(let number) = attributeValue else { return nil }
    self.init(exactly: number)
  }

  /// The stored integer. All conforming types fit into 64 bits with a sign.
  public var attributeValue: AttributeValue { .integer(Int64(truncatingIfNeeded: self)) }
}

extension Int16: AttributeConvertible {}
extension Int32: AttributeConvertible {}
extension Int64: AttributeConvertible {}
extension Int: AttributeConvertible {}

extension Double: AttributeConvertible {
  /// Creates a number from a stored double; nil for other types.
  public init?(attributeValue: AttributeValue) {
    guard case .double(let number) = attributeValue else { return nil }
    self = number
  }

  /// The stored double.
  public var attributeValue: AttributeValue { .double(self) }
}

extension Float: AttributeConvertible {
  /// Creates a number from a stored float; nil for other types.
  public init?(attributeValue: AttributeValue) {
    guard case .float(let number) = attributeValue else { return nil }
    self = number
  }

  /// The stored float.
  public var attributeValue: AttributeValue { .float(self) }
}

extension Decimal: AttributeConvertible {
  /// Creates a number from a stored decimal; nil for other types.
  public init?(attributeValue: AttributeValue) {
    guard case .decimal(let number) = attributeValue else { return nil }
    self = number
  }

  /// The stored decimal.
  public var attributeValue: AttributeValue { .decimal(self) }
}

extension String: AttributeConvertible {
  /// Creates a string from a stored string; nil for other types.
  public init?(attributeValue: AttributeValue) {
    guard case .string(let text) = attributeValue else { return nil }
    self = text
  }

  /// The stored string.
  public var attributeValue: AttributeValue { .string(self) }
}

extension Bool: AttributeConvertible {
  /// Creates a Boolean from a stored Boolean; nil for other types.
  public init?(attributeValue: AttributeValue) {
    guard case .boolean(let flag) = attributeValue else { return nil }
    self = flag
  }

  /// The stored Boolean.
  public var attributeValue: AttributeValue { .boolean(self) }
}

extension Date: AttributeConvertible {
  /// Creates a date from a stored date; nil for other types.
  public init?(attributeValue: AttributeValue) {
    guard case .date(let date) = attributeValue else { return nil }
    self = date
  }

  /// The stored date.
  public var attributeValue: AttributeValue { .date(self) }
}

extension UUID: AttributeConvertible {
  /// Creates a UUID from a stored UUID; nil for other types.
  public init?(attributeValue: AttributeValue) {
    guard case .uuid(let uuid) = attributeValue else { return nil }
    self = uuid
  }

  /// The stored UUID.
  public var attributeValue: AttributeValue { .uuid(self) }
}

extension URL: AttributeConvertible {
  /// Creates a URL from a stored URI; nil if its text is not a valid URL, and for other types.
  public init?(attributeValue: AttributeValue) {
    guard case .uri(let text) = attributeValue else { return nil }
    self.init(string: text)
  }

  /// The stored URI: the absolute string of the URL.
  public var attributeValue: AttributeValue { .uri(absoluteString) }
}

extension AttributeValue: AttributeConvertible {
  /// Creates the value unchanged.
  public init?(attributeValue: AttributeValue) {
    self = attributeValue
  }

  /// The value itself.
  public var attributeValue: AttributeValue { self }
}
