#if canImport(FoundationEssentials)
  package import FoundationEssentials
#else
  package import Foundation
#endif

/// The format of a file, under the name `format` of `metadata`.
///
/// format version u32 | minimum reader version u32 | store UUID 16 bytes | created f64 (seconds since 2001) | … It
/// decides whether a library may open the file, so every library has to be able to read it, whichever wrote it: bytes
/// after these belong to newer versions and are kept, and the checksum is XXH64 for good, seeded with XXH64 of the key.
package struct FormatRecord: Hashable, Sendable {
  package var version: UInt32
  /// The lowest format version a library must know to open the file, read-only included.
  package var minimumReaderVersion: UInt32
  package var storeUUID: UUID
  /// Seconds since 2001.
  package var created: Double
  /// The bytes of a newer version behind the known fields.
  package var rest: [UInt8] = []

  package init(
    version: UInt32 = FormatLimits.oldestFormatVersion,
    minimumReaderVersion: UInt32 = FormatLimits.oldestFormatVersion, storeUUID: UUID, created: Double
  ) {
    self.version = version
    self.minimumReaderVersion = minimumReaderVersion
    self.storeUUID = storeUUID
    self.created = created
  }

  /// Reads the stored record, of whatever version.
  package init(stored: RawSpan) throws(RecordError) {
    guard stored.byteCount >= 8 else { throw .tooShort }
    let payload = stored.extracting(8..<stored.byteCount)
    let checksum = UInt64(littleEndian: stored.unsafeLoadUnaligned(as: UInt64.self))
    guard checksum == Self.checksum(payload) else { throw .checksumMismatch }
    var reader = ByteReader(payload)
    version = try reader.get32()
    minimumReaderVersion = try reader.get32()
    storeUUID = try reader.getUUID()
    created = try reader.getDouble()
    rest = try reader.getRaw(reader.remaining)
  }

  /// The record as it is stored: checksum and payload.
  package func encoded() -> [UInt8] {
    var writer = ByteWriter()
    writer.put32(version)
    writer.put32(minimumReaderVersion)
    withUnsafeBytes(of: storeUUID.uuid) { writer.putRaw($0) }
    writer.putDouble(created)
    writer.putRaw(rest)
    return Self.sealed(writer.bytes)
  }

  /// Returns a payload, of any version, with its checksum.
  package static func sealed(_ payload: [UInt8]) -> [UInt8] {
    var writer = ByteWriter()
    writer.put64(checksum(payload.span.bytes))
    writer.putRaw(payload)
    return writer.bytes
  }

  private static func checksum(_ payload: RawSpan) -> UInt64 {
    let key = MetadataKey.bytes(MetadataKey.format)
    return XXH64.hash(payload, seed: XXH64.hash(key.span.bytes, seed: UInt64(TableCode.metadata.rawValue)))
  }

  /// Requires `version` of libraries that open the file. Never lowers the requirement.
  package mutating func raise(to version: UInt32) {
    self.version = max(self.version, version)
    minimumReaderVersion = max(minimumReaderVersion, version)
  }

  /// The bit of the minimum version that marks an incremental backup, and prevents older libraries from opening one as
  /// a store.
  private static let incrementBit: UInt32 = 1 << 31

  /// Whether the file is an incremental backup instead of a store.
  package var isIncrement: Bool { minimumReaderVersion & Self.incrementBit != 0 }

  /// The record for an incremental backup of this store.
  package var ofIncrement: FormatRecord {
    var record = self
    record.minimumReaderVersion |= Self.incrementBit
    return record
  }

  /// The record of the store that an incremental backup belongs to.
  package var ofStore: FormatRecord {
    var record = self
    record.minimumReaderVersion &= ~Self.incrementBit
    return record
  }

  /// Whether the file needs a newer library.
  package var isTooNew: Bool { minimumReaderVersion > FormatLimits.formatVersion }

  /// Whether this library no longer supports the version of the file.
  package var isTooOld: Bool { version < FormatLimits.oldestFormatVersion }
}

extension ByteReader {
  package mutating func getUUID() throws(RecordError) -> UUID {
    let bytes = try getRaw(16)
    return UUID(uuid: bytes.withUnsafeBytes { $0.loadUnaligned(as: uuid_t.self) })
  }
}
