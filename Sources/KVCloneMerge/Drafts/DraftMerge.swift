import KVClone
import KVCloneBranches
import KVCloneCore
import KVCloneLMDB
import KVCloneModel
import KVCloneRecords

/// The merge of the clones of one copy into their sources.
struct DraftMerge: MergeSubject {
  let store: ObjectStore
  private let clone: ObjectID

  /// - Parameter clone: a clone of the copy.
  init(_ store: ObjectStore, _ clone: ObjectID) {
    self.store = store
    self.clone = clone
  }

  var operation: String { "merge" }
  var keyArguments: [String] { ["draft", String(clone.rawValue)] }

  func branchNumber() -> UInt32? { nil }

  func ours() -> ObjectStore { store }

  func open() throws -> [StorageTable] {
    if let branch = store.engine as? BranchEngine { return branch.tables.all }
    return try store.branches.tables()?.all ?? []
  }

  func states(_ tables: [StorageTable], engine: any StorageBackend, _ view: any StorageBackend) throws -> DraftStates {
    try DraftStates(store, clone, tables, engine: engine, view)
  }

  func plan(_ states: DraftStates, _ options: MergeOptions) throws -> PlannedMerge {
    if !options.keepsClones { try refuseNestedDrafts(states) }
    let sides = states.sides
    var plan = try MergePlanner.plan(
      store.schema, ours: sides.ours, theirs: sides.theirs, options: options,
      scratchDirectory: store.context.scratchDirectory(), clones: states.remainder(keepsClones: options.keepsClones),
      addValues: FollowedValues(states, options.userInfoKeys).add
    ) {
      // Lists outside the draft keep their order (P4).
      states.clones[$0] == nil && !states.inserted.contains($0)
    }
    plan.note(try states.detachClones(in: plan.operations, keepsClones: options.keepsClones))
    return plan
  }

  /// Refuses to delete clones of which drafts were made (P6). Expired drafts cannot be merged anyway.
  private func refuseNestedDrafts(_ states: DraftStates) throws {
    let session = states.session
    for base in try CloneBase.all(in: session) where base.number != states.base.number && !base.isExpired() {
      let open = try base.openCopies(in: session)
      if open.isEmpty { continue }
      var found: ObjectID?
      try base.forEachClone(in: session) { (clone, entry) throws(StoreError) in
        guard let copy = entry.draft?.copy, open.contains(Int(copy)) else { return true }
        if states.sources[entry.source] != nil { found = clone }
        return found == nil
      }
      guard let found else { continue }
      let name = try session.name(of: found)
      throw MergeError(
        .draftInUse,
        "the merge would delete clones of which another draft exists, with \(name); merge or delete that draft first, "
          + "or keep the clones",
        object: name)
    }
  }

  func write(
    _ plan: PlannedMerge, _ states: DraftStates, _ options: MergeOptions, _ monitor: MergeMonitor,
    in transaction: inout WriteTransaction
  ) throws -> WrittenMerge {
    var written = WrittenMerge()
    if options.createsSnapshots {
      written.snapshots.append(
        try SnapshotManager.change(in: &transaction) { (manager) throws(StoreError) in
          try manager.createBeforeMerge(options, ["merge": operation, "base": states.base.name])
        })
    }
    try apply(plan, states, options, monitor, in: &transaction)
    // With a snapshot, the base stays until expired ones are deleted, so that the merge can be repeated after a
    // rollback (M16).
    if !options.createsSnapshots {
      let base = states.base
      transaction.session.state.completions.append { session in try base.deleteIfAbandoned(in: &session) }
    }
    return written
  }

  func isMoving(_ plan: PlannedMerge, _ states: DraftStates) -> Bool { true }

  /// Inserted sources take the place of their clones.
  func growth(_ plan: PlannedMerge) -> Int { 0 }

  func show(
    _ plan: PlannedMerge, _ states: DraftStates, _ options: MergeOptions,
    _ body: (borrowing WriteTransaction) throws -> Void
  ) throws {
    let monitor = MergeMonitor(nil)
    try states.preview({ try apply(plan, states, options, monitor, in: &$0) }, body)
  }

  private func apply(
    _ plan: PlannedMerge, _ states: DraftStates, _ options: MergeOptions, _ monitor: MergeMonitor,
    in transaction: inout WriteTransaction
  ) throws {
    // A clone takes the place of a source that was deleted (P5).
    var (restored, taken) = (ObjectSet(), ObjectSet())
    plan.changes.inserted.forEach { source in
      guard let clone = states.clones[source] else { return true }
      _ = restored.insert(source)
      _ = taken.insert(clone)
      return true
    }
    try plan.naming(
      restored, states.clones, keeping: options.keepsClones ? states.sources.keys : ObjectSet(), states.session,
      ScratchSpace(directory: store.context.scratchDirectory())
    ).apply(monitor, from: states.session, base: states.baseSession, in: &transaction)
    try transaction.changeObjects { (session) throws(StoreError) in
      try taken.forEach { (clone) throws(StoreError) in
        try CloneBase.release(clone, in: &session)
        return true
      }
      if options.keepsClones {
        try states.base.release(copy: states.copy, in: &session)
      } else {
        _ = try ObjectDeletion.deleteAll(states.presentClones(besides: taken), validatesAll: true, in: &session)
      }
    }
  }
}
