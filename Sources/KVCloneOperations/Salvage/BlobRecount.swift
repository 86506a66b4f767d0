import KVCloneCore
import KVCloneRecords

/// Recounts the references to blobs.
struct BlobRecount: ~Copyable, SessionOwner {
  private var session: Session

  init(_ session: consuming Session) {
    self.session = session
  }

  consuming func finish() -> Session { session }

  /// Sets every blob's reference count, and removes unreferenced blobs.
  mutating func run(_ count: (UInt64) -> UInt64) throws(StoreError) {
    var next: UInt64? = 1
    var windows = ReadWindows(session.storage)
    while let start = next {
      windows.next()
      let key = ShortKey.blobInfo(start)
      guard let serial = try Self.blob(atOrAfter: key, session.storage, session.blobTables) else { break }
      next = serial < .max ? serial + 1 : nil
      guard var info = try session.storage.blobInfo(session.blobTables, serial), info.state == .complete else {
        continue
      }
      let found = count(serial)
      if found == info.referenceCount { continue }
      info.referenceCount = max(1, found)
      try session.storage.store(session.blobTables, serial, info)
      if found == 0 { try session.storage.releaseReference(session.schema.tables, serial) }
    }
  }

  private static func blob(
    atOrAfter key: ShortKey, _ storage: borrowing StorageTransaction, _ tables: BlobTables
  ) throws(StoreError) -> UInt64? {
    guard let entry = try storage.seek(tables.blobinfo, key.bytes, .atOrAfter) else { return nil }
    return try? NumberKey.blobSerial(entry.key)
  }
}
