package import KVCloneCore
package import KVCloneModel
package import KVCloneRecords

extension Schema {
  /// Returns a table by its code; nil if the schema does not have it.
  package func table(_ code: TableCode) -> StorageTable? {
    if let rootCode = code.rootCode { return objectTable(rootCode: rootCode) }
    switch code {
    case .links: return tables.links
    case .indexes: return tables.indexes
    case .blobInfo: return tables.blobinfo
    case .provenance: return tables.provenance
    default: return nil
    }
  }
}

extension CompiledEntity {
  /// Returns the blobs of a record.
  package func blobs(in view: borrowing RecordView) -> [BlobReference] {
    var blobs: [BlobReference] = []
    for field in 0..<view.layout.fieldCount where view.layout.kind(field).mayBeBlob && !view.isNull(field) {
      if let blob = view.blobReference(field) { blobs.append(blob) }
    }
    return blobs
  }
}
