import KVClone
import KVCloneBranches
import KVCloneCore
import KVCloneModel
import KVCloneRecords

/// A publish of chosen objects (M13): an update of the branch, then a merge of these objects into the store. The rest
/// stays the branch's.
///
/// Both steps have the sides of a publish for the caller: ours is the store.
struct ChosenMerge: MergeSubject {
  private let whole: BranchMerge
  private let updating: BranchMerge
  private let name: String
  private let objects: [ObjectID]

  init(_ store: ObjectStore, _ name: String, _ objects: [ObjectID]) {
    whole = BranchMerge(store, name, .publish)
    updating = BranchMerge(store, name, .update)
    self.name = name
    self.objects = objects
  }

  var store: ObjectStore { whole.store }
  var operation: String { whole.operation }
  /// The order and repeats of the objects have no meaning.
  var keyArguments: [String] { whole.keyArguments + ["only"] + Set(objects).sorted().map { String($0.rawValue) } }

  func branchNumber() throws -> UInt32? { try whole.branchNumber() }

  func ours() throws -> ObjectStore { try whole.ours() }

  func open() throws -> (tables: BranchTables, branch: ObjectStore) { try whole.open() }

  func states(
    _ context: (tables: BranchTables, branch: ObjectStore), engine: any StorageBackend, _ view: any StorageBackend
  ) throws -> BranchStates {
    try whole.states(context, engine: engine, view)
  }

  // MARK: Planning

  /// Plans both steps. The second one is planned for the branch that the first one leaves in memory, and is empty if
  /// limits or hooks refuse the first one.
  func plan(_ states: BranchStates, _ options: MergeOptions) throws -> ChosenPlan {
    var exchanged = options
    exchanged.exchangesSides = true
    let turned = states.directed(.update)
    let update = try updating.plan(turned, exchanged)
    let remaining = Set(update.staleAnswers)
    var own = options
    own.answers.removeAll { !remaining.contains($0.conflict) }
    let reasons = PlanReasons()
    let growth = updating.growth(update)
    if growth > 0, let error = try turned.limitError(adding: growth) { reasons.note(PlanIssue(error)) }
    // An error of this plan is thrown, and one of the preview is a reason.
    var merge: Result<PlannedMerge, any Error>?
    if reasons.isEmpty {
      do {
        try updating.preview(update, turned) { transaction in
          merge = Result { try plan(states, transaction.session, united: update.changes.united, own) }
          reasons.note(transaction.session.state.refusals)
          if update.issueCount == 0 { try reasons.noteDerivedValues(in: transaction) }
        }
      } catch {
        try reasons.note(previewing: error)
      }
    }
    let unchanged = PlannedMerge.unchanged(store.schema, scratchDirectory: store.context.scratchDirectory())
    var planned = ChosenPlan(update: update, merge: try merge?.get() ?? unchanged)
    planned.note(reasons)
    return planned
  }

  /// Plans the merge of the chosen objects of an updated branch.
  ///
  /// - Parameters:
  ///   - branch: a session on the updated branch.
  ///   - united: the objects that the update has united.
  private func plan(
    _ states: BranchStates, _ branch: borrowing Session, united: ObjectMap, _ options: MergeOptions
  ) throws -> PlannedMerge {
    let present = states.sides.ours.now
    let updated = SessionMergeState(view(of: branch))
    let session = states.directed(.update).theirs
    let chosen = try chosenObjects(store: session, branch: branch, united, options) { id throws(StoreError) in
      try present.entity(of: id) != nil
    }
    let theirs = ChosenMergeState(store: present, branch: updated, before: states.sides.theirs.now, chosen: chosen)
    return try MergePlanner.plan(
      store.schema, ours: MergeSideStates(base: present, now: present, changed: ObjectSet()),
      theirs: MergeSideStates(
        base: present, now: theirs, changed: try states.allChanged(with: branch.storage)), options: options,
      scratchDirectory: store.context.scratchDirectory())
  }

  private func view(of session: borrowing Session) -> Session {
    store.context.session(StorageTransaction(lookingInto: session.storage), session.schema)
  }

