#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif
import KVCloneRecords

/// A writer that receives the bytes of a blob in chunks, with about 1 MiB of memory for a value of any length.
///
/// A writer belongs to the closure that receives it and is invalid afterwards.
public struct BlobWriter: ~Copyable {
  /// The transaction; it outlives the writer, which exists only inside `writeBlob`.
  private let storage: UnsafeMutablePointer<StorageTransaction>
  private let tables: BlobTables
  private let serial: UInt64
  private var buffer: [UInt8]
  private var digest = XXH64Stream(seed: 0)
  private var chunkCount: UInt32 = 0
  /// The first failure; a caller that catches it cannot complete a value with a gap.
  private var failure: StoreError?

  /// The number of bytes appended so far.
  public private(set) var byteCount: UInt64 = 0

  init(_ storage: UnsafeMutablePointer<StorageTransaction>, _ tables: BlobTables, _ serial: UInt64) {
    self.storage = storage
    self.tables = tables
    self.serial = serial
    buffer = [UInt8](repeating: 0, count: FormatLimits.envelopeLength)
  }

  /// Appends bytes to the value.
  ///
  /// - Throws: `diskFull`, `mapFull`, `io`, or `limitExceeded` for a value above about 4 PiB. The transaction is
  ///   abort-only then.
  public mutating func append(_ bytes: RawSpan) throws(StoreError) {
    if let failure { throw failure }
    let limit = FormatLimits.envelopeLength + FormatLimits.blobChunkLength
    digest.update(bytes)
    byteCount += UInt64(bytes.byteCount)
    var offset = 0
    while offset < bytes.byteCount {
      let end = min(bytes.byteCount, offset + limit - buffer.count)
      bytes.extracting(offset..<end).withUnsafeBytes { buffer.append(contentsOf: $0) }
      offset = end
      if buffer.count == limit { try flush() }
    }
  }

  /// Appends bytes to the value.
  ///
  /// - Throws: the errors of ``append(_:)-(RawSpan)``.
  public mutating func append(_ data: Data) throws(StoreError) {
    try append(data.bytes)
  }

  private mutating func flush() throws(StoreError) {
    do throws(StoreError) {
      guard chunkCount < .max else {
        throw StoreError(
          .limitExceeded, "a blob has at most 2^32 chunks of 1 MiB; split the value over several objects")
      }
      let key = ShortKey.blobChunk(serial, chunk: chunkCount)
      let seed = ValueEnvelope.seed(tableCode: tables.blobs.code, key: key)
      buffer.withUnsafeMutableBytes { ValueEnvelope.seal($0, seed: seed) }
      try storage.pointee.append(tables.blobs, key.bytes, buffer.span.bytes)
    } catch {
      failure = error
      throw error
    }
    chunkCount += 1
    buffer.removeSubrange(FormatLimits.envelopeLength...)
    // A value of several chunks needs the full buffer again: keep one, and never grow past it.
    buffer.reserveCapacity(FormatLimits.envelopeLength + FormatLimits.blobChunkLength)
  }

  /// Writes the last chunk and the description.
  mutating func finish() throws(StoreError) -> BlobInfo {
    if let failure { throw failure }
    if buffer.count > FormatLimits.envelopeLength { try flush() }
    let info = BlobInfo(
      chunkCount: chunkCount, referenceCount: 1, byteCount: byteCount, digest: digest.finalize())
    try storage.pointee.store(tables, serial, info)
    return info
  }
}

extension StorageTransaction {
  /// Writes a new blob with one reference.
  ///
  /// - Parameter serial: A serial above all that were ever assigned to blobs: chunks are appended to the table.
  /// - Throws: errors of `body` and the engine. Nothing of the blob remains then, if the engine still works.
  mutating func writeBlob(
    _ tables: BlobTables, serial: UInt64, _ body: (inout BlobWriter) throws -> Void
  ) throws -> BlobInfo {
    do {
      return try withUnsafeMutablePointer(to: &self) { storage in
        var writer = BlobWriter(storage, tables, serial)
        try body(&writer)
        return try writer.finish()
      }
    } catch let failure {
      do {
        try deleteBlobChunks(tables, serial)
      } catch {
        // After a failure of the engine, the first error is more informative; an error of the caller must not hide that
        // chunks remain.
        throw failure is StoreError ? failure : error
      }
      throw failure
    }
  }
}
