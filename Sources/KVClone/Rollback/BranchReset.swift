import KVCloneBranches
package import KVCloneCore
import KVCloneModel
import KVCloneRecords

/// A rollback of a whole branch to its base, or to a snapshot that an earlier layer has: the branch gets a new layer
/// over the base of that state.
struct BranchReset {
  /// The store that the branch is of.
  private let store: ObjectStore
  private let branch: ObjectStore
  private let name: String
  /// The target; nil for the base.
  private let snapshot: Snapshot?
  private let timeout: Duration?

  /// - Returns: nil for a snapshot that the present layer of a branch has, or for a store.
  init?(_ branch: ObjectStore, _ snapshot: Snapshot?, _ timeout: Duration?) throws(StoreError) {
    guard let parent = branch.parent, let engine = branch.engine as? BranchEngine else { return nil }
    if let snapshot {
      let session = try branch.readSession()
      let present = session.storage.branch
      guard let layer = try present?.view(ofSnapshot: snapshot.name), layer !== present else { return nil }
    }
    store = parent
    self.branch = branch
    name = engine.name
    self.snapshot = snapshot
    self.timeout = timeout
  }

  func run(_ dryRun: RollbackDryRun?) throws -> RollbackResult {
    let retention = branch.options.snapshotRetention
    let result = try retryIfMapFull(times: 2) {
      dryRun?.reasons = PlanReasons()
      let label = dryRun == nil ? "rollback" : "rollback plan"
      return try store.runWrite(label: label, timeout: timeout, dryRun: dryRun?.reasons) { tx in
        tx.operation = "rollback"
        return try tx.change { session in
          try BranchManager.own(&session) { manager in
            let (tally, automatic) = try manager.reset(name, to: snapshot, of: branch)
            dryRun?.tally = tally
            try manager.write(onBranch: name) { session in
              try SnapshotManager.own(&session) { (snapshots) throws(StoreError) in
                try snapshots.deleteSuperfluous(retention, sparing: snapshot?.name)
              }
            }
            return tally.result(automatic)
          }
        }
      }
    }
    if dryRun == nil { branch.commitSignal.noteCommit() }
    return result
  }
}

extension BranchManager {
  /// Rolls a whole branch back by giving it a new layer.
  ///
  /// - Parameter snapshot: nil for the base.
  fileprivate mutating func reset(_ name: String, to snapshot: Snapshot?, of store: ObjectStore) throws
    -> (tally: RollbackTally, automatic: SnapshotInfo)
  {
    let (target, automatic) = try write(onBranch: name) { session in
      let target = try RollbackTarget(snapshot, in: session)
      _ = try StoreSnapshots(store).schemas.requireSameModel(target.value, session)
      let automatic = try SnapshotManager.own(&session) { (snapshots) throws(StoreError) in
        try snapshots.createAutomatic("rollback", userInfo: target.userInfo)
      }
      return (target, automatic)
    }
    let tables = try BranchTables(creatingIn: &session.storage, session.schema.tables)
    let old = try BranchRecords.existing(session.storage, tables, name)
    let new = try moveLayer(of: name, old, tables, to: target)
    // The automatic snapshot keeps the old layer.
    let context = session.context
    let before = context.session(
      StorageTransaction(lookingInto: try view(of: old, name, tables, isFrozen: true)), session.schema)
    let present = try view(of: new, name, tables)
    let after = context.session(StorageTransaction(lookingInto: present), session.schema)
    let changes = try SnapshotComparison.changes(
      between: old.present, new.present, of: present, automatic.value, after)
    var tally = RollbackTally()
    try write(onBranch: name) { session in
      var restored = (inserted: ObjectSet(), updated: ObjectSet())
      for root in session.schema.rootCodes {
        var next = changes.objects.set(rootCode: root)?.next(from: 0)
        while let serial = next {
          let id = ObjectID(rootCode: root, serial: serial)
          next = changes.objects.set(rootCode: root)?.next(from: serial + 1)
          guard let difference = try SnapshotComparison.difference(id, after, before, changes) else { continue }
          tally.note(difference)
          switch difference.kind {
          case .inserted: try HistoryWriter.noteDeletion(id, of: before, in: &session)
          case .deleted: _ = restored.inserted.insert(id)
          case .updated:
            _ = restored.updated.insert(id)
            try difference.noteUpdate(in: &session)
          }
        }
      }
      session.state.history?.noteRecreated(restored.inserted)
      guard target.value.isUnfinished, target.name != nil else { return }
      (session.changes.inserted, session.changes.updated) = restored
      let issues = try ObjectValidation.issues(in: session)
      guard issues.isEmpty else { throw ValidationError(issues: issues) }
    }
    tally.replacedByteCount = old.byteCount
    return (tally, automatic.info)
  }

  /// Replaces the layer of a branch by one that shows an earlier state.
  private mutating func moveLayer(
    of name: String, _ old: BranchValue, _ tables: BranchTables, to target: RollbackTarget
  ) throws(StoreError) -> BranchValue {
    var source: BranchBackend?
    if let snapshot = target.name { source = try view(of: old, name, tables).view(ofSnapshot: snapshot) }
    let base = source?.record.present ?? old.present
    try SnapshotManager.own(&session) { (snapshots) throws(StoreError) in
      try snapshots.addLayer(base.baseName, epoch: base.baseEpoch)
    }
    let value = try Snapshots.existing(
      session.storage, session.schema.tables, base.baseName, epoch: base.baseEpoch)
    let counts = try SnapshotObjectCounts.of(value, in: session)
    let layer = BranchValue.Layer(
      code: try nextNumbers(1), baseEpoch: base.baseEpoch, baseName: base.baseName)
    return try replaceLayer(of: name, old, tables, with: layer, counts) { (session, _, new) throws(StoreError) in
      guard let source else { return }
      let schema = session.schema
      let past = SnapshotBackend(
        source, preimages: schema.tables.preimages, SnapshotHorizon(target.value, schema.orderedLists))
      var filling = LayerFilling(past, into: new, session)
      let storage = StorageTransaction(lookingInto: source.inner)
      try LayerKeys(tables, layer: base.code).forEach(in: storage) { (table, key) throws(StoreError) in
        try filling.copy(table, key)
      }
      try filling.finish()
    }
  }
}

extension SnapshotDifference {
  /// Records the changed properties of the object in the history.
  package func noteUpdate(in session: inout Session) throws(StoreError) {
    if session.state.history == nil { return }
    let entity = try session.entity(of: id)
    for attribute in attributes {
      guard let known = entity.attributes.first(where: { $0.path == attribute.name }) else { continue }
      session.state.history?.noteUpdate(id, property: known.code)
    }
    for relationship in relationships {
      guard let known = entity.relationships.first(where: { $0.name == relationship.name }) else { continue }
      session.state.history?.noteUpdate(id, property: known.code)
    }
  }
}
