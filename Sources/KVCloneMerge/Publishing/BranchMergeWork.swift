import KVClone
import KVCloneBranches
import KVCloneCore
import KVCloneModel
import KVCloneRecords

/// Carries the merge of a branch out, in a transaction of its store.
struct BranchMergeWork {
  private let plan: PlannedMerge
  private let states: BranchStates
  private let options: MergeOptions
  private let monitor: MergeMonitor
  private let userInfo: [String: String]

  init(
    _ plan: PlannedMerge, _ states: BranchStates, _ options: MergeOptions, _ monitor: MergeMonitor,
    _ userInfo: [String: String]
  ) {
    self.plan = plan
    self.states = states
    self.options = options
    self.monitor = monitor
    self.userInfo = userInfo
  }

  /// Carries the plan out on the store, and empties the branch.
  ///
  /// - Parameter fill: writes what the branch keeps; gets the branch as it was.
  func publish(
    in transaction: inout WriteTransaction, keeping fill: ((borrowing Session, inout Session) throws -> Void)? = nil
  ) throws -> WrittenMerge {
    let branch = states.branch
    var written = WrittenMerge { branch.commitSignal.noteCommit() }
    if options.createsSnapshots {
      written.snapshots.append(
        try SnapshotManager.change(in: &transaction) { (manager) throws(StoreError) in
          try manager.createBeforeMerge(options, userInfo)
        })
      written.snapshots.append(
        try transaction.change { session in
          try BranchManager.own(&session) { manager in try createSnapshot(&manager) }
        })
    }
    try plan.apply(monitor, from: states.theirs, in: &transaction)
    // After hooks, so that what they change is part of the merged state.
    transaction.session.state.completions.append { session in
      try BranchManager.own(&session) { manager in
        try announce(&manager)
        try manager.rebase(branch, fill)
      }
    }
    return written
  }

  /// Carries the plan out on the branch, and moves its base to the state of the store.
  func update(in transaction: inout WriteTransaction) throws -> WrittenMerge {
    let branch = states.branch
    return try transaction.change { session in
      try BranchManager.own(&session) { manager in
        var written = WrittenMerge()
        if options.createsSnapshots { written.snapshots.append(try createSnapshot(&manager)) }
        var prepared: PreparedCommit?
        try manager.write(on: branch) { session in
          try MergeTransaction.own(&session) { ours in
            try plan.apply(monitor, from: states.theirs, in: &ours.transaction)
            prepared = try ours.transaction.prepareCommit(branch)
          }
        }
        try manager.rebase(branch) { merged, fresh in try keepDifferences(merged, in: &fresh) }
        written.announce = { [prepared] in
          branch.commitSignal.noteCommit()
          prepared?.announce(branch)
        }
        return written
      }
    }
  }

  private func createSnapshot(_ manager: inout BranchManager) throws -> String {
    try manager.write(on: states.branch) { session in
      try SnapshotManager.own(&session) { (manager) throws(StoreError) in
        try manager.createBeforeMerge(options, userInfo)
      }
    }
  }

  /// Writes what differs between the store and the merged state of the branch: the merge of both over the state of the
  /// store, which has no conflicts.
  private func keepDifferences(_ merged: borrowing Session, in fresh: inout Session) throws {
    func state(_ session: borrowing Session) -> SessionMergeState {
      SessionMergeState(
        states.branch.context.session(StorageTransaction(lookingInto: session.storage), session.schema))
    }
    let (present, branch) = (state(fresh), state(merged))
    let changed = try states.allChanged(with: merged.storage)
    let plan = try MergePlanner.plan(
      fresh.schema, ours: MergeSideStates(base: present, now: present, changed: ObjectSet()),
      theirs: MergeSideStates(base: present, now: branch, changed: changed), options: MergeOptions(policy: .theirs))
    try plan.applyWithoutHooks(from: merged, in: &fresh)
  }

  /// Records in the history of the branch that a publish changed its content (B7).
  private func announce(_ manager: inout BranchManager) throws {
    try manager.write(on: states.branch) { session in
      guard session.state.history != nil else { return }
      try states.noteChangesOfStore(in: &session)
      try HistoryWriter.finish(in: &session)
    }
  }
}
