package import KVCloneCore
package import KVCloneModel
import KVCloneRecords

extension BlobTables {
  /// Counts a reference to a blob from a record of another state of the store. If the blob's description was deleted
  /// since, it is written again: the snapshot retained the bytes. So is that of a blob that was made on a branch, which
  /// earlier snapshots must not show (B4).
  package func addReference(
    to blob: BlobReference, _ storage: inout StorageTransaction, describedIn past: borrowing StorageTransaction
  ) throws(StoreError) {
    if try storage.blobInfo(self, blob.id) == nil {
      guard var info = try past.blobInfo(self, blob.id), info.state == .complete else { throw missing(blob.id) }
      info.referenceCount = 0
      try storage.recorder?.noteCompletion(of: blob.id, self)
      try storage.store(self, blob.id, info)
    }
    try storage.addReferences(self, blob.id)
  }
}
