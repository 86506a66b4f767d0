/// The type of an attribute, named as Core Data's model editor names it.
public enum AttributeType: String, Sendable, Hashable, Codable, CaseIterable {
  /// A signed integer of 16 bits.
  case integer16 = "Integer 16"
  /// A signed integer of 32 bits.
  case integer32 = "Integer 32"
  /// A signed integer of 64 bits.
  case integer64 = "Integer 64"
  /// A base-10 number of up to 38 digits.
  case decimal = "Decimal"
  /// A 64-bit floating-point number.
  case double = "Double"
  /// A 32-bit floating-point number.
  case float = "Float"
  /// Text.
  case string = "String"
  /// A truth value.
  case boolean = "Boolean"
  /// A point in time.
  case date = "Date"
  /// Bytes.
  case binary = "Binary"
  /// A UUID.
  case uuid = "UUID"
  /// A URI.
  case uri = "URI"
  /// A value that a named transformer turns into bytes.
  case transformable = "Transformable"
  /// A group of named elements, each an attribute of its own.
  case composite = "Composite"
  /// No type: only a transient attribute may have none, because nothing of it is stored.
  case undefined = "Undefined"

  /// Whether the type is one of the three integer types.
  public var isInteger: Bool { self == .integer16 || self == .integer32 || self == .integer64 }
}
