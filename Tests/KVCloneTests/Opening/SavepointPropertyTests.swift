import Foundation
import KVCloneTestSupport
import Testing

@testable import KVClone
@testable import KVCloneCore
@testable import KVCloneOperations

/// Random transactions with nested savepoints, half of them rolled back, on a store and on plain dictionaries.
///
/// `KVCLONE_SEEDS=7,8 KVCLONE_OPERATIONS=200000` repeats a failure, or searches for rarer ones.
@Suite("Savepoints compared with plain dictionaries")
struct SavepointPropertyTests {
  static let operationCount = PropertySeeds.count(1500)

  @Test("random operations in nested savepoints", arguments: PropertySeeds.seeds)
  func random(_ seed: UInt64) throws {
    let run = try SavepointRun(seed: seed)
    do {
      while run.operations.count < Self.operationCount { try run.transaction() }
      try run.end()
    } catch {
      Issue.record("\(error), \(run.place)")
    }
    if ProcessInfo.processInfo.environment["KVCLONE_OPERATIONS"] != nil { print(run.summary) }
  }
}

private struct Refusal: Error {}

private final class SavepointRun {
  private struct Copy {
    let name: String
    let oracle: StoreOracle
  }

  let operations: RandomOperations
  private let test: TestStore
  private var options = StoreOptions()
  /// Whether snapshots are created, in transactions and between them.
  private let hasSnapshots: Bool
  private var live: [Copy] = []
  /// Every assigned id; those of rolled-back transactions only until the store is reopened.
  private var known: Set<ObjectID> = []
  private var names = 0
  private var (transactions, kept, rolledBack, deepest, clones) = (0, 0, 0, 0, 0)
  private var commit: UInt64 = 0
  /// Whether the oracle was reloaded after a clone in this transaction: its links then have another form.
  private var isReloaded = false

  init(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    options.tracksHistory = random.chance(in: 2)
    options.journalMode = random.chance(in: 2) ? .writeAheadLog : .copyOnWrite
    hasSnapshots = random.chance(in: 2)
    let model = RandomModel(indexes: [.name, .motto, .text, .author], isDeriving: random.chance(in: 2)).description
    operations = RandomOperations(seed: seed, model)
    operations.capacity = 200
    test = try TestStore(model, options: options)
    commit = try test.store.info().commit
  }

  var place: String {
    "\(operations.place), transaction \(transactions), history \(options.tracksHistory == true), "
      + "snapshots \(hasSnapshots), \(options.journalMode)"
  }

  var summary: String {
    "\(place): \(kept) savepoints kept, \(rolledBack) rolled back, at most \(deepest) levels, \(clones) clones, "
      + "\(names) snapshots, \(operations.oracle.objects.count) objects at the end"
  }

  private func chance(in count: Int) -> Bool { operations.random.chance(in: count) }

  // MARK: Transactions

