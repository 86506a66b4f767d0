import KVClone
import KVCloneBranches
import KVCloneCore

/// The merged state of a plan, read like a store (B12): the merge in a dry run.
struct MergePreview {
  private let merge: BranchMerge
  private let planned: PlannedMerge
  private let commit: UInt64

  init(_ merge: BranchMerge, _ planned: PlannedMerge, commit: UInt64) {
    self.merge = merge
    self.planned = planned
    self.commit = commit
  }

  func read(_ body: (borrowing ReadTransaction) throws -> Void) throws {
    let store = merge.store
    let tables = try store.branches.existingTables(merge.name)
    let branch = try store.branches.open(merge.name)
    var transaction = WriteTransaction(try store.writeSession(label: "merge plan", isDryRun: true))
    guard transaction.session.commit == commit + 1 else {
      throw StoreError(.busy, "another transaction has changed the store since the plan was made; plan the merge again")
    }
    let view = transaction.session.storage.backend
    let engine = transaction.session.storage.recorder?.inner ?? view
    let states = try BranchStates(store, merge.name, tables, engine: engine, view)
    if merge.direction == .publish {
      try show(states, store, in: &transaction, body)
    } else {
      try transaction.change { session in
        try BranchManager.own(&session) { manager in
          try manager.write(on: branch) { session in
            try MergeTransaction.own(&session) { ours in try show(states, branch, in: &ours.transaction, body) }
          }
        }
      }
    }
  }

  private func show(
    _ states: BranchStates, _ ours: ObjectStore, in transaction: inout WriteTransaction,
    _ body: (borrowing ReadTransaction) throws -> Void
  ) throws {
    try merge.apply(planned, states.theirs(merge.direction), in: &transaction)
    try transaction.prepareToSave()
    let storage = StorageTransaction(lookingInto: transaction.session.storage)
    try body(ReadTransaction(ours.context.session(storage, ours.schema)))
  }
}
