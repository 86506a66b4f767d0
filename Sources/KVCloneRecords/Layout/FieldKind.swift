/// How a property is kept in a record. The raw values are part of the file format.
@usableFromInline
package enum FieldKind: UInt8, Sendable, CaseIterable {
  case boolean = 1
  case integer16 = 2
  case integer32 = 3
  case integer64 = 4
  case float = 5
  case double = 6
  /// Seconds since 2001-01-01 00:00 UTC, as Foundation has them.
  case date = 7
  case decimal = 8
  case uuid = 9
  /// The id of the related object; 0 is nil.
  case toOne = 10
  /// The head of a list: see ``ListHead``.
  case toMany = 11
  case string = 12
  case uri = 13
  case binary = 14
  case transformable = 15

  /// Bytes of the fixed slot.
  @inlinable
  package var width: Int {
    switch self {
    case .boolean: 1
    case .integer16: 2
    case .integer32, .float: 4
    case .string, .uri, .binary, .transformable: 4
    case .integer64, .double, .date, .toOne, .toMany: 8
    case .uuid: 16
    case .decimal: 20
    }
  }

  /// Whether values are whole numbers.
  @inlinable
  package var isInteger: Bool { self == .integer16 || self == .integer32 || self == .integer64 }

  /// Whether the fixed slot is an end offset into the variable bytes.
  @inlinable
  package var isVariable: Bool {
    rawValue >= FieldKind.string.rawValue
  }

  /// Whether the value may be in a blob instead of the record.
  @inlinable
  package var mayBeBlob: Bool {
    rawValue >= FieldKind.binary.rawValue
  }

  /// Whether a bit of the null bitmap says that the value is nil. A to-one id says so itself, a list is never nil.
  @inlinable
  package var hasNullBit: Bool {
    self != .toOne && self != .toMany
  }

  /// Where in the record slots of this kind stand. Wide ones first; list heads together, and end offsets together, so
  /// that each can be walked without looking at the fields.
  var placement: UInt8 {
    switch self {
    case .uuid: 0
    case .integer64, .double, .date: 1
    case .toOne: 2
    case .toMany: 3
    case .decimal: 4
    case .integer32, .float: 5
    case .string, .uri, .binary, .transformable: 6
    case .integer16: 7
    case .boolean: 8
    }
  }
}
