import KVCloneCore
import KVCloneRecords

extension StorageTransaction {
  /// Writes a copy of a blob with one referrer, with one chunk in memory at a time.
  ///
  /// Every chunk is verified before it is copied, so that damage is never laundered.
  ///
  /// - Parameter newSerial: Above every serial that a blob was ever given.
  mutating func copyBlob(
    _ tables: BlobTables, from serial: UInt64, to newSerial: UInt64, _ cancellation: CloneMonitor
  ) throws -> BlobInfo {
    var info = try existingBlobInfo(tables, serial)
    guard info.state == .complete else { throw tables.missing(serial) }
    var buffer: [UInt8] = []
    for number in 0..<info.chunkCount {
      try cancellation.check()
      let key = ShortKey.blobChunk(newSerial, chunk: number)
      buffer.removeAll(keepingCapacity: true)
      buffer.append(contentsOf: repeatElement(0, count: FormatLimits.envelopeLength))
      try blobChunk(tables, serial, number, info).withUnsafeBytes { buffer.append(contentsOf: $0) }
      let seed = ValueEnvelope.seed(tableCode: tables.blobs.code, key: key)
      buffer.withUnsafeMutableBytes { ValueEnvelope.seal($0, seed: seed) }
      try append(tables.blobs, key.bytes, buffer.span.bytes)
    }
    info.referenceCount = 1
    try store(tables, newSerial, info)
    return info
  }
}
