import KVCloneCore
import KVCloneRecords

/// Copies blobs from one store to another.
enum BlobCopy {
  /// Writes a copy of a blob, which may belong to another store, with one chunk in memory at a time.
  ///
  /// Every chunk is verified before it is copied, so that corruption is not hidden by a new checksum.
  ///
  /// - Parameters:
  ///   - serial: a serial above those of all blobs of this store.
  ///   - references: the reference count of the copy.
  ///   - check: called before each chunk; it throws to cancel.
  static func copy(
    in storage: inout StorageTransaction, _ tables: BlobTables, to serial: UInt64, references: UInt64,
    from other: UInt64,
    of source: borrowing StorageTransaction, _ sourceTables: BlobTables, check: () throws -> Void
  ) throws -> BlobInfo {
    var info = try source.existingBlobInfo(sourceTables, other)
    guard info.state == .complete else { throw sourceTables.missing(other) }
    var buffer: [UInt8] = []
    for number in 0..<info.chunkCount {
      try check()
      let key = ShortKey.blobChunk(serial, chunk: number)
      buffer.removeAll(keepingCapacity: true)
      buffer.append(contentsOf: repeatElement(0, count: FormatLimits.envelopeLength))
      try source.readScope {
        try source.blobChunk(sourceTables, other, number, info).withUnsafeBytes { buffer.append(contentsOf: $0) }
      }
      let seed = ValueEnvelope.seed(tableCode: tables.blobs.code, key: key)
      buffer.withUnsafeMutableBytes { ValueEnvelope.seal($0, seed: seed) }
      try storage.append(tables.blobs, key.bytes, buffer.span.bytes)
    }
    info.referenceCount = references
    try storage.store(tables, serial, info)
    return info
  }
}
