package import KVCloneCore
import KVCloneLMDB
package import KVCloneRecords

/// Finds the keys that a layer may show differently from its base, or from another state of the same layer.
package struct LayerKeys {
  /// The number of keys that are buffered at once.
  private static let batchCount = 1024

  private let tables: BranchTables
  private let layer: UInt32

  package init(_ tables: BranchTables, layer: UInt32) {
    self.tables = tables
    self.layer = layer
  }

  /// Calls `body` with the tables and keys of all entries of the layer that are merged with the base, and of those that
  /// were saved for its snapshots. A key may come more than once, and `body` may write.
  ///
  /// - Parameter storage: a view of the transaction without branches.
  package func forEach(
    in storage: borrowing StorageTransaction, _ body: (TableCode, [UInt8]) throws(StoreError) -> Void
  ) throws(StoreError) {
    let prefix = OverlayKey.prefix(layer)
    var start: [UInt8]? = prefix
    while let from = start {
      var batch: [[UInt8]] = []
      try storage.scan(tables.overlays, from: from.span.bytes, within: prefix.span.bytes) {
        (key, _) throws(StoreError) in
        let bytes = key.withUnsafeBytes { Array($0) }
        guard bytes.starts(with: prefix) else { return false }
        batch.append(bytes)
        return batch.count < Self.batchCount
      }
      for key in batch {
        if let (table, own) = Self.entry(key) { try body(table, own) }
      }
      // The first key after the last one.
      start = batch.count == Self.batchCount ? batch.last.map { $0 + [0] } : nil
    }
  }

  /// Whether the layer has snapshots.
  package func hasSnapshots(in storage: borrowing StorageTransaction) throws(StoreError) -> Bool {
    let first = OverlayKey.encode(layer: layer, table: .snapshots, key: [0].span.bytes)
    guard let found = try storage.seek(tables.overlays, first.span.bytes, .atOrAfter) else { return false }
    return OverlayKey.isOf(layer: layer, table: .snapshots, unsafePointers(found.key))
  }

  /// Deletes all entries, with the chunks of blobs that nothing else describes.
  ///
  /// - Parameter session: a session of the store.
  package func deleteEntries(in session: inout Session) throws(StoreError) {
    let prefix = OverlayKey.prefix(layer)
    var keys: [[UInt8]] = []
    var blobs: [UInt64] = []
    repeat {
      keys.removeAll()
      blobs.removeAll()
      try session.storage.scan(tables.overlays, within: prefix.span.bytes) { (key, _) throws(StoreError) in
        let bytes = key.withUnsafeBytes { Array($0) }
        guard bytes.starts(with: prefix), keys.count < Self.batchCount else { return false }
        if let blob = OverlayKey.blob(describedBy: bytes.span.bytes) { blobs.append(blob) }
        keys.append(bytes)
        return true
      }
      for key in keys { try session.storage.delete(tables.overlays, key.span.bytes) }
      for blob in blobs where try !BlobDescriptions.exist(of: blob, session.schema.tables, in: session.storage) {
        try session.storage.deleteBlobChunks(session.blobTables, blob)
      }
    } while !keys.isEmpty
  }

  /// The table and the key of an entry of the branch that an entry of `overlays` holds or has saved.
  private static func entry(_ key: [UInt8]) -> (TableCode, [UInt8])? {
    guard let table = try? OverlayKey.table(of: key.span.bytes), let own = try? OverlayKey.key(of: key.span.bytes)
    else { return nil }
    if SnapshotHorizon.isVersioned(table) { return (table, own.withUnsafeBytes { Array($0) }) }
    guard table == .preimages, !SavedKeysKey.isOne(own), let saved = try? PreimageKey.table(of: own),
      let savedKey = try? PreimageKey.key(of: own)
    else { return nil }
    return (saved, savedKey.withUnsafeBytes { Array($0) })
  }
}
