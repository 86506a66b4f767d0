import KVCloneBranches
package import KVCloneCore
package import KVCloneRecords

extension Snapshots {
  /// Returns the snapshot with a name, and, if given, with an epoch: the name may have been reused since. On a branch,
  /// all layers are searched.
  package static func existing(
    _ storage: borrowing StorageTransaction, _ tables: SchemaTables, _ name: String, epoch: UInt64? = nil
  ) throws(StoreError) -> SnapshotValue {
    var value = try find(storage, tables, name)
    if value == nil { value = try findInLayers(storage, tables, name) }
    guard let value, epoch == nil || epoch == value.epoch else { throw notFound(name) }
    return value
  }

  /// Returns the snapshot that an earlier layer of a branch has.
  static func findInLayers(
    _ storage: borrowing StorageTransaction, _ tables: SchemaTables, _ name: String
  ) throws(StoreError) -> SnapshotValue? {
    guard let branch = storage.branch, branch.record.layers.count > 1,
      let view = try branch.view(ofSnapshot: name)
    else { return nil }
    return try find(StorageTransaction(lookingInto: view), tables, name)
  }
}
