package import KVCloneCore
package import KVCloneRecords

extension Snapshots {
  /// Returns the snapshot with a name, and, if given, with an epoch: the name may have been reused since.
  package static func existing(
    _ storage: borrowing StorageTransaction, _ tables: SchemaTables, _ name: String, epoch: UInt64? = nil
  ) throws(StoreError) -> SnapshotValue {
    guard let value = try find(storage, tables, name), epoch == nil || epoch == value.epoch else {
      throw notFound(name)
    }
    return value
  }
}