  /// Returns the chosen objects, with what a clone of them would copy in the store or on the branch, and inserted
  /// objects that they need.
  private func chosenObjects(
    store session: borrowing Session, branch: borrowing Session, _ united: ObjectMap,
    _ options: MergeOptions, isInStore: (ObjectID) throws(StoreError) -> Bool
  ) throws -> ObjectSet {
    var chosen = ObjectSet()
    var known: Set<ObjectID> = []
    func addClones(_ reader: borrowing ReadTransaction) throws {
      let present = try objects.filter { try reader.exists($0) }
      known.formUnion(present)
      if present.isEmpty { return }
      var cloneOptions = CloneOptions()
      cloneOptions.userInfoKeys = options.userInfoKeys
      for id in try reader.cloneSet(of: present, options: cloneOptions) { _ = chosen.insert(id) }
    }
    // The store also has what the branch deleted.
    try addClones(ReadTransaction(view(of: session)))
    try addClones(ReadTransaction(view(of: branch)))
    if let unknown = objects.first(where: { !known.contains($0) }) { throw store.schema.notFound(unknown) }
    let state = SessionMergeState(view(of: branch))
    try addNeeded(to: &chosen, state, isInStore)
    united.keys.forEach { gone in
      if let remaining = united[gone], chosen.contains(remaining) { _ = chosen.insert(gone) }
      return true
    }
    return chosen
  }

  /// Adds the objects without which a chosen one would break the number of members of a relationship.
  private func addNeeded(
    to chosen: inout ObjectSet, _ branch: SessionMergeState, _ isInStore: (ObjectID) throws(StoreError) -> Bool
  ) throws(StoreError) {
    var waiting: [ObjectID] = []
    chosen.forEach { id in
      waiting.append(id)
      return true
    }
    while let id = waiting.popLast() {
      guard let entity = try branch.entity(of: id) else { continue }
      for relationship in entity.relationships where relationship.isValidated {
        let members = try branch.members(of: id, relationship)
        var missing: [ObjectID] = []
        for member in members {
          if chosen.contains(member) { continue }
          if try !isInStore(member) { missing.append(member) }
        }
        guard !missing.isEmpty, relationship.brokenRule(members.count - missing.count) != nil else { continue }
        for member in missing { _ = chosen.insert(member) }
        waiting += missing
      }
    }
  }

  func show(
    _ plan: ChosenPlan, _ states: BranchStates, _ options: MergeOptions,
    _ body: (borrowing WriteTransaction) throws -> Void
  ) throws {
    let monitor = MergeMonitor(nil)
    try updating.preview(plan.update, states.directed(.update)) { updated in
      try states.preview({ try plan.merge.apply(monitor, from: updated.session, in: &$0) }, body)
    }
  }

  // MARK: Merging

  /// If the chosen objects are unchanged, the branch has nothing to publish, but takes the changes of the store.
  func isMoving(_ plan: ChosenPlan, _ states: BranchStates) -> Bool {
    !plan.merge.operations.isEmpty || states.directed(.update).isMoving
  }

