package import KVCloneCore
import KVCloneLMDB
import KVCloneRecords

/// The descriptions of blobs. Those of the base stay unchanged as long as the base does, so their references are not
/// counted. Those of blobs that were made on the branch are in its layer, with a count. Pending ones are the store's.
extension BranchBackend {
  package func countsReferences(toBlob serial: UInt64) throws(StoreError) -> Bool {
    let key = ShortKey.blobInfo(serial)
    // Of two layers, the newer base may show what the older one does not.
    if try hasEntries(.blobInfo), case .present = try reader.state(layer, .blobInfo, unsafePointers(key.bytes), inner) {
      return true
    }
    return try base.get(tables.store.blobinfo, unsafePointers(key.bytes)) == nil
  }

  /// The description of a staged upload, which the base may not show.
  func pendingBlob(_ table: StorageTable, _ key: UnsafeRawBufferPointer) throws(StoreError) -> UnsafeRawBufferPointer? {
    guard table.code == .blobInfo, let value = try inner.get(table, key), isPending(key, value) else { return nil }
    return value
  }

  private func isPending(_ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) -> Bool {
    let seed = ValueEnvelope.seed(tableCode: .blobInfo, key: key)
    return (try? BlobInfo(stored: RawSpan(_unsafeBytes: value), seed: seed))?.state == .pending
  }

  func putBlobInfo(_ table: StorageTable, _ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer)
    throws(StoreError)
  {
    if isPending(key, value) { return try inner.put(table, key, value) }
    let old = try oldEntry(layer, .blobInfo, key)
    // The reference count of a blob of the base is not the branch's.
    if old == nil, let shown = try base.get(table, key), !isPending(key, shown) { return }
    try putEntry(layer, .blobInfo, value, replacing: old?.byteCount)
    // The upload is complete, and belongs to the branch.
    if old == nil, try pendingBlob(table, key) != nil { _ = try inner.delete(table, key) }
  }

  func deleteBlobInfo(_ table: StorageTable, _ key: UnsafeRawBufferPointer) throws(StoreError) -> Bool {
    if try removeEntry(layer, .blobInfo, key) { return true }
    guard try pendingBlob(table, key) != nil else { return false }
    return try inner.delete(table, key)
  }
}
