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
  private let name: String
  private let userInfo: [String: String]

  /// - Parameter name: the branch.
  init(
    _ plan: PlannedMerge, _ states: BranchStates, _ options: MergeOptions, _ monitor: MergeMonitor, _ name: String,
    _ direction: BranchMerge.Direction
  ) {
    self.name = name
    self.plan = plan
    self.states = states
    self.options = options
    self.monitor = monitor
    userInfo = ["merge": direction.rawValue, "branch": name]
  }

  /// Carries the plan out on the store, and empties the branch.
  ///
  /// - Parameter rest: the plan of an update, which the branch gets before the store gets a part of it; what the branch
  ///   then has beyond the store stays its own. With nil, the branch is left empty.
  func publish(in transaction: inout WriteTransaction, keeping rest: PlannedMerge? = nil) throws -> WrittenMerge {
    var written = WrittenMerge()
    if options.createsSnapshots {
      written.snapshots.append(
        try SnapshotManager.change(in: &transaction) { (manager) throws(StoreError) in
          try manager.createBeforeMerge(options, userInfo)
        })
    }
    let (branch, name) = (states.branch, name)
    var prepared: PreparedCommit?
    try transaction.change { session in
      try BranchManager.own(&session) { manager in
        if options.createsSnapshots { written.snapshots.append(try createSnapshot(&manager)) }
        if let rest { prepared = try write(rest, &manager) }
      }
    }
    try plan.apply(monitor, from: states.theirs(.publish), in: &transaction)
    // After hooks, so that what they change is part of the merged state.
    transaction.session.state.completions.append { session in
      try BranchManager.own(&session) { manager in
        if rest != nil {
          try manager.rebaseKeepingChanges(name)
        } else {
          try announce(&manager)
          try manager.rebaseEmpty(name)
        }
      }
    }
    written.announce = { [prepared] in
      branch.commitSignal.noteCommit()
      prepared?.announce(branch)
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
        let prepared = try write(plan, &manager)
        try manager.rebaseKeepingChanges(name)
        written.announce = {
          branch.commitSignal.noteCommit()
          prepared?.announce(branch)
        }
        return written
      }
    }
  }

  /// Carries a plan out on the branch.
  private func write(_ plan: PlannedMerge, _ manager: inout BranchManager) throws -> PreparedCommit? {
    try manager.write(onBranch: name) { session in
      try MergeTransaction.own(&session) { ours in
        try plan.apply(monitor, from: states.theirs(.update), in: &ours.transaction)
        return try ours.transaction.prepareCommit(states.branch)
      }
    }
  }

  private func createSnapshot(_ manager: inout BranchManager) throws -> String {
    try manager.write(onBranch: name) { session in
      try SnapshotManager.own(&session) { (manager) throws(StoreError) in
        try manager.createBeforeMerge(options, userInfo)
      }
    }
  }

  /// Records in the history of the branch that a publish changed its content (B7).
  private func announce(_ manager: inout BranchManager) throws {
    try manager.write(onBranch: name) { session in
      if session.state.history != nil { try states.noteChangesOfStore(in: &session) }
    }
  }
}
