import KVClone
import KVCloneCore
import KVCloneModel
import KVCloneRecords
import KVCloneTracing

/// A merge in a transaction of its own, or the plan of one.
struct MergeCall<Subject: MergeSubject>: Sendable {
  private let subject: Subject
  private let options: MergeOptions
  private let answers: CallerAnswers?
  private let monitor: MergeMonitor

  init(_ subject: Subject, _ options: MergeOptions) {
    self.subject = subject
    let answers = options.resolve.map { closure in
      CallerAnswers(closure, scratchDirectory: subject.store.context.scratchDirectory())
    }
    var own = options
    if let answers { own.resolve = { conflict in try answers.answer(conflict) } }
    let monitor = MergeMonitor(options.progress)
    own.check = { count in try monitor.check(.mark, count, of: nil) }
    self.answers = answers
    self.options = own
    self.monitor = monitor
  }

  private static var maximumAttempts: Int { 9 }

  private var store: ObjectStore { subject.store }
  private var pace: MergePace { store.schema.attachments.value(of: MergePace.self) }

  // MARK: Planning

  func plan() throws -> MergePlan {
    try retryIfMapFull {
      for number in 1...Self.maximumAttempts {
        if try key()?.result(in: store.readSession()) != nil {
          let unchanged = PlannedMerge.unchanged(store.schema, scratchDirectory: store.context.scratchDirectory())
          return MergePlan(unchanged, isRepeated: true) { [subject] body in try subject.ours().read(body) }
        }
        // Before the transaction begins: opening tables waits for writers.
        let context = try subject.open()
        if let plan = Self.isUnlocked(number) ? try plan(context) : try lockedPlan(context) { return plan }
      }
      throw Self.outdated
    }
  }

  /// A plan, and what its read transaction shows.
  private struct Outcome {
    var plan: Subject.Plan
    let changes: [MergeChange]
    let commit: UInt64
    /// Whether the merge may not fit into the file or on the disk.
    let isNearLimit: Bool
  }

  /// Plans without the write lock, except for a dry run. Returns nil if another transaction has committed before it.
  private func plan(_ context: Subject.Context) throws -> MergePlan? {
    let outcome = try outcome(over: store.readSession(), context)
    if !needsDryRun(outcome) { return plan(outcome) }
    return try dryRun(outcome, context, in: begin(isDryRun: true))
  }

  /// Plans and runs a dry run under the write lock. Returns nil if the caller has to answer conflicts.
  private func lockedPlan(_ context: Subject.Context) throws -> MergePlan? {
    let transaction = try begin(isDryRun: true)
    let made: Outcome?
    if let answers {
      made = try answers.withoutAsking { try outcome(over: store.readSession(), context) }
    } else {
      made = try outcome(over: store.readSession(), context)
    }
    guard let made else { return nil }
    if !needsDryRun(made) { return plan(made) }
    return try dryRun(made, context, in: transaction)
  }

  private func needsDryRun(_ outcome: Outcome) -> Bool {
    outcome.isNearLimit && options.testsRoom && !store.options.isReadOnly
  }

  /// The idempotency key of the call, if it has one.
  private func key() throws -> MergeKey? {
    try MergeKey(subject.keyArguments, branch: subject.branchNumber(), options)
  }

  private func outcome(over session: borrowing Session, _ context: Subject.Context) throws -> Outcome {
    let states = try states(context, over: session)
    var planned = try planned(states)
    try addReasons(to: &planned, states)
    let total = planned.total
    let isWriting = total.canMerge && (subject.isMoving(planned, states) || options.idempotencyKey != nil)
    return Outcome(
      plan: planned, changes: try total.changes(states.sides, limit: options.listedChanges), commit: states.commit,
      isNearLimit: isWriting && StoreRoom(of: session)?.isNearLimit(adding: planned.estimatedByteCount) ?? false)
  }

  private func plan(_ outcome: Outcome, adding reasons: PlanReasons? = nil) -> MergePlan {
    var planned = outcome.plan
    if let reasons { planned.note(reasons) }
    let operations = planned.total.operations
    return MergePlan(
      planned.total, changes: outcome.changes, bytesWritten: operations.estimatedByteCount,
      lockDuration: pace.clones.lockDuration(objects: operations.count, written: operations.estimatedByteCount),
      isNearLimit: outcome.isNearLimit && reasons == nil
    ) { [self, planned, commit = outcome.commit] body in
      let context = try subject.open()
      try show(planned, commit, over: store.readSession(), context, body)
    }
  }

