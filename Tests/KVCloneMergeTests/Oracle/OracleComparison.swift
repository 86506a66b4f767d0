import KVCloneMerge
import KVCloneTestSupport
import Testing

/// The comparison of one history with the oracle, in both directions.
extension OracleHistory {
  /// Returns the first difference, in words; nil without one.
  func problem(_ tally: inout OracleTally) -> String? {
    tally.histories += 1
    do {
      for direction in MergeDirection.allCases {
        var comparison = try OracleComparison(self, first: direction)
        if let text = try comparison.difference(&tally) { return "\(direction): \(text)" }
      }
      return nil
    } catch {
      return "\(error)"
    }
  }
}

/// A store and its branch that are edited and merged in rounds, and what they have to contain.
private struct OracleComparison {
  private let history: OracleHistory
  private let first: MergeDirection
  private let subject: OracleSubject
  private var base: DictionaryState
  private var ours: DictionaryState
  private var theirs: DictionaryState

  init(_ history: OracleHistory, first: MergeDirection) throws {
    self.history = history
    self.first = first
    subject = try OracleSubject(history.model, base: history.baseEdits, on: history.isOnDisk ? .lmdb : .memory)
    try subject.apply(history.oursEdits, to: .ours)
    try subject.apply(history.theirsEdits, to: .theirs)
    (base, ours, theirs) = (history.base, history.ours, history.theirs)
  }

  /// Compares the merge of the history, then merges in any order after further edits.
  mutating func difference(_ tally: inout OracleTally) throws -> String? {
    if let text = try differenceOfSides() { return "before the merge, \(text)" }
    if let text = try differenceOfDirections() { return "conflicts of both directions: \(text)" }
    if let text = try merge(first, history.options, &tally) { return text }
    for round in stride(from: 1, through: history.roundCount, by: 1) {
      var source = EditSource(
        model: history.model, entities: history.entities, seed: history.seed &+ UInt64(round) &* 0x9E37)
      source.nextID = 20_000 * round + 10_001
      let oursEdits = source.transactions(source.random.below(4), from: &ours, inserts: 15)
      try subject.apply(oursEdits, to: .ours)
      source.nextID = 20_000 * round + 20_001
      let theirsEdits = source.transactions(source.random.below(4), from: &theirs, inserts: 15)
      try subject.apply(theirsEdits, to: .theirs)
      let direction: MergeDirection = source.random.isTrue(50) ? .publish : .update
      if let text = try differenceOfSides() { return "before round \(round), \(text)" }
      if let text = try merge(direction, source.options(), &tally) {
        return "round \(round), \(direction): \(text); ours \(oursEdits), theirs \(theirsEdits)"
      }
    }
    return nil
  }

  private func differenceOfSides() throws -> String? {
    for (side, state) in [(DictionarySide.ours, ours), (.theirs, theirs)] {
      if let text = try subject.state(of: side).difference(to: state) { return "\(side): \(text)" }
    }
    return nil
  }

  /// Compares the conflicts of both directions (M17). Rules that are only about theirs have no opposite.
  private func differenceOfDirections() throws -> String? {
    let rules =
      history.model.entities.flatMap { $0.attributes.map(\.role) + $0.relationships.map(\.role) }
      + history.options.rules.values.map { $0 }
    if rules.contains(.skip) { return nil }
    var options = [DictionaryOptions(refusesAll: true)]
    if !rules.contains(where: { $0?.side != nil }) { options.append(history.options) }
    for options in options {
      let publish = Set(try subject.plan(.publish, options).conflicts.keys)
      let update = Set(try subject.plan(.update, options.exchanged).conflicts.keys.map(\.exchanged))
      if publish != update {
        return "\(publish.subtracting(update)) of a publish alone, \(update.subtracting(publish)) of an update alone"
      }
    }
    return nil
  }

  /// Compares a merge with the oracle, and takes over the states and the base that it leaves (M9).
  private mutating func merge(
    _ direction: MergeDirection, _ options: DictionaryOptions, _ tally: inout OracleTally
  ) throws -> String? {
    let isPublish = direction == .publish
    let expected = DictionaryMerge(
      base: base, ours: isPublish ? ours : theirs, theirs: isPublish ? theirs : ours, options: options)
    tally.note(expected)
    let report = try subject.plan(direction, options)
    let conflicts = expected.conflicts.mapValues { $0 != nil }
    if report.conflicts != conflicts { return "conflicts \(report.conflicts) instead of \(conflicts)" }
    let canMerge = !expected.hasOpenConflicts && expected.broken.isEmpty
    if report.plan.canMerge != canMerge {
      return "can merge: \(report.plan.canMerge), broken rules \(expected.broken), \(report.plan.issues)"
    }
    guard canMerge else { return try refusal(direction, options) }
    let planned = try subject.state(of: report)
    if let text = planned.difference(to: expected.result, isOrdered: expected.united.isEmpty) { return "plan: \(text)" }
    let result = try subject.merge(direction, options)
    if result.counts != report.plan.counts { return "counts \(result.counts) instead of \(report.plan.counts)" }
    if result.resolved != report.plan.allConflicts { return "answers \(result.resolved)" }
    try subject.check()
    base = isPublish ? planned : ours
    (ours, theirs) = (isPublish ? planned : ours, planned)
    if let text = try differenceOfSides() { return "merge against plan, \(text)" }
    let again = try subject.plan(direction, options)
    if !again.conflicts.isEmpty || !again.plan.objects.isEmpty || !again.plan.canMerge {
      return "a second merge: \(again.conflicts) \(again.plan.counts)"
    }
    if try !subject.merge(direction, options).objects.isEmpty { return "a second merge changes objects" }
    return try differenceOfSides().map { "a second merge, \($0)" }
  }

  /// A merge that the plan refuses throws, and changes nothing.
  private func refusal(_ direction: MergeDirection, _ options: DictionaryOptions) throws -> String? {
    do {
      _ = try subject.merge(direction, options)
      return "the merge succeeds without a plan"
    } catch is MergeError {
      return try differenceOfSides().map { "a refused merge, \($0)" }
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
