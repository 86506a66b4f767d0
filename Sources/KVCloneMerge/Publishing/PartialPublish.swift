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
    let sides = states.sides(.update)
    var exchanged = options
    exchanged.answers = []
    exchanged.policy = nil
    exchanged.resolve = Self.answers(plan.conflicts)
    let update = try MergePlanner.plan(store.schema, ours: sides.ours, theirs: sides.theirs, options: exchanged)
    try update.requireMergeable()
    return try BranchMergeWork(plan, states, options, monitor, name, .publish)
      .publish(in: &transaction, keeping: update)
  }

  /// The answers for the same conflicts with the sides exchanged (M17).
  private static func answers(_ conflicts: [ResolvedConflict]) -> @Sendable (ObjectConflict) -> ConflictAnswer? {
    struct Place: Hashable {
      let objects: Set<ObjectID>
      let kind: ObjectConflict.Kind
      let property: String?

      init(_ conflict: ObjectConflict, isExchanged: Bool) {
        objects = Set([conflict.id] + (conflict.kind == .notUnique ? [conflict.other].compactMap(\.self) : []))
        property = conflict.property
        kind =
          switch conflict.kind {
          case .deletedOurs: isExchanged ? .deletedTheirs : .deletedOurs
          case .deletedTheirs: isExchanged ? .deletedOurs : .deletedTheirs
          default: conflict.kind
          }
      }
    }
    let known = Dictionary(
      conflicts.compactMap { conflict in
        conflict.answer.map { (Place(conflict.conflict, isExchanged: false), $0) }
      }, uniquingKeysWith: { first, _ in first })
    return { conflict in
      switch known[Place(conflict, isExchanged: true)] {
      case .side(.ours): .theirs
      case .side(.theirs): .ours
      case let answer: answer
      }
    }
  }

  func show(
    _ plan: PlannedMerge, _ states: BranchStates, _ options: MergeOptions, in transaction: inout WriteTransaction,
    _ body: (borrowing ReadTransaction) throws -> Void
  ) throws {
    try whole.show(plan, states, options, in: &transaction, body)
  }
}
