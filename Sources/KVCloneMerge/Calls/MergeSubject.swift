import KVCloneCore

/// Two sides that can be merged: a branch with its store, or clones with their sources.
protocol MergeSubject: Sendable {
  /// Everything that is opened before a transaction begins.
  associatedtype Context
  /// The states of both sides in one transaction.
  associatedtype States: MergeStates
  associatedtype Plan: MergeSteps

  /// The store of the transaction that merges.
  var store: ObjectStore { get }
  /// The operation, for the history.
  var operation: String { get }
  /// The sides, as an argument of the idempotency key.
  var keyArguments: [String] { get }

  /// Returns the number of the branch, another argument: another one may get its name. Nil for a branch that is
  /// deleted, and if no branch is merged.
  func branchNumber() throws -> UInt32?

  /// Returns the store or the branch that is merged into.
  func ours() throws -> ObjectStore

  func open() throws -> Context

  /// - Parameters:
  ///   - engine: a transaction of the engine, without decorators. It must outlive the states.
  ///   - view: a transaction that shows the store: `engine`, or the same with a recorder of preimages.
  func states(_ context: Context, engine: any StorageBackend, _ view: any StorageBackend) throws -> States

  /// Plans the merge. The plan does not need the states.
  func plan(_ states: States, _ options: MergeOptions) throws -> Plan

  /// Whether a merge moves anything, be it only a base.
  func isMoving(_ plan: Plan, _ states: States) -> Bool

  /// The number of objects that the merge adds to ours.
  func growth(_ plan: Plan) -> Int

  /// Carries a plan out, except for the commit.
  func write(
    _ plan: Plan, _ states: States, _ options: MergeOptions, _ monitor: MergeMonitor,
    in transaction: inout WriteTransaction
  ) throws -> WrittenMerge

  /// Carries a plan out in memory, and calls `body` with the transaction on ours, up to its commit.
  func show(
    _ plan: Plan, _ states: States, _ options: MergeOptions, _ body: (borrowing WriteTransaction) throws -> Void
  ) throws
}

extension MergeSubject {
  func growth(_ plan: Plan) -> Int {
    let count = MergeCount.total(of: plan.total.counts)
    return count.inserted - count.deleted
  }
}

/// The plan of a merge, of one or more steps.
protocol MergeSteps: Sendable {
  /// The change of ours, with the conflicts and the broken rules of all steps.
  var total: PlannedMerge { get }

  /// The estimated size of what all steps write, in bytes.
  var estimatedByteCount: UInt64 { get }

  /// Adds reasons why the merge would fail.
  mutating func note(_ reasons: PlanReasons)
}

extension PlannedMerge: MergeSteps {
  var total: PlannedMerge { self }
  var estimatedByteCount: UInt64 { operations.estimatedByteCount }

  mutating func note(_ reasons: PlanReasons) {
    issues = Array((issues + reasons.issues).prefix(PlanReasons.limit))
    issueCount += reasons.count
  }
}

protocol MergeStates {
  /// The last commit that the states contain.
  var commit: UInt64 { get }
  var sides: (ours: MergeSideStates, theirs: MergeSideStates) { get }
  /// The store or the branch that is merged into.
  var target: ObjectStore { get }
  /// Ours in a transaction that can be changed, and that never commits. The states show none of its changes.
  var scratch: any StorageBackend { get }
}

/// The result of a merge before its commit.
struct WrittenMerge {
  /// The names of the automatic snapshots.
  var snapshots: [String] = []
  /// The changed objects, if they are not those of the plan; see ``MergeResult/counts``.
  var counts: [String: MergeCount]?
  /// Runs after the commit.
  var announce: () -> Void = {}
}
