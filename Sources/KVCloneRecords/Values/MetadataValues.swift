/// A counter in `metadata`: u64.
package struct CounterValue: ValueCodec, Hashable {
  package var value: UInt64

  package init(_ value: UInt64) {
    self.value = value
  }

  package func write(to writer: inout ByteWriter) { writer.put64(value) }

  package init(from reader: inout ByteReader) throws(RecordError) {
    value = try reader.get64()
    // No counter gets this far, and adding cannot overflow.
    if value > UInt64(Int64.max) { throw .outOfRange }
  }

  /// Calls `body` with the encoded counter, as `encoded(seed:)` returns it, without heap allocation.
  package func withStored<E: Error>(seed: UInt64, _ body: (RawSpan) throws(E) -> Void) throws(E) {
    assert(value <= UInt64(Int64.max), "a value is written that its own reader refuses")
    var words: InlineArray<2, UInt64> = [0, value.littleEndian]
    words[0] = XXH3.hash(littleEndianWord: words[1].littleEndian, seed: seed).littleEndian
    try body(words.span.bytes)
  }
}

/// Bytes (JSON) in `metadata`, to the end of the value.
package struct BytesValue: ValueCodec, Hashable {
  package var bytes: [UInt8]

  package init(_ bytes: [UInt8]) {
    self.bytes = bytes
  }

  package func write(to writer: inout ByteWriter) { writer.putRaw(bytes) }
  package init(from reader: inout ByteReader) throws(RecordError) { bytes = try reader.getRaw(reader.remaining) }
}
