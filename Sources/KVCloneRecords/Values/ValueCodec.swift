/// A small value with a canonical encoding: what its `write(to:)` writes is the payload of its envelope.
package protocol ValueCodec: Sendable {
  func write(to writer: inout ByteWriter)
  init(from reader: inout ByteReader) throws(RecordError)
}

extension ValueCodec {
  /// Encodes the value: checksum and payload.
  package func encoded(seed: UInt64) -> [UInt8] {
    var writer = ByteWriter()
    // Most values are short: allocate once.
    writer.bytes.reserveCapacity(64)
    writer.put64(0)
    write(to: &writer)
    writer.bytes.withUnsafeMutableBytes { ValueEnvelope.seal($0, seed: seed) }
    // Encode asserts, decode checks: what decoding would reject must not be written.
    assert((try? Self(stored: writer.bytes, seed: seed)) != nil, "a value is written that its own reader refuses")
    return writer.bytes
  }

  /// Decodes a stored value, which must not have trailing bytes.
  package init(stored: RawSpan, seed: UInt64) throws(RecordError) {
    var reader = ByteReader(try ValueEnvelope.payload(of: stored, seed: seed))
    self = try Self(from: &reader)
    guard reader.isAtEnd else { throw .trailingBytes }
  }

  /// Decodes a stored value, which must not have trailing bytes.
  package init(stored: [UInt8], seed: UInt64) throws(RecordError) {
    try self.init(stored: stored.span.bytes, seed: seed)
  }
}
