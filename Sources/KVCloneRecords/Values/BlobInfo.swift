/// The description of a blob in `blobinfo`.
///
/// state u8 | flags u8 (0) | stager u16 | chunk count u32 | reference count u64 | byte length u64 | digest u64. The
/// bytes are in `blobs`, one value (checksum u64 | bytes) per chunk, all but the last of `FormatLimits.blobChunkLength`
/// bytes.
package struct BlobInfo: ValueCodec, Hashable {
  package enum State: UInt8, Sendable {
    /// All bytes are stored.
    case complete = 0
    /// The process that holds the stager's lock is still writing bytes.
    case pending = 1
  }

  package var state: State
  /// The byte of `stagers.lock` that the writing process has locked; 0 for complete blobs.
  package var stager: UInt16
  package var chunkCount: UInt32
  /// The number of fields of live records and of preimages that refer to the blob.
  package var referenceCount: UInt64
  package var byteCount: UInt64
  /// XXH64 of all bytes, seed 0.
  package var digest: UInt64

  package init(
    state: State = .complete, stager: UInt16 = 0, chunkCount: UInt32, referenceCount: UInt64, byteCount: UInt64,
    digest: UInt64
  ) {
    self.state = state
    self.stager = stager
    self.chunkCount = chunkCount
    self.referenceCount = referenceCount
    self.byteCount = byteCount
    self.digest = digest
  }

  /// The number of chunks of so many bytes.
  package static func chunkCount(byteCount: UInt64) -> UInt32? {
    let length = UInt64(FormatLimits.blobChunkLength)
    return UInt32(exactly: byteCount / length + (byteCount % length == 0 ? 0 : 1))
  }

  package func write(to writer: inout ByteWriter) {
    writer.put8(state.rawValue)
    writer.put8(0)
    writer.put16(stager)
    writer.put32(chunkCount)
    writer.put64(referenceCount)
    writer.put64(byteCount)
    writer.put64(digest)
  }

  package init(from reader: inout ByteReader) throws(RecordError) {
    guard let state = State(rawValue: try reader.get8()), try reader.get8() == 0 else { throw .badFlag }
    self.state = state
    stager = try reader.get16()
    chunkCount = try reader.get32()
    referenceCount = try reader.get64()
    byteCount = try reader.get64()
    digest = try reader.get64()
    guard state == .pending || chunkCount == Self.chunkCount(byteCount: byteCount) else { throw .badCount }
  }
}