  /// Runs the merge, and rolls it back. Returns nil if the plan is outdated.
  private func dryRun(
    _ outcome: Outcome, _ context: Subject.Context, in transaction: consuming WriteTransaction
  ) throws -> MergePlan? {
    let reasons = PlanReasons()
    do {
      let result = try merge(
        (outcome.commit, outcome.plan), key(), context, since: .now, in: transaction, dryRun: reasons)
      guard let result, !result.isRepeated else { return nil }
    } catch let error as MergeError where error.kind != .cancelled {
      reasons.note(PlanIssue(error))
    } catch {
      try reasons.note(previewing: error)
    }
    return plan(outcome, adding: reasons)
  }

  private func planned(_ states: Subject.States) throws -> Subject.Plan {
    monitor.report(.mark, 0, of: nil)
    return try subject.plan(states, options)
  }

  /// Notes what the planner does not know: the limits of the call and of the number of objects, and equal values of
  /// unique derived attributes.
  private func addReasons(to plan: inout Subject.Plan, _ states: Subject.States) throws {
    let reasons = PlanReasons()
    do throws(MergeError) {
      try plan.total.requireLimits(of: options)
    } catch {
      reasons.note(PlanIssue(error))
    }
    let growth = subject.growth(plan)
    if growth > 0, let error = try states.limitError(adding: growth) { reasons.note(PlanIssue(error)) }
    if store.schema.hasDerivedConstraints, plan.total.issueCount == 0, reasons.isEmpty {
      do {
        try subject.show(plan, states, options) { transaction in try reasons.noteDerivedValues(in: transaction) }
      } catch {
        try reasons.note(previewing: error)
      }
    }
    plan.note(reasons)
  }

  /// Calls `body` with the merged state of a plan.
  private func show(
    _ plan: Subject.Plan, _ commit: UInt64, over session: borrowing Session, _ context: Subject.Context,
    _ body: (borrowing ReadTransaction) throws -> Void
  ) throws {
    let states = try states(context, over: session)
    guard states.commit == commit else {
      throw StoreError(.busy, "another transaction has changed the store since the plan was made; plan the merge again")
    }
    let target = states.target
    try subject.show(plan, states, options) { transaction in
      let storage = StorageTransaction(lookingInto: transaction.session.storage)
      try body(ReadTransaction(target.context.session(storage, target.schema)))
    }
  }

  private func states(_ context: Subject.Context, over session: borrowing Session) throws -> Subject.States {
    let backend = session.storage.backend
    return try subject.states(context, engine: backend, backend)
  }

  private func states(_ context: Subject.Context, in transaction: borrowing WriteTransaction) throws -> Subject.States {
    let view = transaction.session.storage.backend
    return try subject.states(context, engine: transaction.session.storage.recorder?.inner ?? view, view)
  }

  // MARK: Merging

  func run() throws -> MergeResult { try StoreSpan(.merge, of: store.engine).run { try mergeWithRetries() } }

  private func mergeWithRetries() throws -> MergeResult {
    let start = ContinuousClock.now
    let key = try key()
    return try retryIfMapFull {
      if let key, let known = try key.result(in: store.readSession()) { return known }
      let context = try subject.open()
      // The plan is made without the lock. If another transaction has committed before the lock is taken, it is
      // repeated; from the third time on also under the lock, so that busy writers cannot delay a merge for ever. That
      // plan may have conflicts that the caller has to answer first.
      for number in 1...Self.maximumAttempts {
        let planned = Self.isUnlocked(number) ? try mergeable(over: store.readSession(), context) : nil
        if let result = try merge(planned, key, context, since: start, in: begin()) { return result }
      }
      throw Self.outdated
    }
  }

  /// Whether an attempt plans without the write lock.
  private static func isUnlocked(_ number: Int) -> Bool { number < 3 || number.isMultiple(of: 2) }

  private static var outdated: StoreError {
    StoreError(.busy, "other transactions have changed the store during each of \(maximumAttempts) attempts; try again")
  }

  /// Merges on the writer thread. Cancelling the task cancels the merge.
  func runOnWriterThread() async throws -> MergeResult {
    // It begins with the call, and not at its turn.
    let span = StoreSpan(.merge, of: store.engine)
    return try await withTaskCancellationHandler {
      try await store.onWriterQueue { try span.run { try mergeWithRetries() } }
    } onCancel: {
      monitor.cancel()
    }
  }

