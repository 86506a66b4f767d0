import KVClone
import KVCloneBranches
import KVCloneCore
import KVCloneModel
import KVCloneRecords

/// Records in the history of a branch what a publish changes on it (B7): the differences from the branch before to the
/// branch after the publish, whichever side, hook or delete rule made them. So the history has one entry per commit.
struct BranchAnnouncement {
  private var changes: SnapshotComparison.Changes
  private let keys: LayerKeys

  /// - Parameter store: a session of the transaction that publishes, before the base of the branch moves. The changes
  ///   of its snapshots are in the database.
  /// - Throws: `branchNotFound`, `corrupted`.
  init(_ name: String, _ tables: BranchTables, in store: borrowing Session) throws(StoreError) {
    let schema = store.schema
    let layer = try BranchRecords.existing(store.storage, tables, name).present
    let base = try Snapshots.existing(store.storage, schema.tables, layer.baseName, epoch: layer.baseEpoch)
    var changes = try SnapshotComparison.changes(in: layer.baseEpoch..<(.max), base, store)
    try ObjectSet.inserted(since: changes.horizon, in: store).forEach { id in
      _ = changes.objects.insert(id)
      return true
    }
    self.changes = changes
    keys = LayerKeys(tables, layer: layer.code)
    try noteKeys(in: store.storage)
  }

  /// Notes the entries of the branch in another transaction: one that it had before, and has no more, leaves nothing.
  mutating func noteKeys(in storage: borrowing StorageTransaction) throws(StoreError) {
    try keys.forEach(in: storage) { (table, key) throws(StoreError) in
      // The base does not see the objects that were inserted on the branch.
      if table.rootCode != nil, let id = try? NumberKey.objectID(key.span.bytes) { _ = changes.objects.insert(id) }
      changes.note(table, key)
    }
    changes.sortChunks()
  }

  /// Records the differences.
  ///
  /// - Parameters:
  ///   - before: a session on the branch before the publish.
  ///   - after: a session on what the branch shows after the publish.
  ///   - branch: the session that writes the history.
  func note(
    from before: borrowing Session, to after: borrowing Session, in branch: inout Session
  ) throws(StoreError) {
    var windows = ReadWindows(branch.storage)
    for rootCode in branch.schema.rootCodes.sorted() {
      let objects = changes.objects.set(rootCode: rootCode)
      var next = objects?.next(from: 0)
      while let serial = next {
        next = objects?.next(from: serial + 1)
        windows.next()
        let id = ObjectID(rootCode: rootCode, serial: serial)
        guard let difference = try SnapshotComparison.difference(id, before, after, changes) else { continue }
        switch difference.kind {
        case .inserted: branch.state.history?.noteInserts(from: id, count: 1)
        case .updated: try difference.noteUpdate(in: &branch)
        case .deleted: try HistoryWriter.noteDeletion(id, of: before, in: &branch)
        }
      }
    }
  }
}
