/// The type of an attribute, with the names of Core Data's model editor.
public enum AttributeType: String, Sendable, Hashable, Codable, CaseIterable {
  /// A signed 16-bit integer.
  case integer16 = "Integer 16"
  /// A signed 32-bit integer.
  case integer32 = "Integer 32"
  /// A signed 64-bit integer.
  case integer64 = "Integer 64"
  /// A decimal number with up to 38 digits.
  case decimal = "Decimal"
  /// A 64-bit floating-point number.
  case double = "Double"
  /// A 32-bit floating-point number.
  case float = "Float"
  /// Text.
  case string = "String"
  /// A Boolean value.
  case boolean = "Boolean"
  /// A point in time.
  case date = "Date"
  /// Bytes.
  case binary = "Binary"
  /// A UUID.
  case uuid = "UUID"
  /// A URI.
  case uri = "URI"
  /// A value that a named transformer converts to bytes.
  case transformable = "Transformable"
  /// A group of named elements, each with its own attribute description.
  case composite = "Composite"
  /// No type. Only a transient attribute may have none, because its value is not stored.
  case undefined = "Undefined"

  /// Whether the type is one of the three integer types.
  public var isInteger: Bool { self == .integer16 || self == .integer32 || self == .integer64 }
}
