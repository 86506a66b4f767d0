import KVClone
import KVCloneBranches
import KVCloneCore
import KVCloneModel
import KVCloneRecords

/// A merge of a branch and its store, or the plan of one.
struct BranchMerge: Sendable {
  enum Direction: String, Sendable {
    /// The branch's changes into the store.
    case publish
    /// The store's changes into the branch.
    case update
  }

  let store: ObjectStore
  let name: String
  let direction: Direction
  let options: MergeOptions
  private let only: [ObjectID]?
  private let monitor: MergeMonitor

  init(
    _ store: ObjectStore, _ name: String, _ direction: Direction, only: [ObjectID]?, _ options: MergeOptions
  ) {
    self.store = store
    self.name = name
    self.direction = direction
    self.only = only
    self.options = options
    monitor = MergeMonitor(options.progress)
  }

  private var pace: MergePace { store.schema.attachments.value(of: MergePace.self) }

  // MARK: Planning

  func plan() throws -> MergePlan {
    // Before the transaction begins: opening tables waits for writers.
    let tables = try store.branches.existingTables(name)
    return try plan(over: store.readSession(), tables)
  }

  private func plan(over session: borrowing Session, _ tables: BranchTables) throws -> MergePlan {
    let backend = session.storage.backend
    let states = try BranchStates(store, name, tables, engine: backend, backend)
    let planned = try planned(states)
    let sides = states.sides(direction)
    let byteCount = planned.estimatedByteCount
    return MergePlan(
      planned, changes: try planned.changes(sides, limit: options.listedChanges), bytesWritten: byteCount,
      lockDuration: pace.clones.lockDuration(objects: planned.operations.count, written: byteCount)
    ) { [self, commit = states.commit] body in try MergePreview(self, planned, commit: commit).read(body) }
  }

  private func planned(_ states: BranchStates) throws -> PlannedMerge {
    monitor.report(.mark, 0, of: nil)
    let sides = states.sides(direction)
    return try MergePlanner.plan(store.schema, ours: sides.ours, theirs: sides.theirs, options: options)
  }

  // MARK: Merging

  func run() throws -> MergeResult {
    let start = ContinuousClock.now
    let tables = try store.branches.existingTables(name)
    let key = try MergeKey([direction.rawValue, name], only, options)
    return try retryIfMapFull {
      if let key, let known = try key.result(in: store.readSession()) { return known }
      // The plan is made without the lock. If another transaction has committed before the lock is taken, it is
      // repeated; the last time under the lock, so that busy writers cannot delay a merge for ever.
      for number in 1...3 {
        let planned = number < 3 ? try mergeable(over: store.readSession(), tables) : nil
        if var result = try merge(planned, key, tables) {
          result.duration = .now - start
          return result
        }
      }
      throw MergeError(.cancelled, "the merge gave up after repeated write conflicts; retry")
    }
  }

  /// Merges on the writer thread. Cancelling the task cancels the merge.
  func runOnWriterThread() async throws -> MergeResult {
    try await withTaskCancellationHandler {
      try await store.onWriterQueue { try run() }
    } onCancel: {
      monitor.cancel()
    }
  }

  private func mergeable(over session: borrowing Session, _ tables: BranchTables) throws
    -> (commit: UInt64, plan: PlannedMerge)
  {
    let backend = session.storage.backend
    let states = try BranchStates(store, name, tables, engine: backend, backend)
    let plan = try planned(states)
    try plan.requireMergeable()
    try plan.requireLimits(of: options)
    return (states.commit, plan)
  }

  /// Merges in one transaction of the store. Returns nil if the plan is outdated.
  private func merge(_ known: (commit: UInt64, plan: PlannedMerge)?, _ key: MergeKey?, _ tables: BranchTables) throws
    -> MergeResult?
  {
    try monitor.check(.wait, 0, of: nil)
    var transaction = WriteTransaction(try store.writeSession(label: "merge"))
    transaction.operation = direction.rawValue
    let locked = ContinuousClock.now
    if let key, let known = try key.result(in: transaction.session) { return known }
    if let known, transaction.session.commit != known.commit + 1 { return nil }
    let view = transaction.session.storage.backend
    let engine = transaction.session.storage.recorder?.inner ?? view
    let states = try BranchStates(store, name, tables, engine: engine, view)
    let plan: PlannedMerge
    if let known {
      plan = known.plan
    } else {
      plan = try planned(states)
      try plan.requireMergeable()
      try plan.requireLimits(of: options)
    }
    var result = MergeResult(counts: plan.counts, resolved: plan.conflicts, snapshots: [], duration: .zero)
    // Without changes of either side there is nothing to move.
    if !states.moves(direction) { return result }
    let branch = try store.branches.open(name)
    let announcement: PreparedCommit?
    switch direction {
    case .publish:
      result.snapshots = try publish(plan, states, branch, in: &transaction)
      announcement = nil
    case .update:
      (result.snapshots, announcement) = try update(plan, states, branch, in: &transaction)
    }
    if let key { try transaction.change { session in try key.store(result, in: &session) } }
    let total = plan.operations.count
    try monitor.check(.commit, 0, of: total)
    let written = ContinuousClock.now
    try transaction.commit(store)
    branch.commitSignal.noteCommit()
    announcement?.announce(branch)
    if known != nil {
      pace.clones.note(
        objects: total, written: plan.estimatedByteCount, writing: written - locked, commit: .now - written)
    }
    monitor.report(.commit, total, of: total)
    return result
  }

