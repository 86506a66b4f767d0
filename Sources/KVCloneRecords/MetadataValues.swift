#if canImport(FoundationEssentials)
  package import FoundationEssentials
#else
  package import Foundation
#endif

/// A counter in `metadata`: u64.
package struct CounterValue: ValueCodec, Hashable {
  package var value: UInt64

  package init(_ value: UInt64) {
    self.value = value
  }

  package func write(to writer: inout ByteWriter) { writer.put64(value) }

  package init(from reader: inout ByteReader) throws(RecordError) {
    value = try reader.get64()
    // Nobody ever counts that far, and what does not overflow may be added to.
    if value > UInt64(Int64.max) { throw .outOfRange }
  }

  /// Hands on the counter as it is stored, which is what `encoded(seed:)` makes, without heap memory.
  package func withStored<E: Error>(seed: UInt64, _ body: (RawSpan) throws(E) -> Void) throws(E) {
    assert(value <= UInt64(Int64.max), "a value is written that its own reader refuses")
    var words: InlineArray<2, UInt64> = [0, value.littleEndian]
    words[0] = XXH64.hash(littleEndianWord: words[1].littleEndian, seed: seed).littleEndian
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

/// What a file says of itself, under the name `format`.
///
/// format version u32 | minimum reader version u32 | store UUID 16 bytes | created f64 (seconds since 2001) | …
/// Bytes after these belong to newer versions: this record alone is read however long it is, because it is what
/// decides whether a library may read on.
package struct FormatRecord: ValueCodec, Hashable {
  package var version: UInt32
  /// The lowest format version a library must know to open the file, read-only included.
  package var minimumReaderVersion: UInt32
  package var storeUUID: UUID
  /// Seconds since 2001.
  package var created: Double

  package init(
    version: UInt32 = FormatLimits.oldestFormatVersion,
    minimumReaderVersion: UInt32 = FormatLimits.oldestFormatVersion, storeUUID: UUID, created: Double
  ) {
    self.version = version
    self.minimumReaderVersion = minimumReaderVersion
    self.storeUUID = storeUUID
    self.created = created
  }

  /// The stored value for a file that only libraries may open that know `version`. What newer libraries say behind
  /// what is known here stays.
  ///
  /// - Throws: what is wrong with `stored`.
  package static func raising(_ stored: RawSpan, to version: UInt32, seed: UInt64) throws(RecordError) -> BytesValue {
    let record = try FormatRecord(stored: copy stored, seed: seed)
    var bytes = try BytesValue(stored: stored, seed: seed).bytes
    for (offset, number) in [(0, record.version), (4, record.minimumReaderVersion)] {
      withUnsafeBytes(of: max(number, version).littleEndian) { raised in
        bytes.replaceSubrange(offset..<offset + 4, with: raised)
      }
    }
    return BytesValue(bytes)
  }

  /// Whether this library may open the file.
  package var isReadable: Bool {
    minimumReaderVersion <= FormatLimits.formatVersion
  }

  package func write(to writer: inout ByteWriter) {
    writer.put32(version)
    writer.put32(minimumReaderVersion)
    withUnsafeBytes(of: storeUUID.uuid) { writer.putRaw($0) }
    writer.putDouble(created)
  }

  package init(from reader: inout ByteReader) throws(RecordError) {
    version = try reader.get32()
    minimumReaderVersion = try reader.get32()
    storeUUID = try reader.getUUID()
    created = try reader.getDouble()
    _ = try reader.getRaw(reader.remaining)
  }
}

extension ByteReader {
  package mutating func getUUID() throws(RecordError) -> UUID {
    let bytes = try getRaw(16)
    return UUID(uuid: bytes.withUnsafeBytes { $0.loadUnaligned(as: uuid_t.self) })
  }
}