  /// Updates the branch, carries the merge out on the store, and takes the result into the branch at the commit.
  func write(
    _ plan: ChosenPlan, _ states: BranchStates, _ options: MergeOptions, _ monitor: MergeMonitor,
    in transaction: inout WriteTransaction
  ) throws -> WrittenMerge {
    // Shows the store before the merge: it is read without the changes of this transaction.
    let before = SessionMergeState(try store.readSession())
    let publishing = BranchMergeWork(states, options, monitor, name, .publish)
    let update = BranchMergeWork(states.directed(.update), options, monitor, name, .update)
    var written = WrittenMerge()
    let isUpdated = !plan.update.operations.isEmpty
    if options.createsSnapshots {
      // First, so that it is a snapshot of the last commit.
      if !plan.merge.operations.isEmpty { written.snapshots = [try publishing.createStoreSnapshot(in: &transaction)] }
      written.snapshots.append(try publishing.createBranchSnapshot(in: &transaction))
    }
    let branch = states.branch
    written.announce = { branch.commitSignal.noteCommit() }
    if isUpdated {
      written.announce = try transaction.change { session in
        try BranchManager.own(&session) { manager in try update.write(plan.update, &manager, isTold: false) }
      }
    }
    // Hooks of the branch may have made other objects than those of the plan.
    let updated = try states.refreshed(in: transaction.session.storage)
    var own = options
    // The closure is not called under the write lock. Without it and without answers, the rules decide as in the plan.
    own.resolve = nil
    if options.resolve != nil || !options.answers.isEmpty {
      own.answers = plan.merge.conflicts.compactMap { resolved in
        resolved.answer.map { AnsweredConflict(resolved.conflict, $0) }
      }
    }
    let final = try self.plan(updated, updated.theirs, united: plan.update.changes.united, own)
    try final.requireMergeable()
    written.counts = final.counts
    if written.snapshots.count == 1, !final.operations.isEmpty {
      // Only hooks of the branch changed what is published.
      written.snapshots.insert(try publishing.createStoreSnapshot(in: &transaction), at: 0)
    }
    try final.apply(monitor, from: updated.theirs, in: &transaction)
    transaction.session.state.completions.append { session in
      try takeResult(updated, since: before, isUpdated: isUpdated, monitor, in: &session)
    }
    return written
  }

  /// Takes what the store has now into the branch, which keeps the rest of its changes, and moves its base. The branch
  /// has what was published; where hooks of the store have changed it, the store wins.
  ///
  /// - Parameters:
  ///   - before: the store before the merge.
  ///   - isUpdated: whether the transaction has written the update on the branch, which its history does not tell yet.
  private func takeResult(
    _ updated: BranchStates, since before: SessionMergeState, isUpdated: Bool, _ monitor: MergeMonitor,
    in session: inout Session
  ) throws {
    try session.settle()
    // The states compare by the lists of preimages.
    try session.storage.recorder?.flush()
    let states = try updated.refreshed(in: session.storage).directed(.update)
    let sides = states.sides
    let changed = try states.allChanged(with: session.storage)
    var options = MergeOptions(policy: .theirs)
    // An object that lost a chosen partner in the store keeps the other partner that it has on the branch.
    options.resolve = { $0.kind == .bothChanged && $0.theirs == .object(nil) ? .ours : nil }
    let plan = try MergePlanner.plan(
      store.schema, ours: MergeSideStates(base: before, now: sides.ours.now, changed: changed),
      theirs: MergeSideStates(base: before, now: sides.theirs.now, changed: changed),
      options: options, scratchDirectory: store.context.scratchDirectory())
    let view = session.storage.backend
    try BranchManager.own(&session) { manager in
      if isUpdated || !plan.operations.isEmpty {
        try manager.write(onBranch: name) { branch in
          let history = branch.state.history
          branch.state.history = nil
          try MergeApplication.own(&branch) { application in
            try application.apply(plan, from: states.theirs, base: states.theirs, monitor)
          }
          _ = try ObjectDeletion.deleteAll(plan.operations.deleted, in: &branch)
          if history == nil { return }
          try branch.settle()
          try DerivedRefresh.refreshAll(in: &branch)
          branch.state.history = history
          try announce(states, view, in: &branch)
        }
      }
      try manager.rebaseKeepingChanges(name)
    }
  }

  /// Records in the history of the branch what both steps have changed on it: it has one entry per commit.
  ///
  /// - Parameter view: the transaction of the store.
  private func announce(_ states: BranchStates, _ view: any StorageBackend, in branch: inout Session) throws {
    let ofStore = store.context.session(StorageTransaction(lookingInto: view), branch.schema)
    var announcement = try BranchAnnouncement(name, states.tables, in: ofStore)
    // Show the branch without the changes of this transaction.
    let earlier = try store.readSession()
    let before = try states.branch.readSession()
    try announcement.noteKeys(in: earlier.storage)
    let after = self.view(of: branch)
    try announcement.note(from: before, to: after, in: &branch)
  }
}
