package import KVCloneCore
package import KVCloneRecords

extension Snapshots {
  /// The snapshot with a name, and, where it is known, of an epoch: another one may have the name by now.
  package static func existing(
    _ storage: borrowing StorageTransaction, _ tables: SchemaTables, _ name: String, epoch: UInt64? = nil
  ) throws(StoreError) -> SnapshotValue {
    guard let value = try find(storage, tables, name), epoch == nil || epoch == value.epoch else {
      throw notFound(name)
    }
    return value
  }
}
