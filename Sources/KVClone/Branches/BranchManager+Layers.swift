import KVCloneBranches
package import KVCloneCore
import KVCloneModel
import KVCloneRecords

/// Moves branches to other bases, in a write transaction of the store.
extension BranchManager {
  /// Calls `body` with a session on a branch, over the transaction of the store, which must not be written meanwhile.
  ///
  /// - Parameter branch: the branch, as its store opens it.
  package mutating func write<R>(on branch: ObjectStore, _ body: (inout Session) throws -> R) throws -> R {
    let (name, tables) = try open(branch)
    let record = try BranchRecords.existing(session.storage, tables, name)
    let backend = try view(record, record.present, name, tables)
    var inner = branch.writeContext.session(
      StorageTransaction(lookingInto: backend), branch.schema, commit: session.commit)
    try inner.beginWrite(author: session.state.author)
    inner.state.operation = session.state.operation
    let result = try body(&inner)
    try inner.storage.recorder?.flush()
    try backend.finish()
    session.changes.isEmpty = false
    return result
  }

  /// Moves a branch to the present state of the store: its base becomes a new hidden snapshot, and its new layer is empty
  /// except for what `fill` writes. The old layer is deleted, unless snapshots of the branch are in it.
  ///
  /// It is called at the commit: the transaction changes the store no more.
  ///
  /// - Parameter fill: gets the branch as it was, and a session on the new layer, without hooks, history and limits.
  package mutating func rebase(
    _ branch: ObjectStore, _ fill: ((borrowing Session, inout Session) throws -> Void)? = nil
  ) throws {
    let (name, tables) = try open(branch)
    var record = try BranchRecords.existing(session.storage, tables, name)
    let (before, old) = (record, record.present)
    let code = try nextLayer()
    let (base, counts) = try makeBase(nil, layer: code)
    try Metadata.put(
      &session.storage, session.schema.tables.metadata, MetadataKey.layer, CounterValue(UInt64(code)))
    record.layers.append(.init(code: code, baseEpoch: base.value.epoch, baseName: base.name))
    (record.entryCount, record.byteCount, record.changedObjectCount) = (0, 0, 0)
    record.objectCounts = counts
    if let fill {
      let past = branch.context.session(
        StorageTransaction(lookingInto: try view(before, old, name, tables)), branch.schema)
      let backend = try view(record, record.present, name, tables)
      var inner = branch.context.session(
        StorageTransaction(lookingInto: backend), branch.schema, commit: session.commit)
      try fill(past, &inner)
      try inner.settle()
      try DerivedRefresh.refreshAll(in: &inner)
      record = backend.currentRecord
    }
    record.lastCommit = session.commit
    if try !hasSnapshots(old.code, tables) {
      record.layers.removeAll { $0.code == old.code }
      try BranchRecords.put(record, name, tables, in: &session.storage)
      try delete(old, tables)
    }
    try BranchRecords.put(record, name, tables, in: &session.storage)
    session.changes.isEmpty = false
  }

  /// Deletes a layer with its entries, and lets its base go.
  mutating func delete(_ layer: BranchValue.Layer, _ tables: BranchTables) throws(StoreError) {
    try deleteEntries(under: layer.code, tables)
    try SnapshotManager.own(&session) { (snapshots) throws(StoreError) in
      try snapshots.removeLayer(layer.baseName, epoch: layer.baseEpoch)
    }
  }

  /// The name and the tables of an open branch.
  private mutating func open(_ branch: ObjectStore) throws(StoreError) -> (name: String, tables: BranchTables) {
    guard let engine = branch.engine as? BranchEngine else {
      throw StoreError(.unsupportedOnBranch, "the store is no branch; pass a branch of the store")
    }
    let tables = try BranchTables(creatingIn: &session.storage, session.schema.tables)
    return (engine.name, tables)
  }

  /// A view of one of a branch's layers over the transaction, without the recorder of the store: a branch writes tables
  /// that no snapshot of the store shows.
  private borrowing func view(
    _ record: BranchValue, _ layer: BranchValue.Layer, _ name: String, _ tables: BranchTables
  ) throws(StoreError) -> BranchBackend {
    let horizon = try BranchRecords.horizon(
      of: layer, branch: name, session.storage, tables, session.schema.orderedLists)
    return BranchBackend(
      session.storage.recorder?.inner ?? session.storage.backend, tables, name: name, record, horizon)
  }

  /// Whether a layer has snapshots of its branch.
  private borrowing func hasSnapshots(_ layer: UInt32, _ tables: BranchTables) throws(StoreError) -> Bool {
    let first = OverlayKey.encode(layer: layer, table: .snapshots, key: [UInt8]().span.bytes)
    guard let entry = try session.storage.seek(tables.overlays, first.span.bytes, .atOrAfter) else { return false }
    return OverlayKey.isOf(layer: layer, table: .snapshots, unsafePointers(entry.key))
  }
}
