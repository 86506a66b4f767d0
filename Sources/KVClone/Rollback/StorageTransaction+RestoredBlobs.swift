import KVCloneCore
import KVCloneRecords

extension StorageTransaction {
  /// Counts a referrer of a blob that a record of a snapshot has. One that went since is described again: its bytes
  /// were kept.
  mutating func addReference(
    _ tables: BlobTables, to blob: BlobReference, describedIn past: borrowing StorageTransaction
  ) throws(StoreError) {
    if try blobInfo(tables, blob.id) == nil {
      guard var info = try past.blobInfo(tables, blob.id), info.state == .complete else {
        throw tables.missing(blob.id)
      }
      info.referenceCount = 0
      try store(tables, blob.id, info)
    }
    try addReferences(tables, blob.id)
  }
}
