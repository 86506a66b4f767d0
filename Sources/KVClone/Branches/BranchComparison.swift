import KVCloneBranches
package import KVCloneCore
package import KVCloneModel
import KVCloneRecords

/// Finds the objects that differ between a branch and its base, or its store, in one read transaction.
package struct BranchComparison: Sendable {
  /// The state that a branch is compared with.
  package enum Origin: Sendable {
    /// The base of the branch.
    case base
    /// The present state of the store.
    case store
  }

  private let store: ObjectStore
  private let branch: BranchEngine

  /// - Returns: nil for a store, which is no branch.
  package init?(_ branch: ObjectStore) {
    guard let store = branch.parent, let engine = branch.engine as? BranchEngine else { return nil }
    (self.store, self.branch) = (store, engine)
  }

  /// The number of the branch, which is never reused.
  package var number: UInt32 { branch.number }

  /// Returns the base of the branch, as a snapshot of the store. It may have a name that no call accepts.
  ///
  /// - Throws: `branchNotFound`, `corrupted`.
  package func base() throws(StoreError) -> Snapshot {
    let session = try store.readSession()
    let layer = try record(session).present
    let value = try Snapshots.existing(session.storage, session.schema.tables, layer.baseName, epoch: layer.baseEpoch)
    return Snapshot(
      SnapshotInfo(layer.baseName, value, modelVersion: session.schema.model.versionIdentifier), store)
  }

  /// Calls `body` with the objects that differ, from the state of `origin` to the branch, in ascending order of ids,
  /// until it returns false.
  ///
  /// The duration depends on the changes of the branch, and on those of the store since the base if `origin` is the
  /// store.
  ///
  /// - Parameters:
  ///   - after: the id after which to begin; nil for all objects.
  ///   - isCancelled: called before each object.
  /// - Throws: `branchNotFound`, `corrupted`; `cancelled` once `isCancelled` returns true.
  package func forEach(
    from origin: Origin, after: ObjectID? = nil, isCancelled: () -> Bool = { false },
    _ body: (SnapshotDifference) throws -> Bool
  ) throws {
    try read(origin, nil, isCancelled) { (old, new, changes) in
      // One for both states, which are views of the same transaction.
      var windows = ReadWindows(new.storage)
      for rootCode in new.schema.rootCodes.sorted() where rootCode >= after?.rootCode ?? 0 {
        var next = changes.objects.set(rootCode: rootCode)?.next(
          from: rootCode == after?.rootCode ? (after?.serial ?? 0) + 1 : 0)
        while let serial = next {
          if isCancelled() { throw SnapshotComparison.cancelled }
          windows.next()
          let id = ObjectID(rootCode: rootCode, serial: serial)
          if let difference = try SnapshotComparison.difference(id, old, new, changes), try !body(difference) { return }
          next = changes.objects.set(rootCode: rootCode)?.next(from: serial + 1)
        }
      }
    }
  }

  /// Returns the difference of one object, from the state of `origin` to the branch; nil if it is equal in both.
  ///
  /// - Throws: `branchNotFound`, `corrupted`.
  package func difference(of id: ObjectID, from origin: Origin) throws -> SnapshotDifference? {
    try read(origin, id, { false }) { (old, new, changes) in try SnapshotComparison.difference(id, old, new, changes) }
  }

  // MARK: States

  /// Calls `body` with both states, and the changes of each since the base.
  ///
  /// - Parameter only: the object with the lists to be searched; nil for all objects.
  private func read<Result>(
    _ origin: Origin, _ only: ObjectID?, _ isCancelled: () -> Bool,
    _ body: (borrowing Session, borrowing Session, SnapshotComparison.Changes) throws -> Result
  ) throws -> Result {
    let present = try store.readSession()
    let schema = present.schema
    let record = try record(present)
    let layer = record.present
    let base = try Snapshots.existing(present.storage, schema.tables, layer.baseName, epoch: layer.baseEpoch)
    let horizon = SnapshotHorizon(base, schema.orderedLists)
    let inner = present.storage.backend
    let shown = BranchBackend(inner, branch.tables, name: branch.name, record, horizon)
    let new = view(shown)
    var changes = SnapshotComparison.Changes(horizon: horizon)
    if origin == .store { changes = try ofStore(base, only, present, isCancelled) }
    try addChanges(of: layer, only, to: &changes, present, isCancelled)
    switch origin {
    case .base: return try body(view(SnapshotBackend(inner, preimages: schema.tables.preimages, horizon)), new, changes)
    case .store: return try body(present, new, changes)
    }
  }

  private func view(_ backend: any StorageBackend) -> Session {
    store.context.session(StorageTransaction(lookingInto: backend), store.schema)
  }

  /// The changes of the store since the base.
  private func ofStore(
    _ base: SnapshotValue, _ only: ObjectID?, _ session: borrowing Session, _ isCancelled: () -> Bool
  ) throws(StoreError) -> SnapshotComparison.Changes {
    if let only { return try SnapshotComparison.changes(of: only, base, session) }
    var changes = try SnapshotComparison.changes(in: base.epoch..<UInt64.max, base, session, isCancelled)
    for rootCode in session.schema.rootCodes {
      var next: UInt64? = changes.horizon.firstLater(rootCode: rootCode).serial
      while let start = next {
        if isCancelled() { throw SnapshotComparison.cancelled }
        let batch = try SnapshotComparison.objects(rootCode, from: start, session)
        for (id, _) in batch { _ = changes.objects.insert(id) }
        next = batch.last.map { $0.id.serial + 1 }
      }
    }
    return changes
  }

  /// Adds the objects and chunks with entries in a layer.
  private func addChanges(
    of layer: BranchValue.Layer, _ only: ObjectID?, to changes: inout SnapshotComparison.Changes,
    _ session: borrowing Session, _ isCancelled: () -> Bool
  ) throws(StoreError) {
    var prefix = OverlayKey.prefix(layer.code)
    if let only {
      prefix = OverlayKey.encode(layer: layer.code, table: .links, key: ShortKey.linkPrefix(owner: only).bytes)
    }
    var count = 0
    try session.storage.scan(branch.tables.overlays, within: prefix.span.bytes) { (key, _) throws(StoreError) in
      count += 1
      if count.isMultiple(of: 1024), isCancelled() { throw SnapshotComparison.cancelled }
      guard let table = try? OverlayKey.table(of: key), let inner = try? OverlayKey.key(of: key) else { return true }
      if table.rootCode != nil, let id = try? NumberKey.objectID(inner) {
        _ = changes.objects.insert(id)
      } else if table == .links, let link = try? LinkKey(inner) {
        _ = changes.objects.insert(link.owner)
        changes.note(table, inner.withUnsafeBytes { Array($0) })
      }
      return true
    }
    changes.sortChunks()
  }

  private func record(_ session: borrowing Session) throws(StoreError) -> BranchValue {
    try BranchRecords.existing(session.storage, branch.tables, branch.name, number: branch.number)
  }
}
