import KVCloneBranches
import KVCloneCore
import KVCloneLMDB
import KVCloneRecords

/// The snapshots of a branch that earlier layers have.
extension SnapshotManager {
  /// Runs `body` with the layer that has a snapshot; returns false if it is not an earlier layer of a branch.
  mutating func inEarlierLayer(
    _ name: String, _ body: (inout SnapshotManager) throws(StoreError) -> Void
  ) throws(StoreError) -> Bool {
    guard let branch = session.storage.branch, branch.record.layers.count > 1,
      let layer = try branch.view(ofSnapshot: name), layer !== branch
    else { return false }
    try change(layer, body)
    return true
  }

  private mutating func change(
    _ layer: BranchBackend, _ body: (inout SnapshotManager) throws(StoreError) -> Void
  ) throws(StoreError) {
    var own = session.context.session(
      StorageTransaction(lookingInto: layer), session.schema, commit: session.commit)
    try own.storage.record(own.schema, commit: own.commit)
    try SnapshotManager.own(&own, body)
    try own.storage.recorder?.flush()
    session.storage.branch?.noteChange()
    session.changes.isEmpty = false
  }

  /// Deletes the snapshots of earlier layers, and the layers that have no others; returns the names of the rest.
  mutating func deleteInEarlierLayers(_ names: [String]) throws(StoreError) -> [String] {
    guard let branch = session.storage.branch, !branch.isFrozen, branch.record.layers.count > 1 else { return names }
    var rest: [String] = []
    var byLayer: [UInt32: (view: BranchBackend, names: [String])] = [:]
    for name in names {
      guard let view = try branch.view(ofSnapshot: name), view.isFrozen else {
        rest.append(name)
        continue
      }
      byLayer[view.record.present.code, default: (view, [])].names.append(name)
    }
    for (code, found) in byLayer.sorted(by: { $0.key < $1.key }) {
      try change(found.view) { (snapshots) throws(StoreError) in try snapshots.delete(found.names) }
      let storage = StorageTransaction(lookingInto: branch.inner)
      if try LayerKeys(branch.branchTables, layer: code).hasSnapshots(in: storage) { continue }
      // The branch stores its record at the commit. Until then, blobs are searched in this layer, too, and not found.
      branch.noteChange(removed: code)
      try drop(found.view.record.present, of: branch)
    }
    return rest
  }

  /// Deletes a layer in the transaction of the branch, with what only its base retains.
  private mutating func drop(_ layer: BranchValue.Layer, of branch: BranchBackend) throws(StoreError) {
    var store = session.context.session(
      StorageTransaction(lookingInto: branch.inner), session.schema, commit: session.commit)
    try store.storage.record(store.schema, commit: store.commit)
    try LayerKeys(branch.branchTables, layer: layer.code).deleteEntries(in: &store)
    try SnapshotManager.own(&store) { (snapshots) throws(StoreError) in
      try snapshots.removeLayer(layer.baseName, epoch: layer.baseEpoch)
    }
    try store.storage.recorder?.flush()
  }
}
