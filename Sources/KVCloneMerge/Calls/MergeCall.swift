import KVClone
import KVCloneCore
import KVCloneModel
import KVCloneRecords

/// A merge in a transaction of its own, or the plan of one.
struct MergeCall<Subject: MergeSubject>: Sendable {
  private let subject: Subject
  private let options: MergeOptions
  private let monitor: MergeMonitor

  init(_ subject: Subject, _ options: MergeOptions) {
    self.subject = subject
    self.options = options
    monitor = MergeMonitor(options.progress)
  }

  private var store: ObjectStore { subject.store }
  private var pace: MergePace { store.schema.attachments.value(of: MergePace.self) }

  // MARK: Planning

  func plan() throws -> MergePlan {
    // Before the transaction begins: opening tables waits for writers.
    let context = try subject.open()
    return try plan(over: store.readSession(), context)
  }

  private func plan(over session: borrowing Session, _ context: Subject.Context) throws -> MergePlan {
    let backend = session.storage.backend
    let states = try subject.states(context, engine: backend, backend)
    let planned = try planned(states)
    let byteCount = planned.estimatedByteCount
    return MergePlan(
      planned, changes: try planned.changes(states.sides, limit: options.listedChanges), bytesWritten: byteCount,
      lockDuration: pace.clones.lockDuration(objects: planned.operations.count, written: byteCount)
    ) { [self, commit = states.commit] body in try show(planned, commit, body) }
  }

  private func planned(_ states: Subject.States) throws -> PlannedMerge {
    monitor.report(.mark, 0, of: nil)
    return try subject.plan(states, options)
  }

  /// Calls `body` with the merged state of a plan: the merge in a dry run.
  private func show(_ plan: PlannedMerge, _ commit: UInt64, _ body: (borrowing ReadTransaction) throws -> Void) throws {
    let context = try subject.open()
    var transaction = WriteTransaction(try store.writeSession(label: "merge plan", isDryRun: true))
    guard transaction.session.commit == commit + 1 else {
      throw StoreError(.busy, "another transaction has changed the store since the plan was made; plan the merge again")
    }
    let states = try states(context, in: transaction)
    try subject.show(plan, states, options, in: &transaction, body)
  }

  private func states(_ context: Subject.Context, in transaction: borrowing WriteTransaction) throws -> Subject.States {
    let view = transaction.session.storage.backend
    return try subject.states(context, engine: transaction.session.storage.recorder?.inner ?? view, view)
  }

  // MARK: Merging

  func run() throws -> MergeResult {
    let start = ContinuousClock.now
    let key = try MergeKey(subject.keyArguments, options)
    return try retryIfMapFull {
      if let key, let known = try key.result(in: store.readSession()) { return known }
      let context = try subject.open()
      // The plan is made without the lock. If another transaction has committed before the lock is taken, it is
      // repeated; the last time under the lock, so that busy writers cannot delay a merge for ever.
      for number in 1...3 {
        let planned = number < 3 ? try mergeable(over: store.readSession(), context) : nil
        if var result = try merge(planned, key, context) {
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

  private func mergeable(over session: borrowing Session, _ context: Subject.Context) throws
    -> (commit: UInt64, plan: PlannedMerge)
  {
    let backend = session.storage.backend
    let states = try subject.states(context, engine: backend, backend)
    return (states.commit, try mergeable(states))
  }

  private func mergeable(_ states: Subject.States) throws -> PlannedMerge {
    let plan = try planned(states)
    try plan.requireMergeable()
    try plan.requireLimits(of: options)
    return plan
  }

  /// Merges in one transaction of the store. Returns nil if the plan is outdated.
  private func merge(
    _ known: (commit: UInt64, plan: PlannedMerge)?, _ key: MergeKey?, _ context: Subject.Context
  ) throws -> MergeResult? {
    try monitor.check(.wait, 0, of: nil)
    var transaction = WriteTransaction(try store.writeSession(label: "merge"))
    transaction.operation = subject.operation
    let locked = ContinuousClock.now
    if let key, let known = try key.result(in: transaction.session) { return known }
    if let known, transaction.session.commit != known.commit + 1 { return nil }
    let states = try states(context, in: transaction)
    let plan = try known?.plan ?? mergeable(states)
    var result = MergeResult(counts: plan.counts, resolved: plan.conflicts, snapshots: [], duration: .zero)
    // Without changes of either side there is nothing to move.
    if !states.isMoving { return result }
    let written = try subject.write(plan, states, options, monitor, in: &transaction)
    result.snapshots = written.snapshots
    if let key { try transaction.change { session in try key.store(result, in: &session) } }
    let total = plan.operations.count
    try monitor.check(.commit, 0, of: total)
    let ready = ContinuousClock.now
    try transaction.commit(store)
    written.announce()
    if known != nil {
      pace.clones.note(
        objects: total, written: plan.estimatedByteCount, writing: ready - locked, commit: .now - ready)
    }
    monitor.report(.commit, total, of: total)
    return result
  }
}

/// The recent speed of merges in this process.
private final class MergePace: Attachment {
  let clones = ClonePace()
}

extension PlannedMerge {
  /// Carries the plan out on ours, with its deletions.
  func apply(
    _ monitor: MergeMonitor, from theirs: borrowing Session, in transaction: inout WriteTransaction
  ) throws {
    try transaction.change { session in
      try MergeApplication.own(&session) { application in try application.apply(self, from: theirs, monitor) }
    }
    for case .delete(let ids) in operations {
      _ = try transaction.delete(ids)
    }
  }
}

extension SnapshotManager {
  /// Creates the snapshot of a side before a merge.
  mutating func createBeforeMerge(_ options: MergeOptions, _ userInfo: [String: String]) throws(StoreError) -> String {
    try createBeforeMerge(userInfo: userInfo, keeping: options.retainedSnapshots)
  }
}

extension WriteTransaction {
  /// Calls `body` with the changes of the transaction so far, as its commit would leave them.
  mutating func show(_ store: ObjectStore, _ body: (borrowing ReadTransaction) throws -> Void) throws {
    try prepareToSave()
    let storage = StorageTransaction(lookingInto: session.storage)
    try body(ReadTransaction(store.context.session(storage, store.schema)))
  }
}
