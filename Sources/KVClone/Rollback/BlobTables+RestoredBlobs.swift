import KVCloneCore
import KVCloneRecords

extension BlobTables {
  /// Counts a reference from a restored record to a blob. If the blob's description was deleted since, it is written
  /// again: the snapshot retained the bytes.
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