  /// Carries the plan out on the store, and empties the branch.
  ///
  /// - Returns: the names of the automatic snapshots.
  private func publish(
    _ plan: PlannedMerge, _ states: BranchStates, _ branch: ObjectStore, in transaction: inout WriteTransaction
  ) throws -> [String] {
    var snapshots: [String] = []
    if options.createsSnapshots {
      snapshots.append(
        try SnapshotManager.change(in: &transaction) { (manager) throws(StoreError) in
          try createSnapshot(&manager)
        })
      snapshots.append(
        try transaction.change { session in
          try BranchManager.own(&session) { manager in try createSnapshot(of: branch, &manager) }
        })
    }
    try apply(plan, states.theirs(direction), in: &transaction)
    // After hooks, so that what they change is part of the merged state.
    transaction.session.state.completions.append { session in
      try BranchManager.own(&session) { manager in
        try announce(states, to: branch, &manager)
        try manager.rebase(branch)
      }
    }
    return snapshots
  }

  /// Carries the plan out on the branch, and moves its base to the state of the store.
  private func update(
    _ plan: PlannedMerge, _ states: BranchStates, _ branch: ObjectStore, in transaction: inout WriteTransaction
  ) throws -> ([String], PreparedCommit?) {
    try transaction.change { session in
      try BranchManager.own(&session) { manager in
        var snapshots: [String] = []
        if options.createsSnapshots { snapshots.append(try createSnapshot(of: branch, &manager)) }
        var announcement: PreparedCommit?
        try manager.write(on: branch) { session in
          try MergeTransaction.own(&session) { ours in
            try apply(plan, states.theirs(direction), in: &ours.transaction)
            announcement = try ours.transaction.prepareCommit(branch)
          }
        }
        try manager.rebase(branch) { merged, fresh in try keepDifferences(states, merged, in: &fresh) }
        return (snapshots, announcement)
      }
    }
  }

  private func createSnapshot(_ manager: inout SnapshotManager) throws(StoreError) -> String {
    try manager.createBeforeMerge(
      userInfo: ["merge": direction.rawValue, "branch": name], keeping: options.retainedSnapshots)
  }

  private func createSnapshot(of branch: ObjectStore, _ manager: inout BranchManager) throws -> String {
    try manager.write(on: branch) { session in
      try SnapshotManager.own(&session) { (manager) throws(StoreError) in try createSnapshot(&manager) }
    }
  }

  /// Writes what differs between the store and the merged state of the branch: the merge of both over the state of the
  /// store, which has no conflicts.
  private func keepDifferences(_ states: BranchStates, _ merged: borrowing Session, in fresh: inout Session) throws {
    func state(_ session: borrowing Session) -> SessionMergeState {
      SessionMergeState(
        store.context.session(StorageTransaction(lookingInto: session.storage), session.schema))
    }
    let (present, branch) = (state(fresh), state(merged))
    let changed = try states.allChanged(with: merged.storage)
    let plan = try MergePlanner.plan(
      store.schema, ours: MergeSideStates(base: present, now: present, changed: ObjectSet()),
      theirs: MergeSideStates(base: present, now: branch, changed: changed), options: MergeOptions(policy: .theirs))
    try MergeApplication.own(&fresh) { application in try application.apply(plan, from: merged, monitor) }
    for case .delete(let ids) in plan.operations { _ = try ObjectDeletion.deleteAll(ObjectSet(ids), in: &fresh) }
  }

  /// Records in the history of the branch that a publish changed its content (B7).
  private func announce(_ states: BranchStates, to branch: ObjectStore, _ manager: inout BranchManager) throws {
    try manager.write(on: branch) { session in
      guard session.state.history != nil else { return }
      try states.noteChangesOfStore(in: &session)
      try HistoryWriter.finish(in: &session)
    }
  }

  func apply(
    _ plan: PlannedMerge, _ theirs: borrowing Session, in transaction: inout WriteTransaction
  ) throws {
    try transaction.change { session in
      try MergeApplication.own(&session) { application in try application.apply(plan, from: theirs, monitor) }
    }
    for case .delete(let ids) in plan.operations {
      try transaction.validateDelete(ObjectSet(ids))
      _ = try transaction.delete(ids)
    }
  }
}

/// The recent speed of merges in this process.
private final class MergePace: Attachment {
  let clones = ClonePace()
}
