import KVCloneBranches
import KVCloneCore
import KVCloneLMDB
import KVCloneRecords

/// The state that a rollback restores: a snapshot, or the base of a branch.
struct RollbackTarget {
  let value: SnapshotValue
  /// The name of the snapshot; nil for the base of a branch.
  let name: String?

  /// The description of the automatic snapshot.
  var userInfo: [String: String] { ["rollback": name ?? "base"] }

  /// Returns the state in a transaction of the store or of the branch.
  ///
  /// - Parameter snapshot: nil for the base of the branch.
  init(_ snapshot: Snapshot?, in session: borrowing Session) throws(StoreError) {
    name = snapshot?.name
    let tables = session.schema.tables
    if let snapshot {
      value = try Snapshots.existing(session.storage, tables, snapshot.name, epoch: snapshot.info.epoch)
      return
    }
    guard let branch = session.storage.branch else { throw Snapshots.notFound("") }
    let base = branch.record.present
    value = try Snapshots.existing(
      StorageTransaction(lookingInto: branch.inner), tables, base.baseName, epoch: base.baseEpoch)
  }

  /// Returns what has the preimages of the state; nil if the transaction itself has them.
  func layer(in storage: borrowing StorageTransaction) throws(StoreError) -> (any StorageBackend)? {
    guard let branch = storage.branch else { return nil }
    guard let name else { return branch.inner }
    let view = try branch.view(ofSnapshot: name)
    return view === branch ? nil : view
  }
}
