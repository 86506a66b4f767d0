/// A small value with one form in bytes: what its `write(to:)` writes is the payload of its envelope.
package protocol ValueCodec: Sendable {
  func write(to writer: inout ByteWriter)
  init(from reader: inout ByteReader) throws(RecordError)
}

extension ValueCodec {
  /// The value as it is stored: checksum and payload.
  package func encoded(seed: UInt64) -> [UInt8] {
    var writer = ByteWriter()
    // Most values are short: memory is taken once.
    writer.bytes.reserveCapacity(64)
    writer.put64(0)
    write(to: &writer)
    writer.bytes.withUnsafeMutableBytes { ValueEnvelope.seal($0, seed: seed) }
    // Encode asserts, decode checks: what would be refused when it is read must not be written in the first place.
    assert((try? Self(stored: writer.bytes, seed: seed)) != nil, "a value is written that its own reader refuses")
    return writer.bytes
  }

  /// Reads a stored value; all of it must be used up.
  package init(stored: RawSpan, seed: UInt64) throws(RecordError) {
    var reader = ByteReader(try ValueEnvelope.payload(of: stored, seed: seed))
    self = try Self(from: &reader)
    guard reader.isAtEnd else { throw .trailingBytes }
  }

  /// Reads a stored value; all of it must be used up.
  package init(stored: [UInt8], seed: UInt64) throws(RecordError) {
    try self.init(stored: stored.span.bytes, seed: seed)
  }
}

/// Writes little-endian numbers and counted bytes.
package struct ByteWriter {
  package internal(set) var bytes: [UInt8] = []

  package init() {}

  package mutating func put8(_ value: UInt8) { bytes.append(value) }
  package mutating func put16(_ value: UInt16) { put(value.littleEndian) }
  package mutating func put32(_ value: UInt32) { put(value.littleEndian) }
  package mutating func put64(_ value: UInt64) { put(value.littleEndian) }
  package mutating func putDouble(_ value: Double) { put64(value.bitPattern) }

  /// Bytes without their length.
  package mutating func putRaw(_ value: some Sequence<UInt8>) { bytes.append(contentsOf: value) }

  /// Length u32 and bytes.
  package mutating func putBytes(_ value: [UInt8]) {
    put32(UInt32(value.count))
    bytes.append(contentsOf: value)
  }

  /// Length u32 and UTF-8.
  package mutating func putString(_ value: String) { putBytes(Array(value.utf8)) }

  @inline(__always)
  private mutating func put(_ value: some FixedWidthInteger) {
    withUnsafeBytes(of: value) { bytes.append(contentsOf: $0) }
  }
}

/// Reads what ``ByteWriter`` writes, and throws where the bytes end too early.
package struct ByteReader: ~Escapable {
  private let span: RawSpan
  private var offset = 0

  @_lifetime(copy span)
  package init(_ span: RawSpan) {
    self.span = span
  }

  package var remaining: Int { span.byteCount - offset }
  package var isAtEnd: Bool { remaining == 0 }

  package mutating func get8() throws(RecordError) -> UInt8 { try get(UInt8.self) }
  package mutating func get16() throws(RecordError) -> UInt16 { UInt16(littleEndian: try get(UInt16.self)) }
  package mutating func get32() throws(RecordError) -> UInt32 { UInt32(littleEndian: try get(UInt32.self)) }
  package mutating func get64() throws(RecordError) -> UInt64 { UInt64(littleEndian: try get(UInt64.self)) }
  package mutating func getDouble() throws(RecordError) -> Double { Double(bitPattern: try get64()) }

  package mutating func getRaw(_ count: Int) throws(RecordError) -> [UInt8] {
    guard count >= 0, count <= remaining else { throw .tooShort }
    let part = span.extracting(offset..<offset + count)
    offset += count
    return part.withUnsafeBytes { Array($0) }
  }

  package mutating func getBytes() throws(RecordError) -> [UInt8] {
    try getRaw(Int(try get32()))
  }

  package mutating func getString() throws(RecordError) -> String {
    guard let text = String(validating: try getBytes(), as: UTF8.self) else { throw .invalidUTF8 }
    return text
  }

  /// A count of entries that each take at least `width` bytes: more than can follow is refused before anything is
  /// allocated.
  package mutating func getCount(width: Int) throws(RecordError) -> Int {
    let count = Int(try get32())
    guard count <= remaining / width else { throw .badCount }
    return count
  }

  private mutating func get<Number: FixedWidthInteger & BitwiseCopyable>(
    _ type: Number.Type
  ) throws(RecordError) -> Number {
    guard remaining >= MemoryLayout<Number>.size else { throw .tooShort }
    let value = span.unsafeLoadUnaligned(fromUncheckedByteOffset: offset, as: type)
    offset += MemoryLayout<Number>.size
    return value
  }
}
