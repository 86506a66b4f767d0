/// The encoding of a property in a record. The raw values are part of the file format.
@usableFromInline
package enum FieldKind: UInt8, Sendable, CaseIterable {
  case boolean = 1
  case integer16 = 2
  case integer32 = 3
  case integer64 = 4
  case float = 5
  case double = 6
  /// Seconds since 2001-01-01 00:00 UTC, as in Foundation.
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

  /// The size of the fixed slot in bytes.
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

  /// Whether the value may be a blob instead of being in the record.
  @inlinable
  package var mayBeBlob: Bool {
    rawValue >= FieldKind.binary.rawValue
  }

  /// Whether a bit of the null bitmap marks nil. A to-one id encodes nil itself, a list is never nil.
  @inlinable
  package var hasNullBit: Bool {
    self != .toOne && self != .toMany
  }

  /// The sort key of slots in the record. Wide ones first; list heads together, and end offsets together, so that each
  /// group can be iterated without the fields.
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
