package import KVCloneModel

extension Session {
  package var blobTables: BlobTables { BlobTables(blobs: schema.tables.blobs, blobinfo: schema.tables.blobinfo) }

  /// One referrer less; the last one takes the bytes along.
  package mutating func releaseBlob(_ reference: BlobReference) throws(StoreError) {
    _ = try storage.releaseReference(blobTables, reference.id)
  }
}
