import KVCloneCore
import KVCloneRecords

extension BlobTables {
  /// Counts a referrer of a blob that a record of a snapshot has. One that went since is described again: its bytes
  /// were kept.
  func addReference(
    to blob: BlobReference, _ storage: inout StorageTransaction, describedIn past: borrowing StorageTransaction
  ) throws(StoreError) {
    if try storage.blobInfo(self, blob.id) == nil {
      guard var info = try past.blobInfo(self, blob.id), info.state == .complete else { throw missing(blob.id) }
      info.referenceCount = 0
      try storage.store(self, blob.id, info)
    }
    try storage.addReferences(self, blob.id)
  }
}
