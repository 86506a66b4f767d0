/// Why stored bytes could not be decoded, or a value not encoded.
///
/// The decoding errors mean corruption or a file of another program: run `kvclone check` and restore from a backup. No
/// message contains stored values or keys.
@usableFromInline
package enum RecordError: Error, Equatable, Sendable {
  /// The value is shorter than its header or kind requires.
  case tooShort
  /// The value is longer than its content.
  case trailingBytes
  /// The stored checksum does not match the bytes, the table and the key.
  case checksumMismatch
  /// The record was written with another layout or entity than the given one.
  case wrongLayout
  /// The length in the header is not the length of the value.
  case wrongLength
  /// An end offset is outside of the record, or before the previous one.
  case badOffset
  /// A count is out of range.
  case badCount
  /// A flag, state or kind that this format does not define.
  case badFlag
  /// Ids or entries are not in the order of the format.
  case badOrder
  /// A text is not UTF-8.
  case invalidUTF8
  /// The key does not have the length and form of its table.
  case badKey
  /// The field has another kind than the value.
  case wrongKind
  /// The number does not fit the field.
  case outOfRange
  /// The record would be longer than `FormatLimits.maximumRecordLength`.
  case recordTooLarge
  /// A value of this kind cannot be part of an index.
  case notIndexable
}

extension RecordError: CustomStringConvertible {
  @usableFromInline package var description: String {
    switch self {
    case .tooShort: "A stored value ends too early; check the store and restore it from a backup."
    case .trailingBytes: "A stored value has bytes after its content; check the store and restore it from a backup."
    case .checksumMismatch:
      "A stored value's checksum does not match its bytes; check the store and restore it from a backup."
    case .wrongLayout:
      "A record has another layout than expected; reopen the store, and check it if the error recurs."
    case .wrongLength: "A record's length is wrong; check the store and restore it from a backup."
    case .badOffset: "A record's offsets are wrong; check the store and restore it from a backup."
    case .badCount: "A count in a stored value is out of range; check the store and restore it from a backup."
    case .badFlag: "A stored value has a flag or kind that this version does not support; use a newer version."
    case .badOrder: "Entries of a stored value are out of order; check the store and restore it from a backup."
    case .invalidUTF8: "A stored text is not UTF-8; check the store and restore it from a backup."
    case .badKey: "A stored key has the wrong form; check the store and restore it from a backup."
    case .wrongKind: "The value does not have the attribute's type; use a value of that type."
    case .outOfRange: "The number does not fit the attribute; use a number within the range of its type."
    case .recordTooLarge: "The record would be larger than 1 GiB; store the value as a blob or split the object."
    case .notIndexable: "Values of this type cannot be indexed; remove the attribute from the index."
    }
  }
}
