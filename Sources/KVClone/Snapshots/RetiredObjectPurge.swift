import KVCloneCore
import KVCloneModel
import KVCloneRecords

/// Deletes objects of root entities that the model no longer has. They stay in their tables as long as a snapshot shows
/// them, so removing an entity costs nothing.
struct RetiredObjectPurge: ~Copyable, SessionOwner {
  private var session: Session

  init(_ session: consuming Session) {
    self.session = session
  }

  consuming func finish() -> Session { session }

  /// Deletes the objects that no snapshot shows anymore.
  ///
  /// - Parameter models: the numbers of the models of the snapshots.
  mutating func purge(shownBy models: [UInt16]) throws(StoreError) {
    for (root, number) in (session.schema.codes.former?.roots ?? [:]).sorted(by: { $0.key < $1.key }) {
      guard let rootCode = UInt16(root), let table = session.schema.tables.objects[rootCode],
        !models.contains(where: { UInt64($0) < number })
      else { continue }
      while try purgeSome(rootCode, table) {}
    }
  }

  /// Deletes some objects of a table with all their data; returns false if the table has none.
  private mutating func purgeSome(_ rootCode: UInt16, _ table: StorageTable) throws(StoreError) -> Bool {
    var ids: [ObjectID] = []
    var blobs: [BlobReference] = []
    let first = ShortKey.object(ObjectID(rootCode: rootCode, serial: 0))
    try session.storage.scanToEnd(of: table, from: first.bytes) { (key, value) throws(StoreError) in
      let id = try session.schema.objectID(key)
      let view = try session.schema.view(of: copy value, id: id)
      for field in 0..<view.layout.fieldCount where view.layout.kind(field).mayBeBlob && !view.isNull(field) {
        if let blob = view.blobReference(field) { blobs.append(blob) }
      }
      ids.append(id)
      return ids.count < 1024
    }
    session.changes.isEmpty = false
    for blob in blobs { try session.releaseBlob(blob) }
    let hasProvenance = try session.hasProvenance()
    for id in ids {
      let key = ShortKey.object(id)
      try deleteLists(of: id)
      if hasProvenance { try session.forgetProvenance(of: id) }
      try session.storage.delete(table, key.bytes)
    }
    return !ids.isEmpty
  }

  private mutating func deleteLists(of owner: ObjectID) throws(StoreError) {
    let prefix = ShortKey.object(owner)
    var keys: [[UInt8]] = []
    repeat {
      keys.removeAll()
      try session.storage.scan(session.schema.tables.links, within: prefix.bytes) { (key, _) throws(StoreError) in
        let bytes = key.withUnsafeBytes { Array($0) }
        guard bytes.starts(with: prefix.array) else { return false }
        keys.append(bytes)
        return keys.count < 1024
      }
      for key in keys { try session.storage.delete(session.schema.tables.links, key.span.bytes) }
    } while !keys.isEmpty
  }
}
