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
