#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
package import KVCloneModel

/// Builds keys of the `indexes` table in the byte order of their values.
///
/// index id u16 | per value: 0x00 for nil, or 0x01 and the value's bytes; all complemented where the index descends
/// | object id u64. With fewer values than the index has, the bytes are a search prefix.
package struct IndexKeyBuilder: Sendable {
  package private(set) var bytes: [UInt8]
  /// Whether a value was truncated: keys equal to this one may belong to other values, so compare the records' values
  /// too.
  package private(set) var isTruncated = false
  /// The maximum size of one text or binary value, escapes included, in bytes.
  let contentLimit: Int
  /// Whether NaN sorts before all numbers, as in results, and values that no key can hold are encoded as one.
  let isFetchIndex: Bool
  private var remaining: Int

  /// - Parameter valueCount: the number of values in a full key of the index (1…16). They share the key's length, so
  ///   that a
  ///   value's bytes do not depend on the others.
  /// - Parameter isFetchIndex: for one of the model's fetch indexes, and not for a uniqueness constraint.
  package init(indexID: UInt16, valueCount: Int, isFetchIndex: Bool = false) {
    precondition((1...FormatLimits.maximumIndexValueCount).contains(valueCount), "an index has 1 to 16 values")
    bytes = []
    bytes.reserveCapacity(48)
    bytes.append(UInt8(indexID >> 8))
    bytes.append(UInt8(truncatingIfNeeded: indexID))
    contentLimit = Self.contentLimit(valueCount: valueCount)
    remaining = valueCount
    self.isFetchIndex = isFetchIndex
  }

  /// Each value: presence byte, content, and a terminator of two bytes.
  static func contentLimit(valueCount: Int) -> Int { (FormatLimits.maximumKeyLength - 2 - 8) / valueCount - 3 }

  /// Appends the next value.
  ///
  /// - Throws: `notIndexable` for composite, transformable and blob values, except for a fetch index, which encodes
  ///   their presence; the builder is then unchanged.
  package mutating func append(_ value: AttributeValue?, descending: Bool = false) throws(RecordError) {
    precondition(remaining > 0, "the index has fewer values")
    let start = bytes.count
    if isFetchIndex, let value, !value.fitsIndexKey {
      bytes.append(Self.withheld)
    } else if let value {
      bytes.append(1)
      do {
        try encode(value)
      } catch {
        bytes.removeSubrange(start...)
        throw error
      }
    } else {
      bytes.append(0)
    }
    if descending {
      for index in start..<bytes.count { bytes[index] = ~bytes[index] }
    }
    remaining -= 1
  }

  /// The key of an object's entry.
  ///
  /// - Precondition: all values were appended.
  package consuming func key(_ id: ObjectID) -> [UInt8] {
    precondition(remaining == 0, "the index has more values")
    bytes.appendBigEndian(id.rawValue)
    assert(bytes.count <= FormatLimits.maximumKeyLength)
    return bytes
  }

  private mutating func encode(_ value: AttributeValue) throws(RecordError) {
    switch value {
    case .boolean(let value): bytes.append(value ? 1 : 0)
    case .integer(let value): bytes.appendBigEndian(UInt64(bitPattern: value) ^ 1 << 63)
    case .double(let value): appendDouble(value)
    case .date(let value): appendDouble(value.timeIntervalSinceReferenceDate)
    case .float(let value):
      bytes.appendBigEndian(isFetchIndex && value.isNaN ? 0 : Self.ordered(value))
    case .decimal(let value): appendDecimal(DecimalCodec.parts(of: value))
    case .uuid(let value): withUnsafeBytes(of: value.uuid) { bytes.append(contentsOf: $0) }
    case .string(let value), .uri(let value): appendEscaped(value.utf8)
    case .binary(let value): appendEscaped(value)
    case .composite, .transformable, .blob: throw .notIndexable
    }
  }

  private mutating func appendDouble(_ value: Double) {
    bytes.appendBigEndian(isFetchIndex && value.isNaN ? 0 : Self.ordered(value))
  }

  /// Returns bits that sort like the numbers: −0 is 0, all NaNs are one number above infinity.
  static func ordered(_ value: Double) -> UInt64 {
    let bits = value.isNaN ? 0x7FF8_0000_0000_0000 : value == 0 ? 0 : value.bitPattern
    return bits >> 63 == 0 ? bits | 1 << 63 : ~bits
  }

  /// The same for four bytes.
  static func ordered(_ value: Float) -> UInt32 {
    let bits = value.isNaN ? 0x7FC0_0000 : value == 0 ? 0 : value.bitPattern
    return bits >> 31 == 0 ? bits | 1 << 31 : ~bits
  }

  /// 0x00 becomes 0x00 0xFF; 0x00 0x00 ends a whole value, 0x00 0x01 a truncated one. A value therefore sorts before
  /// those that it is a prefix of, and a truncated one between its prefix and anything greater.
  private mutating func appendEscaped(_ content: some Sequence<UInt8>, isWhole: Bool = true) {
    let limit = bytes.count + contentLimit
    for byte in content {
      guard bytes.count + (byte == 0 ? 2 : 1) <= limit else {
        if isWhole { bytes.append(contentsOf: [0, 1]) }
        isTruncated = true
        return
      }
      bytes.append(byte)
      if byte == 0 { bytes.append(0xFF) }
    }
    if isWhole { bytes.append(contentsOf: [0, 0]) }
  }

  /// sign class u8 (0x10 negative, 0x20 zero, 0x30 positive, 0x40 NaN) | exponent of the first digit u16, biased |
  /// pairs of digits + 1 | 0; complemented after the class for negative numbers.
  private mutating func appendDecimal(_ parts: DecimalCodec.Parts) {
    if parts.isNaN { return bytes.append(isFetchIndex ? 0x08 : 0x40) }
    if parts.mantissa == 0 { return bytes.append(0x20) }
    bytes.append(parts.isNegative ? 0x10 : 0x30)
    let start = bytes.count
    var digits = String(parts.mantissa).utf8.map { $0 - 48 }
    let exponent = UInt16(0x8000 + parts.exponent + digits.count)
    bytes.append(UInt8(exponent >> 8))
    bytes.append(UInt8(truncatingIfNeeded: exponent))
    while digits.last == 0 { digits.removeLast() }
    for index in stride(from: 0, to: digits.count, by: 2) {
      bytes.append(10 * digits[index] + (index + 1 < digits.count ? digits[index + 1] : 0) + 1)
    }
    bytes.append(0)
    if parts.isNegative {
      for index in start..<bytes.count { bytes[index] = ~bytes[index] }
    }
  }
}

