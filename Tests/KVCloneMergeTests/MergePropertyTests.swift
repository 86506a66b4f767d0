import KVCloneCore
import KVCloneMerge
import KVCloneModel
import KVCloneRecords
import KVCloneTestSupport
import Testing

/// Properties of merges of random histories on a model with all kinds of relationships.
@Suite struct MergePropertyTests {
  private let count = PropertySeeds.count(600)

  private func forEachHistory(_ body: (UInt64, MergeFixture) throws -> Void) throws {
    for start in PropertySeeds.seeds {
      for index in 0..<UInt64(count) {
        let seed = start &+ index
        try body(seed, try MergeFixture.random(seed, changes: 4 + Int(seed % 3) * 8))
      }
    }
  }

  @Test("M1 to M5: changes of theirs alone give its state, and changes of ours alone nothing") func m1OneSideAlone()
    throws
  {
    try forEachHistory { seed, fixture in
      let (base, theirs) = (fixture.base, fixture.theirs)
      let options = MergeOptions(rules: ["Person.badge": .theirs])
      func plan(_ ours: MemoryMergeState, _ theirs: MemoryMergeState) throws -> PlannedMerge {
        try MergePlanner.plan(
          base.schema, ours: MergeSideStates(base: base, now: ours, changed: ours.changed(since: base)),
          theirs: MergeSideStates(base: base, now: theirs, changed: theirs.changed(since: base)), options: options)
      }
      let forward = try plan(base, theirs)
      #expect(forward.conflicts.isEmpty, "seed \(seed): \(forward.conflictTexts)")
      let result = base.copy()
      let deletion = result.apply(forward)
      #expect(result.objects == theirs.objects, "seed \(seed): \(difference(result, theirs))")
      #expect(deletion.taken == deletion.asked, "seed \(seed)")
      let nothing = try plan(fixture.ours, base)
      #expect(nothing.conflicts.isEmpty && nothing.operations.isEmpty, "seed \(seed)")
    }
  }

  @Test("M14: equal sides have nothing to merge") func m14EqualSides() throws {
    try forEachHistory { seed, fixture in
      let ours = fixture.ours
      let states = MergeSideStates(base: fixture.base, now: ours, changed: ours.changed(since: fixture.base))
      let rules: [String: MergeRule] = ["Person.visits": .ours]
      let plan = try MergePlanner.plan(
        fixture.base.schema, ours: states, theirs: states, options: MergeOptions(rules: rules))
      #expect(plan.conflicts.isEmpty && plan.operations.isEmpty, "seed \(seed): \(plan.conflictTexts)")
    }
  }

  @Test("M17: both directions have the same conflicts and the same result") func m17BothDirections() throws {
    // A rule that is only about theirs has no opposite.
    let rules: [String: MergeRule] = ["Person.badge": .max]
    try forEachHistory { seed, fixture in
      for policy in [nil, MergeSide.ours, .theirs] {
        let plan = try fixture.plan(MergeOptions(policy: policy, rules: rules))
        let reverse = try fixture.reversePlan(MergeOptions(policy: policy?.other, rules: rules))
        let (one, other) = (places(plan, exchanged: false), places(reverse, exchanged: true))
        #expect(one == other, "seed \(seed), policy \(policy?.rawValue ?? "none"): \(one) \(other)")
        guard policy != nil, one == other else { continue }
        #expect(
          plan.issueCount == reverse.issueCount,
          "seed \(seed): \(plan.issues.map(\.message)) \(reverse.issues.map(\.message)) \(plan.conflictTexts)")
        let (result, opposite) = (fixture.ours.copy(), fixture.theirs.copy())
        let deletion = result.apply(plan)
        _ = opposite.apply(reverse)
        if plan.issues.contains(where: { $0.kindName == "deleteDenied" }) { continue }
        #expect(deletion.taken == deletion.asked, "seed \(seed): \(plan.conflictTexts)")
        #expect(result.isConsistent, "seed \(seed)")
        if plan.issues.isEmpty { #expect(!result.hasEqualUniqueValues, "seed \(seed)") }
        if plan.conflicts.contains(where: { $0.conflict.kind == .notUnique }) { continue }
        #expect(
          result.withoutOrder.objects == opposite.withoutOrder.objects,
          "seed \(seed), policy \(policy?.rawValue ?? "none"): \(difference(result, opposite)) \(plan.conflictTexts)")
      }
    }
  }

  @Test("M7: answers of conflicts lead to a plan without conflicts, which the states after the merge repeat")
  func m7AnswersEndAllConflicts() throws {
    try forEachHistory { seed, fixture in
      let plan = try fixture.plan(MergeOptions { $0.id.serial % 2 == 0 ? .ours : .theirs })
      #expect(plan.openConflicts.isEmpty, "seed \(seed)")
      let result = fixture.result(plan)
      // Publishing moves the base to theirs: nothing is left of its changes.
      let again = try MergePlanner.plan(
        fixture.base.schema,
        ours: MergeSideStates(base: fixture.theirs, now: result, changed: result.changed(since: fixture.theirs)),
        theirs: MergeSideStates(base: fixture.theirs, now: fixture.theirs, changed: ObjectSet()))
      #expect(again.conflicts.isEmpty && again.operations.isEmpty, "seed \(seed)")
    }
  }

  private func places(_ plan: PlannedMerge, exchanged: Bool) -> [String] {
    plan.conflicts.map(\.conflict).map { conflict in
      let kind: ObjectConflict.Kind =
        switch conflict.kind {
        case .deletedOurs where exchanged: .deletedTheirs
        case .deletedTheirs where exchanged: .deletedOurs
        default: conflict.kind
        }
      let ids = [conflict.id, kind == .notUnique ? conflict.other : nil].compactMap { $0 }.sorted()
      return "\(kind.rawValue) \(ids) \(conflict.property ?? "-")"
    }.sorted()
  }

  private func difference(_ one: MemoryMergeState, _ other: MemoryMergeState) -> String {
    one.changed(since: other).ids.map { id in
      "\(id): \(one.text(id)) | \(other.text(id))"
    }.joined(separator: "; ")
  }
}

extension ObjectSet {
  fileprivate var ids: [ObjectID] {
    var ids: [ObjectID] = []
    forEach { id in
      ids.append(id)
      return true
    }
    return ids
  }
}

extension MemoryMergeState {
  fileprivate func text(_ id: ObjectID) -> String {
    guard let object = objects[id] else { return "absent" }
    let links = object.entity.relationships.map { "\($0.name) \(members(of: id, $0))" }
    return "\(object.entity.name) \(object.values.sorted { $0.key < $1.key }.map { "\($0): \($1)" }) \(links)"
  }

  /// The state with all lists in ascending order.
  fileprivate var withoutOrder: MemoryMergeState {
    let copy = copy()
    for id in objects.keys {
      for (code, list) in objects[id]?.links ?? [:] { copy.objects[id]?.links[code] = list.sorted() }
    }
    return copy
  }

  /// Whether every link has both ends, and every object that it leads to.
  fileprivate var isConsistent: Bool {
    objects.allSatisfy { id, object in
      object.entity.relationships.allSatisfy { relationship in
        let list = members(of: id, relationship)
        return Set(list).count == list.count && (relationship.isToMany || list.count <= 1)
          && list.allSatisfy { objects[$0]?.links[relationship.inverseCode]?.contains(id) ?? false }
      }
    }
  }
}
