import KVClone
import KVCloneBranches
import KVCloneCore
import KVCloneModel
import KVCloneRecords

/// Carries the merge of a branch out, in a transaction of its store.
struct BranchMergeWork {
  private let states: BranchStates
  private let options: MergeOptions
  private let monitor: MergeMonitor
  private let name: String
  private let userInfo: [String: String]

  /// - Parameter name: the branch.
  init(
    _ states: BranchStates, _ options: MergeOptions, _ monitor: MergeMonitor, _ name: String,
    _ direction: BranchMerge.Direction
  ) {
    self.name = name
    self.states = states
    self.options = options
    self.monitor = monitor
    userInfo = ["merge": direction.rawValue, "branch": name]
  }

  /// Carries a plan out on the store, and empties the branch.
  func publish(_ plan: PlannedMerge, in transaction: inout WriteTransaction) throws -> WrittenMerge {
    var written = WrittenMerge()
    if options.createsSnapshots {
      // Without changes to publish, only the branch moves.
      if !plan.operations.isEmpty { written.snapshots = [try createStoreSnapshot(in: &transaction)] }
      written.snapshots.append(try createBranchSnapshot(in: &transaction))
    }
    let (branch, name) = (states.branch, name)
    try plan.apply(monitor, from: states.theirs, in: &transaction)
    // After hooks, so that what they change is part of the merged state.
    transaction.session.state.completions.append { session in
      try session.settle()
      try session.storage.recorder?.flush()
      let (view, context, schema) = (session.storage.backend, session.context, session.schema)
      try BranchManager.own(&session) { manager in
        try manager.write(onBranch: name) { branch in
          if branch.state.history == nil { return }
          let store = context.session(StorageTransaction(lookingInto: view), schema)
          let before = context.session(StorageTransaction(lookingInto: branch.storage), schema)
          try BranchAnnouncement(name, states.tables, in: store).note(from: before, to: store, in: &branch)
        }
        try manager.rebaseEmpty(name)
      }
    }
    written.announce = { branch.commitSignal.noteCommit() }
    return written
  }

  /// Carries a plan out on the branch, and moves its base to the state of the store.
  func update(_ plan: PlannedMerge, in transaction: inout WriteTransaction) throws -> WrittenMerge {
    try transaction.change { session in
      try BranchManager.own(&session) { manager in
        var written = WrittenMerge()
        if options.createsSnapshots { written.snapshots.append(try createSnapshot(&manager)) }
        written.announce = try write(plan, &manager)
        try manager.rebaseKeepingChanges(name)
        return written
      }
    }
  }

  /// Carries a plan out on the branch.
  ///
  /// - Parameter isTold: whether the history gets an entry; false if a later step of the transaction writes it.
  /// - Returns: a function that runs after the commit.
  func write(_ plan: PlannedMerge, _ manager: inout BranchManager, isTold: Bool = true) throws -> () -> Void {
    let branch = states.branch
    let prepared = try manager.write(onBranch: name) { session in
      if !isTold { session.state.history = nil }
      return try MergeTransaction.own(&session) { ours in
        try plan.apply(monitor, from: states.theirs, in: &ours.transaction)
        return try ours.transaction.prepareCommit(branch)
      }
    }
    return {
      branch.commitSignal.noteCommit()
      prepared?.announce(branch)
    }
  }

  /// Creates the automatic snapshot of the store before a publish, and returns its name.
  func createStoreSnapshot(in transaction: inout WriteTransaction) throws -> String {
    try SnapshotManager.change(in: &transaction) { (manager) throws(StoreError) in
      try manager.createBeforeMerge(options, userInfo)
    }
  }

  /// Creates the automatic snapshot of the branch before a publish, and returns its name.
  func createBranchSnapshot(in transaction: inout WriteTransaction) throws -> String {
    try transaction.change { session in
      try BranchManager.own(&session) { manager in try createSnapshot(&manager) }
    }
  }

  private func createSnapshot(_ manager: inout BranchManager) throws -> String {
    try manager.write(onBranch: name) { session in
      try SnapshotManager.own(&session) { (manager) throws(StoreError) in
        try manager.createBeforeMerge(options, userInfo)
      }
    }
  }
}
