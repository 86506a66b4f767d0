import KVCloneBranches
import KVCloneCore
import KVCloneLMDB
import KVCloneRecords

/// The comparison of states of a branch with different bases: all keys that either layer has changed, and those that
/// the store has changed since the earlier base, are compared by value.
extension SnapshotComparison {
  /// Returns the objects and chunks that may differ between a snapshot of a branch and a later state in another layer;
  /// nil if both states are of one layer, or of a store.
  ///
  /// - Parameter session: the later state.
  static func changesAcrossLayers(
    _ name: String, _ first: SnapshotValue, _ session: borrowing Session
  ) throws(StoreError) -> Changes? {
    guard let branch = session.storage.branch, branch.record.layers.count > 1,
      let old = try branch.view(ofSnapshot: name)
    else { return nil }
    let layers = (old.record.present, branch.record.present)
    if layers.0.code == layers.1.code { return nil }
    return try changes(between: layers.0, layers.1, of: branch, first, session)
  }

  /// Returns the objects and chunks that may differ between two layers of a branch.
  ///
  /// - Parameter first: a snapshot that sees all objects of the earlier state.
  static func changes(
    between one: BranchValue.Layer, _ other: BranchValue.Layer, of branch: BranchBackend, _ first: SnapshotValue,
    _ session: borrowing Session
  ) throws(StoreError) -> Changes {
    var changes = Changes(horizon: SnapshotHorizon(first, session.schema.orderedLists))
    let store = session.context.session(StorageTransaction(lookingInto: branch.inner), session.schema)
    for layer in [one, other] {
      try LayerKeys(branch.branchTables, layer: layer.code).forEach(in: store.storage) {
        (table, key) throws(StoreError) in
        changes.note(table, key)
      }
    }
    if one.baseEpoch != other.baseEpoch {
      let earlier = one.baseEpoch < other.baseEpoch ? one : other
      // Keys that were changed after the later base may have been inserted before it.
      try PreimageKeyList.forEachKey(in: earlier.baseEpoch..<UInt64.max, store) { (table, key) throws(StoreError) in
        changes.note(table, key)
      }
      let base = try Snapshots.existing(
        store.storage, store.schema.tables, earlier.baseName, epoch: earlier.baseEpoch)
      try BornEntries(since: base, store.schema).forEach(in: store) { (table, key, _) throws(StoreError) in
        changes.note(table.code, Array(key))
      }
    }
    changes.sortChunks()
    return changes
  }
}
