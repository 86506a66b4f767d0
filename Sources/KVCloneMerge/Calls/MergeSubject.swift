import KVCloneCore

/// Two sides that can be merged: a branch with its store, or clones with their sources.
protocol MergeSubject: Sendable {
  /// Everything that is opened before a transaction begins.
  associatedtype Context
  /// The states of both sides in one transaction.
  associatedtype States: MergeStates

  /// The store of the transaction that merges.
  var store: ObjectStore { get }
  /// The operation, for the history.
  var operation: String { get }
  /// The sides, as an argument of the idempotency key.
  var keyArguments: [String] { get }

  func open() throws -> Context

  /// - Parameters:
  ///   - engine: a transaction of the engine, without decorators. It must outlive the states.
  ///   - view: a transaction that shows the store: `engine`, or the same with a recorder of preimages.
  func states(_ context: Context, engine: any StorageBackend, _ view: any StorageBackend) throws -> States

  /// Plans the merge.
  func plan(_ states: States, _ options: MergeOptions) throws -> PlannedMerge

  /// Carries a plan out, except for the commit.
  func write(
    _ plan: PlannedMerge, _ states: States, _ options: MergeOptions, _ monitor: MergeMonitor,
    in transaction: inout WriteTransaction
  ) throws -> WrittenMerge

  /// Carries a plan out in a dry run, and calls `body` with ours.
  func show(
    _ plan: PlannedMerge, _ states: States, _ options: MergeOptions, in transaction: inout WriteTransaction,
    _ body: (borrowing ReadTransaction) throws -> Void
  ) throws
}

protocol MergeStates {
  /// The last commit that the states contain.
  var commit: UInt64 { get }
  var sides: (ours: MergeSideStates, theirs: MergeSideStates) { get }
  /// Whether a merge moves anything, be it only a base.
  var isMoving: Bool { get }
}

/// The result of a merge before its commit.
struct WrittenMerge {
  /// The names of the automatic snapshots.
  var snapshots: [String] = []
  /// Runs after the commit.
  var announce: () -> Void = {}
}
