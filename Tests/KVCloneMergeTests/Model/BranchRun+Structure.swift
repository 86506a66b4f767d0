import Foundation
import KVClone
import KVCloneCore
import KVCloneTestSupport
import Testing

/// Branches and snapshots that come and go, rollbacks, and a second process.
extension BranchRun {
  // MARK: Branches

  /// Creates a branch from the present state or from a snapshot, under a name that an earlier branch may have had.
  func createBranch() throws {
    let used = Set(copies.compactMap(\.name))
    guard let name = operations.pick((0..<25).map { "b\($0)" }.filter { !used.contains($0) }) else { return }
    guard chance(in: 3), let place = copies[0].snapshots.indices.randomElement(using: &operations.random) else {
      copies.append(BranchCopy(name, try test.store.branches.create(name), copies[0].oracle))
      created += 1
      return
    }
    let past = copies[0].snapshots[place]
    let snapshot = try test.store.snapshot(named: past.name)
    do throws(any Error) {
      let branch = try test.store.branches.create(name, from: snapshot)
      copies.append(BranchCopy(name, branch, past.oracle, baseSnapshot: past.name))
      copies[0].snapshots[place].branchCount += 1
      created += 1
    } catch let error as StoreError where error.kind == .unsupportedOnBranch {
      #expect(past.isFromWithin, "\(error.message), \(self.place)")
    }
    let info = try test.store.branches.list().last
    if info?.name == name { #expect(info?.changedObjectCount == 0 && info?.byteCount == 0, "\(self.place)") }
  }

  /// Deletes a random branch. Its open store is of no further use.
  func deleteBranch() throws {
    guard copies.count > 1 else { return }
    let copy = copies.remove(at: 1 + operations.random.below(copies.count - 1))
    guard let name = copy.name else { return }
    try test.store.branches.delete(name)
    deleted += 1
    releaseBase(copy, isFormer: false)
    expectError(.branchNotFound) { _ = try copy.store.read { tx in try tx.count(entity: "Tag") } }
  }

  /// Notes that a branch no longer has its named base.
  func releaseBase(_ copy: BranchCopy, isFormer: Bool) {
    for place in copies[0].snapshots.indices where copies[0].snapshots[place].name == copy.baseSnapshot {
      copies[0].snapshots[place].branchCount -= 1
      if isFormer { copies[0].snapshots[place].isFormerBase = true }
    }
  }

  /// Closes and opens the store, with all branches.
  func reopen() throws {
    reopenings += 1
    try test.reopen(options: options)
    copies[0].store = test.store
    for index in copies.indices.dropFirst() {
      if let name = copies[index].name { copies[index].store = try test.store.branches.open(name) }
    }
  }

  // MARK: Snapshots

  func createSnapshot(_ index: Int) throws {
    if chance(in: 4) {
      let snapshot = try copies[index].store.createAutomaticSnapshot()
      return try noteAutomatic(snapshot.name, copies[index].oracle, index)
    }
    let name = nextName()
    try copies[index].store.createSnapshot(named: name)
    copies[index].note(name, copies[index].oracle)
  }

  /// Records an automatic snapshot, and the deletion of those that it replaces.
  private func noteAutomatic(_ name: String, _ oracle: StoreOracle, _ index: Int) throws {
    copies[index].note(name, oracle, isAutomatic: true)
    try copies[index].dropDeleted()
    #expect(copies[index].snapshots.last?.name == name, "\(place)")
  }

  /// Deletes some snapshots; those that branches were created from cannot be deleted.
  func deleteSnapshots(_ index: Int) throws {
    let going = copies[index].snapshots.shuffled(using: &operations.random).prefix(1 + operations.random.below(3))
    let names = going.map(\.name)
    if names.isEmpty { return }
    if going.contains(where: { $0.branchCount > 0 }) {
      expectError(.snapshotInUse) { try copies[index].store.deleteSnapshots(named: names) }
      return
    }
    do throws(any Error) {
      try copies[index].store.deleteSnapshots(named: names)
      copies[index].snapshots.removeAll { names.contains($0.name) }
    } catch let error as StoreError where error.kind == .snapshotInUse {
      #expect(going.contains { $0.isFormerBase }, "\(error.message), \(place)")
    }
  }

  // MARK: Rollbacks

  /// Rolls back the store or a branch to a snapshot of its own.
  func rollBack(_ index: Int) throws {
    guard let past = operations.pick(copies[index].snapshots) else { return }
    let snapshot = try copies[index].store.snapshot(named: past.name)
    do {
      let result = try copies[index].store.rollback(to: snapshot)
      #expect(past.oracle.isUnique, "a conflict was brought back, \(place)")
      try noteRollback(result, to: past.oracle, index)
      copies[index].noteRollback(to: past)
    } catch is ValidationError {
      #expect(past.isFromWithin && !past.oracle.isUnique, "refused without a conflict, \(place)")
      refused += 1
    }
  }

  /// Resets a branch to its base, or to a snapshot of its own.
  func resetBranch(_ index: Int) throws {
    guard let name = copies[index].name else { return }
    let past = chance(in: 2) ? operations.pick(copies[index].snapshots) : nil
    guard past != nil || copies[index].knowsBase else { return }
    let snapshot = try past.map { try copies[index].store.snapshot(named: $0.name) }
    let expected = past?.oracle ?? copies[index].base
    do {
      let result = try test.store.branches.reset(name, to: snapshot)
      #expect(expected.isUnique, "a conflict was brought back, \(place)")
      try noteRollback(result, to: expected, index)
      if let past { copies[index].noteRollback(to: past) }
    } catch is ValidationError {
      #expect(past?.isFromWithin == true && !expected.isUnique, "refused without a conflict, \(place)")
      refused += 1
    }
  }

  /// Rolls back one object, and the objects that depend on it.
  func rollBackObjects(_ index: Int) throws {
    let copy = copies[index]
    guard let past = operations.pick(copy.snapshots), let id = operations.pick(past.oracle.objects.keys.sorted())
    else { return }
    let snapshot = try copy.store.snapshot(named: past.name)
    let coming = try snapshot.read { tx in try tx.cloneSet(of: [id]) }
    let present = copy.oracle.objects[id] == nil ? [] : try copy.store.read { tx in try tx.cloneSet(of: [id]) }
    var expected = copy.oracle
    expected.rollBack(coming, to: past.oracle, doomed: Set(present.filter { past.oracle.objects[$0] == nil }))
    do {
      let result = try copy.store.rollback(to: snapshot, objects: [id])
      #expect(expected.isUnique, "a conflict was brought back, \(place)")
      try noteRollback(result, to: expected, index)
    } catch is ValidationError {
      #expect(!expected.isUnique, "refused without a conflict, \(place)")
      refused += 1
    }
  }

  private func noteRollback(_ result: RollbackResult, to oracle: StoreOracle, _ index: Int) throws {
    rollbacks += 1
    // A branch without changes of its own is reset to its base without one.
    if let automatic = result.automaticSnapshot {
      try noteAutomatic(automatic.name, copies[index].oracle, index)
    } else {
      #expect(copies[index].name != nil && copies[index].oracle == oracle, "\(place)")
    }
    copies[index].oracle = oracle
  }

  // MARK: Two processes

  /// Another process and this one change the store or branches at the same time. Their commits have one sequence, in
  /// which they are repeated on the copies.
  func share() throws {
    shares += 1
    let (first, second) = (operations.random.below(copies.count), operations.random.below(copies.count))
    let seed = operations.random.next() >> 1
    let stepCount = 4
    let peer = try PeerProcess(
      "share", [test.location, "p\(shares)", "\(seed)", "\(stepCount)"] + [copies[first].name].compactMap { $0 })
    var own = SharedOperations("t\(shares)", copies[second].store, seed: seed + 1)
    var steps: [(index: Int, step: SharedOperations.Step)] = []
    for _ in 0..<stepCount {
      if let step = try own.step() { steps.append((second, step)) }
    }
    while let line = peer.hear() {
      steps.append((first, try JSONDecoder().decode(SharedOperations.Step.self, from: Data(line.utf8))))
    }
    #expect(try peer.finish() == 0, "a process failed, \(place)")
    #expect(Set(steps.map(\.step.commit)).count == steps.count, "two commits have one number, \(place)")
    var (names, inserted): (Set<String>, Set<ObjectID>) = ([], [])
    for (index, step) in steps.sorted(by: { $0.step.commit < $1.step.commit }) {
      for operation in step.operations {
        switch operation {
        case .snapshot(let name):
          names.insert(name)
          copies[index].note(name, copies[index].oracle, isFromWithin: true)
        case .insert(let id, _, _): inserted.insert(ObjectID(rawValue: id))
        default: break
        }
        try copies[index].oracle.repeatOperation(operation)
      }
      sharedCount += step.operations.count
    }
    try noteInserted(inserted)
    // The clients delete some of their snapshots.
    for index in Set([first, second]) { try copies[index].dropDeleted(names) }
  }
}
