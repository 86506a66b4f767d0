import KVClone
import KVCloneBranches
import KVCloneCore
import KVCloneModel
import KVCloneRecords

/// The publish of chosen objects: an update of the branch, of which the store gets these objects only (M13).
struct PartialPublish: MergeSubject {
  private let whole: BranchMerge
  private let name: String
  private let objects: [ObjectID]

  init(_ store: ObjectStore, _ name: String, _ objects: [ObjectID]) {
    whole = BranchMerge(store, name, .publish)
    self.name = name
    self.objects = objects
  }

  var store: ObjectStore { whole.store }
  var operation: String { whole.operation }
  var keyArguments: [String] { whole.keyArguments + objects.map { String($0.rawValue) } }

  func open() throws -> (tables: BranchTables, branch: ObjectStore) { try whole.open() }

  func states(
    _ context: (tables: BranchTables, branch: ObjectStore), engine: any StorageBackend, _ view: any StorageBackend
  ) throws -> BranchStates {
    try whole.states(context, engine: engine, view)
  }

  /// Plans the changes of the chosen objects. The conflicts are those of all changes.
  func plan(_ states: BranchStates, _ options: MergeOptions) throws -> PlannedMerge {
    let all = try whole.plan(states, options)
    let chosen = try chosen(states)
    let sides = states.sides
    var own = options
    // An answer for another object fits, but its conflict is not among these.
    own.answers = options.answers.filter { chosen.contains($0.conflict.id) }
    let part = try MergePlanner.plan(
      store.schema, ours: sides.ours, theirs: sides.theirs.restricted(to: { chosen.contains($0) }), options: own)
    return part.with(conflicts: all.conflicts, staleAnswers: all.staleAnswers)
  }

  /// The objects with what a clone of them would copy, and the inserted objects that they need.
  private func chosen(_ states: BranchStates) throws -> ObjectSet {
    let theirs = states.theirs
    var found = ObjectSet()
    var queue: [ObjectID] = []
    func add(_ id: ObjectID) { if found.insert(id) { queue.append(id) } }
    let present = try objects.filter { try theirs.exists($0) }
    for id in objects { _ = found.insert(id) }
    guard !present.isEmpty else { return found }
    let copied = try ReadTransaction(states.theirs).cloneSet(of: present)
    found = ObjectSet()
    for id in objects + copied { add(id) }
    let ours = states.sides.ours.now
    while let id = queue.popLast() {
      guard let entity = try states.sides.theirs.now.entity(of: id) else { continue }
      for relationship in entity.relationships where !relationship.description.isOptional {
        for member in try states.sides.theirs.now.members(of: id, relationship)
        where try ours.entity(of: member) == nil { add(member) }
      }
    }
    return found
  }

  func write(
    _ plan: PlannedMerge, _ states: BranchStates, _ options: MergeOptions, _ monitor: MergeMonitor,
    in transaction: inout WriteTransaction
  ) throws -> WrittenMerge {
    let work = BranchMergeWork(plan, states, options, monitor, ["merge": operation, "branch": name])
    let chosen = try chosen(states)
    return try work.publish(in: &transaction) { past, fresh in
      // First what the store did not get, then the links that lead there from what it got. The attributes of these
      // objects are merged already: `sum` would count the branch's change twice.
      var rest = options
      rest.answers = options.answers.filter { !chosen.contains($0.conflict.id) }
      try keep(states, rest, past, in: &fresh) { !chosen.contains($0) }
      var merged = MergeOptions(policy: .ours)
      merged.userInfoKeys.merge = "\u{0}"
      try keep(states, merged, past, in: &fresh) { chosen.contains($0) }
    }
  }

  /// Merges changes of the branch into its new layer.
  private func keep(
    _ states: BranchStates, _ options: MergeOptions, _ past: borrowing Session, in fresh: inout Session,
    _ isWanted: (ObjectID) -> Bool
  ) throws {
    let (ours, theirs) = states.sidesAfterPublish(fresh, past)
    let plan = try MergePlanner.plan(
      fresh.schema, ours: ours, theirs: theirs.restricted(to: isWanted), options: options)
    try plan.applyWithoutHooks(from: past, in: &fresh)
  }

  func show(
    _ plan: PlannedMerge, _ states: BranchStates, _ options: MergeOptions, in transaction: inout WriteTransaction,
    _ body: (borrowing ReadTransaction) throws -> Void
  ) throws {
    try whole.show(plan, states, options, in: &transaction, body)
  }
}
