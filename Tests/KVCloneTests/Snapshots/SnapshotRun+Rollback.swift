import KVCloneTestSupport
import Testing

@testable import KVClone
@testable import KVCloneCore

/// Transitions between states: differences, rollbacks, and clones from snapshots.
extension SnapshotRun {
  // MARK: Differences

  /// Compares two snapshots in any order, or a snapshot and the current state.
  func compareDifferences() throws {
    guard let first = operations.pick(live), let other = operations.pick(live) else { return }
    let second = chance(in: 2) ? other : nil
    let from = try test.store.snapshot(named: first.name)
    let to = try second.map { try test.store.snapshot(named: $0.name) }
    let found = try test.store.diff(from: from, to: to).map(\.comparable)
    let expected = first.oracle.differences(to: second?.oracle ?? operations.oracle)
    differences += 1
    if found == expected { return }
    let unknown = Dictionary(uniqueKeysWithValues: expected.map { ($0.id, $0) })
    let wrong = found.first { unknown[$0.id] != $0 }
    let missing = expected.first { expected in !found.contains { $0.id == expected.id } }
    throw StoreDifference(
      "the difference between \(first.name) and \(second?.name ?? "now"): "
        + (wrong.map { "\($0), not \(unknown[$0.id].map { "\($0)" } ?? "none")" } ?? "")
        + (missing.map { "\($0) is missing" } ?? "") + (wrong == nil && missing == nil ? "the order" : ""))
  }

  // MARK: Rollbacks

  /// Rolls back the whole store: the result agrees with the plan, and the state is that of the snapshot.
  func rollBackStore() throws {
    guard let copy = operations.pick(live) else { return }
    let snapshot = try test.store.snapshot(named: copy.name)
    let before = operations.oracle
    let expected = before.differences(to: copy.oracle)
    let counts = [
      expected.count { $0.kind == .updated }, expected.count { $0.kind == .inserted },
      expected.count { $0.kind == .deleted },
    ]
    let plan = try test.store.planRollback(to: snapshot)
    #expect(plan.counts == counts, "the plan, \(place)")
    let token = try test.store.currentToken()
    do {
      let result = try test.store.rollback(to: snapshot)
      #expect(copy.oracle.isUnique, "a conflict was brought back, \(place)")
      #expect(result.counts == counts, "\(place)")
      operations.oracle = copy.oracle
      rollbacks += 1
      try noteRollback(result, before, sparing: copy.name)
    } catch is ValidationError {
      // The snapshot was created within a transaction, which resolved the conflict before its end.
      #expect(copy.isFromWithin && !copy.oracle.isUnique, "\(place)")
      refused += 1
    }
    if options.tracksHistory == true, let told = try test.store.history(after: token).first {
      #expect(told.operation == "rollback")
      #expect(Int(told.insertedCount) == counts[1] && Int(told.deletedCount) == counts[2], "the history, \(place)")
      // The history also contains objects with long lists that have other chunk boundaries.
      #expect(Int(told.updatedCount) >= counts[0], "the history, \(place)")
    }
    try compareStore()
  }

  /// Rolls back some objects, and the objects that depend on them.
  func rollBackObjects() throws {
    guard let copy = operations.pick(live) else { return }
    let all = copy.oracle.objects.keys.sorted()
    let ids = Set((0..<(1 + operations.random.below(2))).compactMap { _ in operations.pick(all) }).sorted()
    if ids.isEmpty { return }
    let snapshot = try test.store.snapshot(named: copy.name)
    let past = try snapshot.read { tx in try tx.cloneSet(of: ids) }
    let before = operations.oracle
    let left = ids.filter { before.objects[$0] != nil }
    let now = left.isEmpty ? [] : try test.store.read { tx in try tx.cloneSet(of: left) }
    let doomed = now.filter { copy.oracle.objects[$0] == nil }
    var expected = before
    expected.rollBack(past, to: copy.oracle, doomed: Set(doomed))
    let counts = [
      before.changedCount(past, since: copy.oracle), past.count { before.objects[$0] == nil }, doomed.count,
    ]
    let plan = try test.store.planRollback(to: snapshot, objects: ids)
    #expect(plan.counts == counts, "the plan, \(place)")
    do {
      let result = try test.store.rollback(to: snapshot, objects: ids)
      #expect(expected.isUnique, "a conflict was brought back, \(place)")
      #expect(result.counts == counts, "\(place)")
      operations.oracle = expected
      objectRollbacks += 1
      try noteRollback(result, before, sparing: copy.name)
    } catch is ValidationError {
      #expect(!expected.isUnique, "refused without a conflict, \(place)")
      refused += 1
    }
    try compareStore()
  }

  private func noteRollback(_ result: RollbackResult, _ before: StoreOracle, sparing kept: String) throws {
    noteAutomatic(try #require(result.automaticSnapshot), before, sparing: kept)
  }

  // MARK: Clones

  /// Clones from a snapshot; other tests cover the rules.
  func cloneSnapshot() throws {
    guard let (copy, id, options) = pickClone(live) else { return }
    let snapshot = try test.store.snapshot(named: copy.name)
    guard try isSmall(id, snapshot, options) else { return }
    do {
      _ = try test.store.clone([id], from: snapshot, options: options)
    } catch {
      guard error is CloneError || error is ValidationError else { throw error }
      return
    }
    try believe()
  }

  /// Clones from a snapshot within a transaction that has made other changes.
  func cloneSnapshot(_ tx: inout WriteTransaction) throws {
    let names = Set(live.map(\.name))
    guard let (copy, id, options) = pickClone(standing.filter { names.contains($0.name) }) else { return }
    let snapshot = try test.store.snapshot(named: copy.name)
    guard try isSmall(id, snapshot, options) else { return }
    _ = try tx.clone([id], from: snapshot, options: options)
    clonesOfSnapshots += 1
    let before = Set(operations.oracle.objects.keys)
    try operations.oracle.reload(tx)
    operations.fresh.formUnion(Set(operations.oracle.objects.keys).subtracting(before))
  }

  private func pickClone(_ copies: [Copy]) -> (Copy, ObjectID, CloneOptions)? {
    guard operations.oracle.objects.count < 2 * operations.capacity, let copy = operations.pick(copies),
      let id = operations.pick(copy.oracle.objects.keys.sorted())
    else { return nil }
    var options = CloneOptions()
    options.recordsProvenance = chance(in: 2)
    options.blobs = chance(in: 4) ? .copy : .share
    for relationship in copy.oracle.model.relationships(of: copy.oracle.objects[id]?.entity ?? "")
    where !chance(in: 3) {
      options.excludedRelationshipNames.append(relationship.name)
    }
    return (copy, id, options)
  }

  private func isSmall(_ id: ObjectID, _ snapshot: Snapshot, _ options: CloneOptions) throws -> Bool {
    try snapshot.read { tx in (try? tx.cloneSet(of: [id], options: options)).map { $0.count <= 30 } ?? false }
  }

  private func believe() throws {
    clonesOfSnapshots += 1
    let before = Set(operations.oracle.objects.keys)
    var oracle = operations.oracle
    try test.store.read { tx in try oracle.reload(tx) }
    operations.oracle = oracle
    known += Set(oracle.objects.keys).subtracting(before).sorted()
  }
}

extension RollbackPlan {
  fileprivate var counts: [Int] { [updatedCount, recreatedCount, deletedCount] }
}

extension RollbackResult {
  fileprivate var counts: [Int] { [updatedCount, recreatedCount, deletedCount] }
}
