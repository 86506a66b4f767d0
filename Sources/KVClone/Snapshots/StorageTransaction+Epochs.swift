import KVCloneCore
import KVCloneRecords

extension StorageTransaction {
  /// Has previous states saved for a snapshot from now on; for none where it is nil.
  ///
  /// - Parameter isNew: whether this transaction has made it, just now.
  mutating func beginEpoch(
    _ snapshot: SnapshotValue?, _ schema: Schema, commit: UInt64, isNew: Bool = false
  ) throws(StoreError) {
    let horizon = snapshot.map { SnapshotHorizon($0, schema.orderedLists) }
    if let recorder = recorder { return try recorder.begin(horizon, isNew: isNew) }
    let preimages = schema.tables.preimages
    interpose { SnapshotRecorder($0, preimages: preimages, commit: commit, horizon, isNew: isNew) }
  }
}
