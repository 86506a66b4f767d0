import KVClone
import KVCloneBranches
import KVCloneCore
import KVCloneModel

/// The merge of a branch and its store.
struct BranchMerge: MergeSubject {
  enum Direction: String, Sendable {
    /// The branch's changes into the store.
    case publish
    /// The store's changes into the branch.
    case update
  }

  let store: ObjectStore
  private let name: String
  private let direction: Direction

  init(_ store: ObjectStore, _ name: String, _ direction: Direction) {
    self.store = store
    self.name = name
    self.direction = direction
  }

  var operation: String { direction.rawValue }
  var keyArguments: [String] { [direction.rawValue, name] }

  func branchNumber() throws -> UInt32? {
    do throws(StoreError) {
      return (try store.branches.open(name).engine as? BranchEngine)?.number
    } catch {
      if error.kind == .branchNotFound { return nil }
      throw error
    }
  }

  func ours() throws -> ObjectStore { direction == .publish ? store : try store.branches.open(name) }

  func open() throws -> (tables: BranchTables, branch: ObjectStore) {
    (try store.branches.existingTables(name), try store.branches.open(name))
  }

  func states(
    _ context: (tables: BranchTables, branch: ObjectStore), engine: any StorageBackend, _ view: any StorageBackend
  ) throws -> BranchStates {
    try BranchStates(store, context.branch, name, context.tables, direction, engine: engine, view)
  }

  func plan(_ states: BranchStates, _ options: MergeOptions) throws -> PlannedMerge {
    let sides = states.sides
    return try MergePlanner.plan(
      store.schema, ours: sides.ours, theirs: sides.theirs, options: options,
      scratchDirectory: store.context.scratchDirectory())
  }

  func write(
    _ plan: PlannedMerge, _ states: BranchStates, _ options: MergeOptions, _ monitor: MergeMonitor,
    in transaction: inout WriteTransaction
  ) throws -> WrittenMerge {
    let work = BranchMergeWork(states, options, monitor, name, direction)
    return direction == .publish
      ? try work.publish(plan, in: &transaction) : try work.update(plan, in: &transaction)
  }

  func isMoving(_ plan: PlannedMerge, _ states: BranchStates) -> Bool { states.isMoving }

  func show(
    _ plan: PlannedMerge, _ states: BranchStates, _ options: MergeOptions,
    _ body: (borrowing WriteTransaction) throws -> Void
  ) throws {
    try preview(plan, states, body)
  }

  /// Calls `body` with a transaction in memory that has carried out a plan.
  func preview<R>(
    _ plan: PlannedMerge, _ states: BranchStates, _ body: (borrowing WriteTransaction) throws -> R
  ) throws -> R {
    let monitor = MergeMonitor(nil)
    return try states.preview({ try plan.apply(monitor, from: states.theirs, in: &$0) }, body)
  }
}
