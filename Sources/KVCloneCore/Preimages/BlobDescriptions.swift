import KVCloneLMDB
import KVCloneRecords

/// The descriptions of a blob in all views of the file: those of the store, of its snapshots, of branches, and of the
/// snapshots of branches. The chunks of a blob may be deleted only if no view describes it.
package enum BlobDescriptions {
  /// Returns whether any view describes a blob.
  ///
  /// - Parameter storage: a write transaction of the store or of a branch.
  package static func exist(
    of serial: UInt64, _ tables: SchemaTables, in storage: borrowing StorageTransaction
  ) throws(StoreError) -> Bool {
    let engine = engine(behind: storage)
    let key = ShortKey.blobInfo(serial)
    if try engine.get(tables.blobinfo, unsafePointers(key.bytes)) != nil { return true }
    let saved = PreimageReader(engine, tables.preimages, epoch: 0)
    if try saved.hasValue(of: .blobInfo, unsafePointers(key.bytes)) { return true }
    guard try hasLayers(tables, in: storage) else { return false }
    return try isInLayer(serial, engine)
  }

  /// Returns whether branches may describe blobs. Stores that never had a branch look up one counter.
  static func hasLayers(_ tables: SchemaTables, in storage: borrowing StorageTransaction) throws(StoreError) -> Bool {
    try Metadata.counter(storage, tables.metadata, MetadataKey.layer) > 0
  }

  /// The engine's own transaction, behind all decorators: it shows the tables of the file unchanged.
  private static func engine(behind storage: borrowing StorageTransaction) -> any StorageBackend {
    var engine = storage.backend
    while let decorator = engine.decorator { engine = decorator.inner }
    return engine
  }

  private static func isInLayer(_ serial: UInt64, _ engine: any StorageBackend) throws(StoreError) -> Bool {
    let opened = try engine.makeTables(TableCode.ofBranches)
    guard let layers = try layers(opened[1], engine) else { return true }
    let (key, wanted) = (ShortKey.blobInfo(serial), ReusedBytes())
    let (first, end) = (ReusedBytes(), ReusedBytes())
    PreimageKey.write(table: .blobInfo, key: unsafePointers(key.bytes), epoch: 0, to: first)
    PreimageKey.write(table: .blobInfo, key: unsafePointers(key.bytes), epoch: .max, to: end)
    end.append(0)
    for layer in layers {
      OverlayKey.write(layer: layer, table: .blobInfo, key: unsafePointers(key.bytes), to: wanted)
      if try engine.get(opened[0], wanted.bytes) != nil { return true }
      let limit = ReusedBytes()
      OverlayKey.write(layer: layer, table: .preimages, key: first.bytes, to: wanted)
      OverlayKey.write(layer: layer, table: .preimages, key: end.bytes, to: limit)
      var isFound = false
      try engine.scan(opened[0], from: wanted.bytes, before: limit.bytes) { (key, value) throws(StoreError) in
        guard KeyBound.compare(unsafePointers(copy key), limit.bytes) < 0 else { return false }
        isFound = PreimageView.describes(unsafePointers(copy value), at: unsafePointers(copy key))
        return !isFound
      }
      if isFound { return true }
    }
    return false
  }

  /// The layers of all branches; nil if a branch is corrupted, so that they are unknown.
  private static func layers(_ branches: StorageTable, _ engine: any StorageBackend) throws(StoreError) -> [UInt32]? {
    var layers: [UInt32]? = []
    let first: [UInt8] = [0]
    try engine.scan(branches, from: unsafePointers(first.span.bytes), before: .noBytes) { (key, value) in
      let seed = ValueEnvelope.seed(tableCode: .branches, key: copy key)
      let branch = try? BranchValue(stored: copy value, seed: seed)
      if let branch { layers?.append(contentsOf: branch.layers.map(\.code)) } else { layers = nil }
      return layers != nil
    }
    return layers
  }
}

extension PreimageView {
  /// Whether a preimage in a layer has a value. A corrupted one counts.
  fileprivate static func describes(_ stored: UnsafeRawBufferPointer, at key: UnsafeRawBufferPointer) -> Bool {
    do throws(RecordError) {
      guard let saved = try value(of: stored, { ValueEnvelope.seed(tableCode: .overlays, key: key) }) else {
        return false
      }
      let own = OverlayKey.key(of: key)
      return try value(of: saved) { ValueEnvelope.seed(tableCode: .preimages, key: own) } != nil
    } catch {
      return true
    }
  }
}
