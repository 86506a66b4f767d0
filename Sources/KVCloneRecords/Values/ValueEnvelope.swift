public import KVCloneModel

/// The checksum before every value of every table: `[checksum u64][payload]`.
///
/// The checksum is XXH3 of the payload, seeded with XXH3 of the key's bytes, which is seeded with the table's code: it
/// detects a corrupted value, and one that was moved to another key or table. The only value with a different checksum
/// is ``FormatRecord``.
@usableFromInline
package enum ValueEnvelope {
  /// The seed of the checksum of the value at `key`.
  @inlinable
  package static func seed(tableCode: TableCode, key: RawSpan) -> UInt64 {
    XXH3.hash(key, seed: UInt64(tableCode.rawValue))
  }

  /// The seed of the checksum of the value at `key`.
  @inlinable
  package static func seed(tableCode: TableCode, key: UnsafeRawBufferPointer) -> UInt64 {
    XXH3.hash(key, seed: UInt64(tableCode.rawValue))
  }

  /// The seed of the checksum of the value at `key`.
  package static func seed(tableCode: TableCode, key: [UInt8]) -> UInt64 {
    key.withUnsafeBytes { seed(tableCode: tableCode, key: $0) }
  }

  /// The seed of the checksum of the value at `key`.
  @inlinable
  package static func seed(tableCode: TableCode, key: ShortKey) -> UInt64 {
    key.withUnsafeBytes { seed(tableCode: tableCode, key: $0) }
  }

  /// The same number as for the eight bytes of the id's key, without building the key.
  @inlinable @inline(__always)
  package static func seed(tableCode: TableCode, objectID: ObjectID) -> UInt64 {
    XXH3.hash(littleEndianWord: objectID.rawValue.byteSwapped, seed: UInt64(tableCode.rawValue))
  }

  /// The seed of an object record's checksum: the table follows from the id.
  @inlinable @inline(__always)
  package static func seed(object: ObjectID) -> UInt64 {
    seed(tableCode: TableCode(rawValue: 0x8000 | object.rootCode), objectID: object)
  }

  /// Whether the checksum matches the payload.
  @inlinable
  package static func isIntact(_ value: RawSpan, seed: UInt64) -> Bool {
    value.withUnsafeBytes { isIntact($0, seed: seed) }
  }

  /// Whether the checksum matches the payload.
  @inlinable
  package static func isIntact(_ value: UnsafeRawBufferPointer, seed: UInt64) -> Bool {
    guard value.count >= 8, let base = value.baseAddress else { return false }
    return base.number(at: 0, UInt64.self) == XXH3.hash(base + 8, count: value.count - 8, seed: seed)
  }

  /// The payload of a value with a valid checksum.
  @inlinable
  @_lifetime(copy value)
  package static func payload(of value: RawSpan, seed: UInt64) throws(RecordError) -> RawSpan {
    guard value.byteCount >= 8 else { throw .tooShort }
    guard isIntact(value, seed: seed) else { throw .checksumMismatch }
    return value.extracting(8..<value.byteCount)
  }

  /// Writes the checksum of the bytes after the first eight into the first eight.
  ///
  /// - Precondition: `value` has at least eight bytes.
  @inlinable
  package static func seal(_ value: UnsafeMutableRawBufferPointer, seed: UInt64) {
    guard value.count >= 8, let base = value.baseAddress else {
      preconditionFailure("a value begins with its checksum")
    }
    let checksum = XXH3.hash(UnsafeRawPointer(base + 8), count: value.count - 8, seed: seed)
    base.storeBytes(of: checksum.littleEndian, as: UInt64.self)
  }

  /// Checksum and payload in one array.
  package static func encode(_ payload: [UInt8], seed: UInt64) -> [UInt8] {
    var value = [UInt8](repeating: 0, count: 8)
    value.append(contentsOf: payload)
    value.withUnsafeMutableBytes { seal($0, seed: seed) }
    return value
  }

  /// The value of an index entry: a checksum of no bytes, which covers table and key.
  @inlinable
  package static func emptyValue(seed: UInt64) -> UInt64 {
    XXH3.empty(seed: seed).littleEndian
  }
}
