package import KVCloneCore
import KVCloneLMDB
package import KVCloneRecords

/// The layers of a branch that only its snapshots show.
extension BranchBackend {
  /// The tables of branches.
  package var branchTables: BranchTables { tables }

  /// A view of a layer in the same transaction.
  ///
  /// - Parameter place: the place of the layer in the branch's record.
  package func view(ofLayer place: Int) throws(StoreError) -> BranchBackend {
    if place == record.layers.count - 1 { return self }
    var record = record
    record.layers.removeSubrange((place + 1)...)
    let horizon = try BranchRecords.horizon(
      of: record.present, branch: name, StorageTransaction(lookingInto: inner), tables, horizon.orderedLists)
    return BranchBackend(inner, tables, name: name, record, horizon, isFrozen: true)
  }

  /// The view of the layer that has a snapshot; nil if no layer has it.
  package func view(ofSnapshot name: String) throws(StoreError) -> BranchBackend? {
    for place in record.layers.indices.reversed() {
      let view = try view(ofLayer: place)
      if try Snapshots.find(StorageTransaction(lookingInto: view), tables.store, name) != nil { return view }
    }
    return nil
  }

  /// Records a change of an earlier layer: increments have whole branches that have changed.
  ///
  /// - Parameter removed: the code of a layer that was deleted; nil if the layers stay.
  package func noteChange(removed: UInt32? = nil) {
    if let removed, removed != layer { record.layers.removeAll { $0.code == removed } }
    isChanged = true
  }
}

extension StorageTransaction {
  /// The branch that the transaction, or a snapshot's view of it, is on; nil for a store.
  package var branch: BranchBackend? {
    var next = backend
    while true {
      if let branch = next as? BranchBackend { return branch }
      if let snapshot = next as? SnapshotBackend {
        next = snapshot.inner
      } else if let decorator = next.decorator {
        next = decorator.inner
      } else {
        return nil
      }
    }
  }

  /// Moves a read transaction on a branch to the layer that has a snapshot, if an earlier one has it.
  package mutating func showLayer(ofSnapshot name: String) throws(StoreError) {
    guard let branch, let view = try branch.view(ofSnapshot: name), view !== branch else { return }
    interpose { _ in view }
  }
}

extension Snapshots {
  /// All snapshots of a store, or of all layers of a branch, in the order of creation.
  package static func ofAllLayers(
    _ storage: borrowing StorageTransaction, _ tables: SchemaTables
  ) throws(StoreError) -> [(name: String, value: SnapshotValue)] {
    var found = try all(storage, tables)
    guard let branch = storage.branch, branch.record.layers.count > 1 else { return found }
    for place in branch.record.layers.indices.dropLast() {
      found += try all(StorageTransaction(lookingInto: try branch.view(ofLayer: place)), tables)
    }
    return found.sorted { $0.value.epoch < $1.value.epoch }
  }
}