  func transaction() throws {
    transactions += 1
    let (before, copies) = (operations.oracle, live)
    let aborts = chance(in: 10)
    operations.fresh = []
    isReloaded = false
    var isCommitted = false
    do {
      try test.store.write { tx in
        for _ in 0..<(1 + operations.random.below(6)) { try step(&tx, level: 0) }
        if aborts { throw Refusal() }
      }
      isCommitted = true
      #expect(operations.oracle.isUnique, "a conflict was committed, \(place)")
    } catch is Refusal where aborts {
    } catch is ValidationError {
      #expect(!operations.oracle.isUnique, "refused without a conflict, \(place)")
    }
    let previous = commit
    commit = try test.store.info().commit
    if isCommitted {
      if before != operations.oracle { #expect(commit == previous + 1, "commit counter, \(place)") }
      try compareHistory(since: previous, before)
    } else {
      #expect(commit == previous, "commit counter, \(place)")
      (operations.oracle, live) = (before, copies)
    }
    #expect(known.isDisjoint(with: operations.fresh), "an id was used again, \(place)")
    known.formUnion(operations.fresh)
    try between()
  }

  private func between() throws {
    if hasSnapshots, live.count < 6, chance(in: 6) {
      try test.store.createSnapshot(named: nextName())
      live.append(Copy(name: "\(names)", oracle: operations.oracle))
    } else if live.count > 3, chance(in: 3) {
      try test.store.deleteSnapshot(named: live.remove(at: operations.random.below(live.count)).name)
    }
    commit = try test.store.info().commit
    if chance(in: 15) {
      try test.reopen(options: options)
      known = Set(operations.oracle.objects.keys)
    }
    if transactions % 10 == 0 { try compare() }
  }

  private func nextName() -> String {
    names += 1
    return "\(names)"
  }

  /// Runs one operation, or a savepoint with several.
  private func step(_ tx: inout WriteTransaction, level: Int) throws {
    guard level < 4, chance(in: 2) else { return try operation(&tx) }
    deepest = max(deepest, level + 1)
    let (before, copies) = (operations.oracle, live)
    let fails = chance(in: 2)
    do {
      try tx.savepoint { tx in
        for _ in 0..<operations.random.below(5) { try step(&tx, level: level + 1) }
        if fails {
          if chance(in: 3) { try failHalfWay(&tx) }
          throw Refusal()
        }
      }
      kept += 1
    } catch is Refusal {
      (operations.oracle, live) = (before, copies)
      rolledBack += 1
    }
  }

  /// Makes a change that fails after a partial write.
  private func failHalfWay(_ tx: inout WriteTransaction) throws {
    guard let id = operations.pick(operations.oracle.ids("Named")) else { throw Refusal() }
    try tx.setData(id, "data") { writer in
      try writer.append(Data(repeating: 9, count: (1 + operations.random.below(2)) << 20))
      throw Refusal()
    }
  }

  private func operation(_ tx: inout WriteTransaction) throws {
    switch operations.random.below(40) {
    case 0..<3: try clone(&tx)
    case 3 where hasSnapshots && live.count < 12:
      let name = nextName()
      try tx.createSnapshot(named: name)
      live.append(Copy(name: name, oracle: operations.oracle))
    default: try operations.operation(&tx)
    }
  }

  /// Clones an object; other tests cover the contents of clones.
  private func clone(_ tx: inout WriteTransaction) throws {
    guard operations.oracle.objects.count < 2 * operations.capacity,
      let id = operations.pick(operations.oracle.objects.keys.sorted())
    else { return }
    var options = CloneOptions()
    options.recordsProvenance = chance(in: 2)
    options.blobs = chance(in: 4) ? .copy : .share
    for relationship in operations.oracle.model.relationships(of: operations.oracle.objects[id]?.entity ?? "")
    where !chance(in: 4) {
      options.excludedRelationshipNames.append(relationship.name)
    }
    guard let set = try? tx.cloneSet(of: [id], options: options), set.count <= 20 else { return }
    let before = Set(operations.oracle.objects.keys)
    do {
      // A rejected clone would end the transaction, but not in a savepoint.
      try tx.savepoint { tx in _ = try tx.clone([id], options: options) }
    } catch is CloneError {
      return
    }
    clones += 1
    try operations.oracle.reload(tx)
    isReloaded = true
    operations.fresh.formUnion(Set(operations.oracle.objects.keys).subtracting(before))
  }

  // MARK: Comparison

  /// Compares the inserted and deleted objects in the last commit's history.
  private func compareHistory(since previous: UInt64, _ before: StoreOracle) throws {
    guard options.tracksHistory == true, commit > previous else { return }
    // A transaction that only creates snapshots is not in the history.
    guard let last = try test.store.history().last, last.commit == commit else { return }
    let (old, new) = (Set(before.objects.keys), Set(operations.oracle.objects.keys))
    #expect(try Set(last.insertedIDs()) == new.subtracting(old), "inserted objects of the history, \(place)")
    #expect(try Set(last.deletedIDs()) == old.subtracting(new), "deleted objects of the history, \(place)")
    let updated = try Set(last.updatedProperties().keys)
    if !isReloaded {
      for id in old.intersection(new) where before.objects[id] != operations.oracle.objects[id] {
        #expect(updated.contains(id), "\(id) was updated, \(place)")
      }
    }
    #expect(updated.isSubset(of: old.intersection(new)), "updated objects of the history, \(place)")
  }

  private func compare() throws {
    try test.store.read { tx in
      try operations.oracle.compare(tx)
      try operations.oracle.compareFetches(tx, &operations.random)
    }
    #expect(try test.store.snapshots().map(\.name) == live.map(\.name), "\(place)")
    for copy in live {
      do {
        try test.store.snapshot(named: copy.name).read { tx in try copy.oracle.compare(tx) }
      } catch { throw StoreDifference("snapshot \(copy.name): \(error)") }
    }
    if live.isEmpty { try test.store.expectNoPreviousStates() }
    try checked(test.store)
  }

  func end() throws {
    try compare()
    try test.reopen(options: options)
    try compare()
    try test.store.deleteSnapshots(named: live.map(\.name).shuffled(using: &operations.random))
    live = []
    try compare()
    // Deletes all objects, and so all bytes. Links that deny deletions are removed first.
    try test.store.write { tx in
      for club in operations.oracle.ids("Club") { try tx.setToOne(club, "sponsor", nil) }
      _ = try tx.delete(operations.oracle.objects.keys.sorted())
    }
    #expect(try test.store.info().objectCount == 0 && test.store.blobCount() == 0, "\(place)")
    try checked(test.store)
  }
}
