#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
import KVCloneRecords

/// Uploads that take longer than a transaction should stay open: pending blobs, from their first chunk until they
/// become a value or are swept.
package enum PendingBlobs {
  /// The maximum number of chunks that one transaction sweeps: 256 MiB, which takes milliseconds, because their bytes
  /// are not read.
  static let sweepLimit = 256

  /// Writes an upload's chunks; the first call creates its pending blob.
  static func write(_ upload: StagingUpload, _ stagers: Stagers, in session: inout Session) throws(StoreError)
    -> PendingBlob
  {
    let blob: PendingBlob
    if let begun = upload.blob {
      // Its lock protects it from the sweep; if it was swept nevertheless, its chunks would have no owner.
      guard stagers.isOwn(begun.stager), let info = try session.storage.blobInfo(session.blobTables, begun.serial),
        info.state == .pending, info.stager == begun.stager
      else { throw Self.gone }
      blob = begun
    } else {
      blob = try begin(stagers, in: &session)
    }
    do throws(StoreError) {
      guard upload.writtenCount <= UInt32.max - UInt32(upload.chunks.count) else {
        throw StoreError(
          .limitExceeded, "a blob has at most 2^32 chunks of 1 MiB; split the value over several objects")
      }
      for (index, chunk) in upload.chunks.enumerated() {
        let key = ShortKey.blobChunk(blob.serial, chunk: upload.writtenCount + UInt32(index))
        let seed = ValueEnvelope.seed(tableCode: session.blobTables.blobs.code, key: key)
        var sealed = chunk
        sealed.withUnsafeMutableBytes { ValueEnvelope.seal($0, seed: seed) }
        // Not appended: blobs with higher serials may have been stored since this upload began.
        try session.storage.put(session.blobTables.blobs, key.bytes, sealed.span.bytes)
      }
    } catch {
      if upload.blob == nil { stagers.release(blob.stager) }
      throw error
    }
    session.changes.isEmpty = false
    return blob
  }

  private static func begin(_ stagers: Stagers, in session: inout Session) throws(StoreError) -> PendingBlob {
    _ = try sweep(stagers, in: &session)
    var named: Set<UInt16> = []
    try forEach(in: session) { (_, stager) throws(StoreError) in
      named.insert(stager)
      return true
    }
    let stager = try stagers.claim(except: named)
    do throws(StoreError) {
      let serial = try session.nextBlobSerial()
      let info = BlobInfo(
        state: .pending, stager: stager, chunkCount: 0, referenceCount: 0, byteCount: 0, digest: 0)
      try session.storage.store(session.blobTables, serial, info)
      try Metadata.put(
        &session.storage, session.schema.tables.metadata, StagingKey.name(blobSerial: serial),
        CounterValue(UInt64(stager)))
      return PendingBlob(serial: serial, stager: stager, info: info)
    } catch {
      stagers.release(stager)
      throw error
    }
  }

  /// Calls `body` with pending blobs and the bytes of their stagers, until it returns false.
  package static func forEach(in session: borrowing Session, _ body: (UInt64, UInt16) throws(StoreError) -> Bool)
    throws(StoreError)
  {
    let prefix = MetadataKey.bytes(StagingKey.prefix)
    try session.storage.scan(session.schema.tables.metadata, within: prefix.span.bytes) {
      (key, value) throws(StoreError) in
      let name = key.withUnsafeBytes { Array($0) }
      guard name.starts(with: prefix) else { return false }
      let seed = ValueEnvelope.seed(tableCode: .metadata, key: name)
      guard let serial = StagingKey.blobSerial(name), let stored = try? CounterValue(stored: copy value, seed: seed),
        let stager = UInt16(exactly: stored.value)
      else {
        // This text is logged, so it must not contain a key that a corrupted file may have made up.
        let shown = StagingKey.blobSerial(name).map { StagingKey.name(blobSerial: $0) } ?? StagingKey.prefix
        throw Metadata.corrupted(shown, .badKey)
      }
      return try body(serial, stager)
    }
  }

  /// Deletes pending blobs of ended stagers, up to the limit of one transaction; returns whether more remain.
  static func sweep(_ stagers: Stagers, in session: inout Session) throws(StoreError) -> Bool {
    var abandoned: [UInt64] = []
    try forEach(in: session) { (serial, stager) throws(StoreError) in
      if try stagers.isGone(stager) { abandoned.append(serial) }
      return abandoned.count < Self.sweepLimit
    }
    var chunksLeft = Self.sweepLimit
    for serial in abandoned {
      guard try delete(serial, &chunksLeft, in: &session) else { return true }
    }
    return abandoned.count == Self.sweepLimit
  }

  /// Deletes a pending blob, at most `limit` chunks of it; returns whether it is deleted completely.
  static func delete(_ serial: UInt64, _ limit: inout Int, in session: inout Session) throws(StoreError) -> Bool {
    session.changes.isEmpty = false
    // A blob that an object references is never swept, even if the metadata names it as pending.
    let info = try session.storage.blobInfo(session.blobTables, serial)
    if info?.state == .pending || info == nil {
      guard try session.storage.deleteBlobChunks(session.blobTables, serial, limit: &limit) else { return false }
      let key = ShortKey.blobInfo(serial)
      try session.storage.delete(session.blobTables.blobinfo, key.bytes)
    }
    let name = MetadataKey.bytes(StagingKey.name(blobSerial: serial))
    try session.storage.delete(session.schema.tables.metadata, name.span.bytes)
    return true
  }

  /// Returns whether no object references the staged blob yet.
  ///
  /// - Throws: `objectNotFound` if it no longer exists.
  static func isPending(_ blob: PendingBlob, _ stagers: Stagers, in session: borrowing Session) throws(StoreError)
    -> Bool
  {
    guard let info = try session.storage.blobInfo(session.blobTables, blob.serial) else { throw Self.gone }
    if info.state == .complete {
      guard info.digest == blob.info.digest, info.byteCount == blob.info.byteCount else { throw Self.gone }
      return false
    }
    guard info.stager == blob.stager, stagers.isOwn(blob.stager) else { throw Self.gone }
    return true
  }

  static var gone: StoreError {
    StoreError(
      .objectNotFound,
      "the staged upload no longer exists: its last object was deleted or changed, or its store was closed; stage it "
        + "again")
  }
}
