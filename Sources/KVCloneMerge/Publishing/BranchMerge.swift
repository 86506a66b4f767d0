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
    let tables = try store.branches.existingTables(name)
    let session = try store.readSession()
    let backend = session.storage.backend
    let states = try BranchStates(store, name, tables, engine: backend, backend)
    let planned = try planned(states)
    let sides = states.sides(direction)
    let byteCount = planned.estimatedByteCount
    return MergePlan(
      planned, changes: try planned.changes(sides, limit: options.listedChanges), bytesWritten: byteCount,
      lockDuration: pace.clones.lockDuration(objects: planned.operations.count, written: byteCount)
    ) { [self] body in try MergePreview(self, planned, commit: states.commit).read(body) }
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
        let planned = number < 3 ? try planWithoutLock(tables) : nil
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

  private func planWithoutLock(_ tables: BranchTables) throws -> (commit: UInt64, plan: PlannedMerge) {
    let session = try store.readSession()
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
      result.snapshots = try publish(plan, states, in: &transaction)
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

  private var userInfo: [String: String] { ["merge": direction.rawValue, "branch": name] }

  /// Carries the plan out on the store, and empties the branch.
  ///
  /// - Returns: the names of the automatic snapshots.
  private func publish(_ plan: PlannedMerge, _ states: BranchStates, in transaction: inout WriteTransaction) throws
    -> [String]
  {
    var snapshots: [String] = []
    if options.createsSnapshots {
      let (userInfo, limit) = (userInfo, options.retainedSnapshots)
      snapshots.append(
        try SnapshotManager.change(in: &transaction) { (manager) throws(StoreError) in
          try manager.createBeforeMerge(userInfo: userInfo, keeping: limit)
        })
      snapshots.append(
        try BranchManager.change(in: &transaction) { (manager) throws(StoreError) in
          try manager.createAutomaticSnapshot(ofBranch: name)
        })
    }
    try apply(plan, states.theirs(direction), in: &transaction)
    // After hooks, so that what they change is part of the merged state.
    transaction.session.state.completions.append { [name] session in
      _ = try BranchManager.own(&session) { (manager) throws(StoreError) in try manager.rebaseEmpty(name) }
    }
    return snapshots
  }

  private func update(
    _ plan: PlannedMerge, _ states: BranchStates, _ branch: ObjectStore, in transaction: inout WriteTransaction
  ) throws -> ([String], PreparedCommit?) {
    try transaction.change { session in
      try BranchManager.own(&session) { manager in
        var snapshots: [String] = []
        if options.createsSnapshots { snapshots.append(try manager.createAutomaticSnapshot(ofBranch: name)) }
        var announcement: PreparedCommit?
        try manager.write(onBranch: name) { session in
          try MergeTransaction.own(&session) { ours in
            try apply(plan, states.theirs(direction), in: &ours.transaction)
            announcement = try ours.transaction.prepareCommit(branch)
          }
        }
        _ = try manager.rebaseKeepingChanges(name)
        return (snapshots, announcement)
      }
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
