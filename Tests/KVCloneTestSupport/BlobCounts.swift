import KVClone
package import KVCloneCore
import KVCloneRecords

/// The number of blobs in the tables, by state.
package struct BlobCounts: Equatable {
  package var complete = 0
  package var pending = 0
  package var chunks = 0
  /// The names of uploads in the metadata.
  package var staged = 0

  package init(complete: Int = 0, pending: Int = 0, chunks: Int = 0, staged: Int = 0) {
    self.complete = complete
    self.pending = pending
    self.chunks = chunks
    self.staged = staged
  }
}

extension ObjectStore {
  package func blobCounts() throws -> BlobCounts {
    try read { tx in
      try tx._withSession { (session) throws(StoreError) in
        var counts = BlobCounts()
        let tables = session.blobTables
        let first = ShortKey.blobInfo(0)
        try session.storage.scanToEnd(of: tables.blobinfo, from: first.bytes) { (key, _) throws(StoreError) in
          let serial = (try? NumberKey.blobSerial(copy key)) ?? 0
          if try session.storage.blobInfo(tables, serial)?.state == .pending {
            counts.pending += 1
          } else {
            counts.complete += 1
          }
          return true
        }
        let chunk = ShortKey.blobChunk(0, chunk: 0)
        try session.storage.scanToEnd(of: tables.blobs, from: chunk.bytes) { (_, _) throws(StoreError) in
          counts.chunks += 1
          return true
        }
        try PendingBlobs.forEach(in: session) { (_, _) throws(StoreError) in
          counts.staged += 1
          return true
        }
        return counts
      }
    }
  }
}
