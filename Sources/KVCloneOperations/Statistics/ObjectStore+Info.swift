public import KVCloneCore
import KVCloneModel
import KVCloneRecords

extension ObjectStore {
  /// Returns basic facts about the store in one read transaction.
  ///
  /// The call counts objects by their record headers, so its cost grows with the number of objects.
  ///
  /// - Throws: `corrupted`, `readersFull`, `closed`.
  public func info() throws(StoreError) -> StoreInfo {
    let session = try readSession()
    let counts = try ObjectCounts(session, usingTableSizes: false)
    // The first snapshot, index or migration raises it, in another process too.
    let format = try Metadata.format(session.storage, schema.tables.metadata)
    return StoreInfo(
      uuid: uuid, formatVersion: Int(format?.version ?? formatVersion), modelName: model.name,
      modelVersion: model.versionIdentifier, modelHash: model.modelHash.hex, objectCount: counts.total,
      counts: counts.byEntity, fileBytes: try engine.facts().fileBytes,
      commit: try session.counter(MetadataKey.commitCounter),
      snapshotCount: Int(clamping: try session.storage.entryCount(schema.tables.snapshots)))
  }
}