  private func mergeable(over session: borrowing Session, _ context: Subject.Context) throws
    -> (commit: UInt64, plan: Subject.Plan)
  {
    let states = try states(context, over: session)
    return (states.commit, try mergeable(try planned(states)))
  }

  private func mergeable(_ plan: Subject.Plan) throws -> Subject.Plan {
    try plan.total.requireMergeable()
    try plan.total.requireLimits(of: options)
    return plan
  }

  /// Plans under the write lock. Returns nil if the caller has to answer conflicts.
  private func lockedPlan(_ states: Subject.States) throws -> Subject.Plan? {
    guard let answers else { return try mergeable(try planned(states)) }
    return try answers.withoutAsking { try planned(states) }.map { try mergeable($0) }
  }

  /// Begins the transaction of a merge.
  private func begin(isDryRun: Bool = false) throws -> WriteTransaction {
    try monitor.check(.wait, 0, of: nil)
    var transaction = WriteTransaction(
      try store.writeSession(label: isDryRun ? "merge plan" : "merge", isDryRun: isDryRun))
    transaction.operation = subject.operation
    return transaction
  }

  /// Merges in one transaction of the store. Returns nil if the plan is outdated, or lacks answers of the caller.
  ///
  /// - Parameter reasons: collects, for a plan, why the merge would fail; nothing is committed then.
  private func merge(
    _ known: (commit: UInt64, plan: Subject.Plan)?, _ key: MergeKey?, _ context: Subject.Context,
    since start: ContinuousClock.Instant, in transaction: consuming WriteTransaction,
    dryRun reasons: PlanReasons? = nil
  ) throws -> MergeResult? {
    let locked = ContinuousClock.now
    if let key, let known = try key.result(in: transaction.session) { return known }
    if let known, transaction.session.commit != known.commit + 1 { return nil }
    let states = try states(context, in: transaction)
    guard let plan = try known?.plan ?? lockedPlan(states) else { return nil }
    let planned = plan.total
    var result = MergeResult(
      counts: planned.counts, resolved: planned.conflicts, snapshots: [], duration: .now - start)
    // Without changes of either side there is nothing to move, but a key is used.
    let isMoving = subject.isMoving(plan, states)
    if !isMoving, key == nil { return result }
    var written = WrittenMerge()
    do {
      if isMoving { written = try subject.write(plan, states, options, monitor, in: &transaction) }
    } catch {
      // Hooks may have seen the ids.
      store.noteSerials(of: transaction.session.changes, dryRun: reasons)
      throw error
    }
    result.snapshots = written.snapshots
    if let counts = written.counts { result.counts = counts }
    // Without the commit, which this is part of.
    result.duration = .now - start
    if let key { try transaction.change { session in try key.store(result, in: &session) } }
    let total = planned.operations.count
    try monitor.check(.commit, 0, of: total)
    let ready = ContinuousClock.now
    try transaction.commit(store, dryRun: reasons)
    if reasons != nil { return result }
    written.announce()
    if known != nil {
      pace.clones.note(
        objects: total, written: planned.operations.estimatedByteCount, writing: ready - locked, commit: .now - ready)
    }
    monitor.report(.commit, total, of: total)
    result.duration = .now - start
    return result
  }
}

/// The recent speed of merges in this process.
private final class MergePace: Attachment {
  let clones = ClonePace()
}

extension PlannedMerge {
  /// Carries the plan out on ours, with its deletions. Theirs describes all blobs of the plan.
  func apply(
    _ monitor: MergeMonitor, from theirs: borrowing Session, in transaction: inout WriteTransaction
  ) throws {
    try apply(monitor, from: theirs, base: theirs, in: &transaction)
  }

  /// Carries the plan out on ours, with its deletions.
  func apply(
    _ monitor: MergeMonitor, from theirs: borrowing Session, base: borrowing Session,
    in transaction: inout WriteTransaction
  ) throws {
    try transaction.change { session in
      try MergeApplication.own(&session) { application in
        try application.apply(self, from: theirs, base: base, monitor)
      }
    }
    let deleted = operations.deleted
    if deleted.isEmpty { return }
    try transaction.validateDelete(deleted)
    try transaction.changeObjects { (session) throws(StoreError) in
      _ = try ObjectDeletion.delete(deleted, in: &session)
    }
  }
}

extension SnapshotManager {
  /// Creates the snapshot of a side before a merge.
  mutating func createBeforeMerge(_ options: MergeOptions, _ userInfo: [String: String]) throws(StoreError) -> String {
    try createBeforeMerge(userInfo: userInfo, keeping: options.retainedSnapshots)
  }
}
