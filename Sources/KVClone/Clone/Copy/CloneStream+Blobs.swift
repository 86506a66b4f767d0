import KVCloneCore
import KVCloneRecords

/// The blobs that clones in another store share.
struct SharedBlobs {
  /// The serial of the first one in that store.
  private let first: UInt64
  private let ranks: SerialRanks

  init(_ blobs: SerialSet, first: UInt64) {
    self.first = first
    ranks = SerialRanks(blobs)
  }

  /// The destination's serial for a blob of the source.
  func serial(of serial: UInt64) -> UInt64? { ranks.rank(of: serial).map { first + $0 } }
}

/// Blobs of clones, which are shared and counted, or copied (R25).
extension CloneStream {
  /// Writes every blob that clones in another store share, once, chunk by chunk.
  mutating func writeSharedBlobs() throws {
    guard context.isForeign, context.book.options.blobs == .share else { return }
    let first = try session.nextBlobSerial()
    session.changes.nextBlobSerial = first + UInt64(context.blobs.count)
    sharedBlobs = SharedBlobs(context.blobs, first: first)
    var serial = first
    var next = context.blobs.next(from: 0)
    while let old = next {
      try context.cancellation.check()
      // References are counted with the clones that have them.
      tally.bytesCopied = tally.bytesCopied.saturatingAdd(try copyBlob(old, to: serial, references: 0))
      serial += 1
      next = context.blobs.next(from: old + 1)
    }
  }

  /// Copies a blob of the source, and returns its size.
  func copyBlob(_ blob: UInt64, to serial: UInt64, references: UInt64) throws -> UInt64 {
    let reading = StorageTransaction(lookingInto: source.storage)
    let tables = source.blobTables
    return try BlobCopy.copy(
      in: &session.storage, session.blobTables, to: serial, references: references, from: blob, of: reading, tables
    ) { try context.cancellation.check() }.byteCount
  }

  /// Counts the new references to blobs. A blob that only snapshots reference still has its bytes: its entry is
  /// restored.
  mutating func publishBlobs() throws(StoreError) {
    let counts = countedBlobs()
    let tables = session.blobTables
    guard context.bridge?.isWithinStore ?? false else { return try session.storage.addReferences(tables, counts) }
    for (serial, count) in counts {
      if try session.storage.blobInfo(tables, serial) != nil {
        try session.storage.addReferences(tables, serial, count: count)
        continue
      }
      var info = try source.storage.existingBlobInfo(tables, serial)
      guard info.state == .complete else { throw tables.missing(serial) }
      info.referenceCount = count
      try session.storage.store(tables, serial, info)
    }
  }

  /// The number of references to each waiting serial; clears the serials.
  private mutating func countedBlobs() -> [(serial: UInt64, count: UInt64)] {
    blobs.sort()
    var counts: [(serial: UInt64, count: UInt64)] = []
    for serial in blobs {
      if counts.last?.serial == serial {
        counts[counts.count - 1].count += 1
      } else {
        counts.append((serial, 1))
      }
    }
    blobs.removeAll(keepingCapacity: true)
    return counts
  }

  /// The first clone that references a blob in another store is the one that it was written for: it does not share it.
  mutating func countSharedBlobs() {
    guard sharedBlobs != nil else { return }
    tally.blobsShared -= min(context.blobs.count, tally.blobsShared)
    tally.bytesShared -= min(tally.bytesCopied, tally.bytesShared)
  }
}
