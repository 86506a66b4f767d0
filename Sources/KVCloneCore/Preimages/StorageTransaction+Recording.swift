import KVCloneRecords

extension StorageTransaction {
  /// What saves previous states in this write transaction; nil where nothing does.
  package var recorder: SnapshotRecorder? { backend as? SnapshotRecorder }

  /// Has previous states saved from now on, where the store has snapshots.
  package mutating func record(
    _ schema: Schema, commit: UInt64, droppedIndexes: Set<UInt16> = []
  ) throws(StoreError) {
    guard let youngest = try Snapshots.youngest(self, schema.tables) else { return }
    let horizon = SnapshotHorizon(youngest, schema.orderedLists)
    interpose {
      SnapshotRecorder(
        $0, preimages: schema.tables.preimages, commit: commit, horizon, droppedIndexes: droppedIndexes)
    }
  }
}