/// Encoded single values, for searches.
extension IndexKeyBuilder {
  /// Encodes a value that no key can hold.
  package static let withheld: UInt8 = 2

  /// A value's bytes in an ascending column, and whether they are truncated.
  ///
  /// - Throws: `notIndexable`.
  package func column(_ value: AttributeValue?) throws(RecordError) -> (bytes: [UInt8], isTruncated: Bool) {
    var builder = empty
    try builder.append(value)
    return (builder.bytes, builder.isTruncated)
  }

  /// The prefix of the encoded values that start with `text`, and whether it is truncated.
  package func column(beginningWith text: String) -> (bytes: [UInt8], isTruncated: Bool) {
    var builder = empty
    builder.bytes.append(1)
    builder.appendEscaped(text.utf8, isWhole: false)
    return (builder.bytes, builder.isTruncated)
  }

  /// A copy without an index id or values.
  private var empty: IndexKeyBuilder {
    var builder = self
    builder.bytes = []
    builder.bytes.reserveCapacity(24)
    builder.isTruncated = false
    builder.remaining = 1
    return builder
  }
}

extension AttributeValue {
  /// Whether an index key can hold the value.
  fileprivate var fitsIndexKey: Bool {
    switch self {
    case .composite, .transformable, .blob: false
    default: true
    }
  }
}

/// Reading keys of the `indexes` table.
package enum IndexKey {
  package static func indexID(of key: RawSpan) throws(RecordError) -> UInt16 {
    guard key.byteCount >= 11 else { throw .badKey }
    return UInt16(bigEndian: key.unsafeLoadUnaligned(fromUncheckedByteOffset: 0, as: UInt16.self))
  }

  package static func objectID(of key: RawSpan) throws(RecordError) -> ObjectID {
    guard key.byteCount >= 11 else { throw .badKey }
    return ObjectID(rawValue: key.bigEndian64(key.byteCount - 8))
  }

  /// The key without the object's id: equal for objects with equal (or equally cut) values.
  @_lifetime(copy key)
  package static func values(of key: RawSpan) throws(RecordError) -> RawSpan {
    guard key.byteCount >= 11 else { throw .badKey }
    return key.extracting(0..<key.byteCount - 8)
  }

  /// Whether a value in the key may be truncated: a shorter key has space for its values.
  package static func mayBeCut(_ key: RawSpan, valueCount: Int) -> Bool {
    key.byteCount >= IndexKeyBuilder.contentLimit(valueCount: valueCount)
  }

  /// The common prefix of all keys of an index.
  package static func prefix(indexID: UInt16) -> [UInt8] {
    [UInt8(indexID >> 8), UInt8(truncatingIfNeeded: indexID)]
  }
}

extension [UInt8] {
  fileprivate mutating func appendBigEndian(_ value: some FixedWidthInteger) {
    Swift.withUnsafeBytes(of: value.bigEndian) { append(contentsOf: $0) }
  }
}
