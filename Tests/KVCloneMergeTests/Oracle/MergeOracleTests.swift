import Foundation
import KVCloneMerge
import KVCloneTestSupport
import Testing

/// Merges of random histories against an oracle that was written from the rules alone.
///
/// `KVCLONE_HISTORIES` is the number of histories, `KVCLONE_SEEDS` the seeds of single ones.
@Suite("Merges against an oracle")
struct MergeOracleTests {
  private static let count = Int(ProcessInfo.processInfo.environment["KVCLONE_HISTORIES"] ?? "") ?? 300

  @Test("M1–M5, M7, M14, M17: plans, results and conflicts of random histories are the oracle's")
  func histories() {
    let given = PropertySeeds.hasGivenSeeds
    let first = UInt64.random(in: 0 ... .max)
    let seeds = given ? PropertySeeds.seeds : (0..<Self.count).map { first &+ UInt64($0) }
    for seed in seeds {
      let history = OracleHistory(seed: seed)
      guard let failure = problem(history) else { continue }
      let small = history.shrunk { problem($0) != nil }
      Issue.record(
        """
        seed \(seed): \(failure)
        shrunk: \(problem(small) ?? "passes")
        base \(small.baseEdits)
        ours \(small.oursEdits)
        theirs \(small.theirsEdits)
        options \(small.options)
        model \(small.model)
        """)
      return
    }
  }

  private func problem(_ history: OracleHistory) -> String? {
    do {
      for direction in MergeDirection.allCases {
        if let text = try difference(history, direction) { return "\(direction): \(text)" }
      }
      return nil
    } catch {
      return "\(error)"
    }
  }

  private func difference(_ history: OracleHistory, _ direction: MergeDirection) throws -> String? {
    let subject = try StoreOracleSubject(history.model, base: history.baseEdits, on: .memory)
    try subject.apply(history.oursEdits, to: .ours)
    try subject.apply(history.theirsEdits, to: .theirs)
    for (side, state) in [(DictionarySide.ours, history.ours), (.theirs, history.theirs)] {
      if let text = try subject.state(of: side).difference(to: state) { return "before the merge, \(side): \(text)" }
    }
    let isPublish = direction == .publish
    let expected = DictionaryMerge(
      base: history.base, ours: isPublish ? history.ours : history.theirs,
      theirs: isPublish ? history.theirs : history.ours, options: history.options)
    let plan = try subject.plan(direction, history.options)
    let conflicts = expected.conflicts.mapValues { $0 != nil }
    if plan.conflicts != conflicts { return "conflicts \(plan.conflicts) instead of \(conflicts)" }
    let canMerge = !expected.hasOpenConflicts && expected.broken.isEmpty
    if plan.canMerge != canMerge { return "can merge: \(plan.canMerge), broken rules \(expected.broken)" }
    guard canMerge else { return try refusal(subject, history, direction) }
    let isOrdered = expected.united.isEmpty
    let planned = try subject.plannedState(direction, history.options)
    if let text = planned.difference(to: expected.result, isOrdered: isOrdered) { return "plan: \(text)" }
    try subject.merge(direction, history.options)
    try subject.check()
    let merged = try subject.state(of: isPublish ? .ours : .theirs)
    if let text = merged.difference(to: planned) { return "merge against plan: \(text)" }
    let other = try subject.state(of: isPublish ? .theirs : .ours)
    if let text = other.difference(to: isPublish ? merged : history.ours) { return "other side: \(text)" }
    let again = try subject.plan(direction, history.options)
    if !again.conflicts.isEmpty || again.changeCount > 0 || !again.canMerge { return "a second merge: \(again)" }
    try subject.merge(direction, history.options)
    return try subject.state(of: isPublish ? .ours : .theirs).difference(to: merged).map { "a second merge: \($0)" }
  }

  /// A merge that the plan refuses throws, and changes nothing.
  private func refusal(
    _ subject: StoreOracleSubject, _ history: OracleHistory, _ direction: MergeDirection
  ) throws -> String? {
    do {
      try subject.merge(direction, history.options)
      return "the merge succeeds without a plan"
    } catch is MergeError {
      return try subject.state(of: .ours).difference(to: history.ours)
        ?? subject.state(of: .theirs).difference(to: history.theirs)
    }
  }
}

extension DictionaryState {
  /// The first difference to an expected state, in words; without order, lists are compared as sets.
  func difference(to expected: DictionaryState, isOrdered: Bool = true) -> String? {
    for id in Set(objects.keys).union(expected.objects.keys).sorted() {
      guard let object = objects[id] else { return "\(id) is missing" }
      guard let other = expected.objects[id] else { return "\(id) is too many" }
      if object.values != other.values { return "\(id) has \(object.values) instead of \(other.values)" }
      for name in Set(object.links.keys).union(other.links.keys).sorted() {
        let (now, then) = (members(id, name), expected.members(id, name))
        if isOrdered ? now != then : Set(now) != Set(then) { return "\(id).\(name) has \(now) instead of \(then)" }
      }
    }
    return nil
  }
}
