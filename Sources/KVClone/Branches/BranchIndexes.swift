import KVCloneBranches
import KVCloneCore
import KVCloneRecords

/// The index entries of branches.
enum BranchIndexes {
  /// The number of keys that are buffered while an index is dropped.
  private static let batchCount = 1000

  /// Deletes the entries of dropped indexes from all layers, in a write transaction of the store.
  static func drop(_ indexes: Set<UInt16>, in session: inout Session) throws(StoreError) {
    let metadata = session.schema.tables.metadata
    guard !indexes.isEmpty, try Metadata.counter(session.storage, metadata, MetadataKey.layer) > 0 else { return }
    let tables = try BranchTables(creatingIn: &session.storage, session.schema.tables)
    for (name, branch) in try BranchRecords.all(session.storage, tables) {
      var changed = branch
      for layer in branch.layers {
        for index in indexes.sorted() {
          let dropped = try drop(index, layer.code, tables, in: &session.storage)
          // Increments have the branches that have changed.
          if dropped.entryCount > 0 { changed.lastCommit = session.commit }
          guard layer.code == branch.present.code else { continue }
          changed.entryCount -= min(changed.entryCount, dropped.entryCount)
          changed.byteCount -= min(changed.byteCount, dropped.byteCount)
        }
      }
      if changed != branch { try BranchRecords.put(changed, name, tables, in: &session.storage) }
    }
  }

  private static func drop(
    _ index: UInt16, _ layer: UInt32, _ tables: BranchTables, in storage: inout StorageTransaction
  ) throws(StoreError) -> (entryCount: UInt64, byteCount: UInt64) {
    let prefix = OverlayKey.encode(
      layer: layer, table: .indexes, key: IndexKey.prefix(indexID: index).span.bytes)
    var dropped: (entryCount: UInt64, byteCount: UInt64) = (0, 0)
    var keys: [[UInt8]] = []
    repeat {
      keys.removeAll(keepingCapacity: true)
      try storage.scan(tables.overlays, within: prefix.span.bytes) { (key, value) throws(StoreError) in
        let bytes = key.withUnsafeBytes { Array($0) }
        guard bytes.starts(with: prefix), keys.count < batchCount else { return false }
        keys.append(bytes)
        dropped.byteCount += UInt64(key.byteCount + value.byteCount)
        return true
      }
      for key in keys { try storage.delete(tables.overlays, key.span.bytes) }
      dropped.entryCount += UInt64(keys.count)
    } while !keys.isEmpty
    return dropped
  }
}
