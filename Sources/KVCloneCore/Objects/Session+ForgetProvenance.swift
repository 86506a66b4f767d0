package import KVCloneModel
import KVCloneRecords

extension Session {
  /// Whether any object of the store remembers what it was cloned from: one look per transaction that deletes.
  package mutating func hasProvenance() throws(StoreError) -> Bool {
    if let known = changes.hasProvenance { return known }
    let first: [UInt8] = [0]
    let isThere = try storage.seek(schema.tables.provenance, first.span.bytes, .atOrAfter) != nil
    changes.hasProvenance = isThere
    return isThere
  }

  /// Forgets what an object was cloned from.
  package mutating func forgetProvenance(of id: ObjectID) throws(StoreError) {
    let key = ShortKey.object(id)
    try storage.delete(schema.tables.provenance, key.bytes)
  }
}
