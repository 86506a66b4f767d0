import KVClone
import KVCloneCore
import KVCloneMerge

/// A plan of a merge with everything that its page shows, without a transaction.
struct MergeContent: Sendable {
  /// The three values of a conflict, or the four of a changed property.
  struct Values: Sendable {
    var name: String
    var base: ObjectComparison.Side
    var ours: ObjectComparison.Side
    var theirs: ObjectComparison.Side
    var result: ObjectComparison.Side?
    /// Whether the result is the value of ours, and not that of theirs.
    var isResultOfOurs = false
  }

  struct Conflict: Sendable {
    var conflict: ObjectConflict
    /// The answer of the form or of a rule; nil if the conflict is open.
    var answer: ConflictAnswer?
    /// Nil for a conflict of whole objects.
    var values: Values?
    /// The name of the second object.
    var other: String?
  }

  struct Change: Sendable {
    var change: MergeChange
    var properties: [Values]
  }

  let target: MergeTarget
  /// The options of the merge, without answers that no longer fit.
  let form: MergeForm
  let plan: MergePlan
  /// The conflicts with answers that no longer fit, and were removed.
  let stale: [ObjectConflict]
  /// The error of an answer that cannot be used, and was removed.
  let invalid: MergeError?
  let states: MergeTarget.States
  let page: MergePages
  private(set) var conflicts: [Conflict] = []
  private(set) var changes: [Change] = []
  /// Whether changes follow those of the page.
  private(set) var hasMoreChanges = false

  static func read(_ context: PageContext, _ form: MergeForm) throws -> MergeContent {
    let target = try MergeTarget(context)
    var form = form
    var stale: [ObjectConflict] = []
    var invalid: MergeError?
    let page = try MergePages(context.query)
    // Each turn removes an answer.
    while true {
      do {
        let plan = try target.plan(context, form, listedChanges: page.change + MergePages.changeCount + 1)
        let count = form.answers.count
        form.remove { conflict in plan.staleAnswers.contains { $0.isSame(as: conflict) } }
        if form.answers.count < count {
          stale += plan.staleAnswers
          continue
        }
        var content = MergeContent(
          target: target, form: form, plan: plan, stale: stale, invalid: invalid, states: try target.states(context),
          page: page)
        try content.readValues()
        return content
      } catch let error as MergeError where error.kind == .invalidAnswer {
        let count = form.answers.count
        form.remove { conflict in error.conflicts.contains { $0.isSame(as: conflict) } }
        if form.answers.count == count { throw error }
        invalid = error
      }
    }
  }

  private init(
    target: MergeTarget, form: MergeForm, plan: MergePlan, stale: [ObjectConflict], invalid: MergeError?,
    states: MergeTarget.States, page: MergePages
  ) {
    (self.target, self.form, self.plan, self.stale) = (target, form, plan, stale)
    (self.invalid, self.states, self.page) = (invalid, states, page)
  }

  // MARK: Values

  private mutating func readValues() throws {
    let shown = plan.allConflicts.dropFirst(page.conflict).prefix(MergePages.conflictCount)
    let wanted = plan.changes.dropFirst(page.change)
    hasMoreChanges = wanted.count > MergePages.changeCount
    let listed = wanted.prefix(MergePages.changeCount)
    let states = states
    (conflicts, changes) = try states.ours.read(states.store) { ours in
      try states.theirs.read(states.store) { theirs in
        try (states.base ?? states.ours).read(states.store) { base in
          let conflicts = shown.map { item in
            let conflict = item.conflict
            let values = conflict.property.flatMap { name in
              conflict.ours == nil && conflict.theirs == nil
                ? nil
                : Values(
                  name: name, base: Self.side(conflict.base, name, conflict.id, base),
                  ours: Self.side(conflict.ours, name, conflict.id, ours),
                  theirs: Self.side(conflict.theirs, name, states.clones[conflict.id] ?? conflict.id, theirs))
            }
            return Conflict(
              conflict: conflict, answer: item.answer, values: values,
              other: conflict.other.map { (try? ours.nameOfAny($0)) ?? "\($0)" })
          }
          let changes = listed.map { change in
            let other = states.clones[change.id] ?? change.id
            return Change(
              change: change,
              properties: change.properties.map { property in
                let isOurs = property.result == property.ours
                return Values(
                  name: property.name, base: Self.side(property.base, property.name, change.id, base),
                  ours: Self.side(property.ours, property.name, change.id, ours),
                  theirs: Self.side(property.theirs, property.name, other, theirs),
                  result: isOurs
                    ? Self.side(property.result, property.name, change.id, ours)
                    : Self.side(property.result, property.name, other, theirs),
                  isResultOfOurs: isOurs)
              })
          }
          return (conflicts, changes)
        }
      }
    }
  }

  /// Describes a value. Its bytes are read from the state, which may have changed since the plan: then it has no
  /// preview.
  private static func side(
    _ value: ObjectConflict.Value?, _ property: String, _ id: ObjectID, _ state: borrowing ReadTransaction
  ) -> ObjectComparison.Side {
    do {
      switch value {
      case nil: return .absent
      case .attribute(let value)?: return try ObjectComparison.side(value, property, id, state)
      case .object(let target)?:
        let ids = target.map { [$0] } ?? []
        return try ObjectComparison.members(ids, ids.count, state)
      case .members(let ids)?: return try ObjectComparison.members(ids, ids.count, state)
      }
    } catch {
      if case .attribute(.blob(let blob)?)? = value { return .bytes(count: blob.byteCount, isImage: false) }
      return .absent
    }
  }
}

/// The positions of the lists of a plan.
struct MergePages: Sendable {
  static let conflictCount = 20
  static let changeCount = 20
  /// The number of changes that pages of a plan list. `compare` shows all differences of a branch.
  private static let maximumPosition = 10_000

  /// The number of conflicts before the page.
  let conflict: Int
  /// The number of changes before the page.
  let change: Int

  /// - Throws: ``ExplorerError`` with `badRequest`.
  init(_ query: QueryItems) throws(ExplorerError) {
    conflict = try Self.position(query["conflicts"])
    change = try Self.position(query["changes"])
  }

  private static func position(_ text: String?) throws(ExplorerError) -> Int {
    guard let text else { return 0 }
    guard let position = Int(text), (0...maximumPosition).contains(position) else {
      throw ExplorerError(
        .badRequest,
        "conflicts and changes are numbers from 0 to \(maximumPosition); use `kvclone branch merge --dry-run` for more")
    }
    return position
  }
}
