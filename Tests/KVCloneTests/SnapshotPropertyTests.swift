import Foundation
import KVCloneTestSupport
import Testing

@testable import KVClone

/// Random operations on a store whose snapshots come and go, each held against a full copy of the plain dictionaries.
///
/// `KVCLONE_SEEDS=7,8 KVCLONE_OPERATIONS=100000` repeats a failure, or looks for rarer ones.
@Suite("Snapshots against full copies")
struct SnapshotPropertyTests {
  static let operationCount = Int(ProcessInfo.processInfo.environment["KVCLONE_OPERATIONS"] ?? "") ?? 500

  @Test("random operations, snapshots, aborts, indexes that come and go", arguments: StorePropertyTests.seeds)
  func random(_ seed: UInt64) throws {
    let run = try SnapshotRun(seed: seed)
    do {
      try run.begin()
      while run.operations.count < Self.operationCount { try run.step() }
      try run.end()
    } catch {
      Issue.record("\(error), \(run.place)")
    }
    // In a long run this is what it was about.
    if ProcessInfo.processInfo.environment["KVCLONE_OPERATIONS"] != nil { print(run.summary) }
  }
}

private struct Refusal: Error {}

private final class SnapshotRun {
  /// A snapshot as it has to be for as long as it lives.
  private struct Copy {
    let name: String
    let oracle: StoreOracle
    /// Made by a transaction that had changed something before, or did so afterwards.
    let isFromWithin: Bool
    var isHeld = false
  }

  /// How many snapshots there are to be, one after the other, each for some steps.
  private static let targets = [60, 25, 4, 0, 60, 50, 1, 12]
  private static let stepsPerTarget = 60
  private static let mostAtOnce = 64

  let operations: RandomOperations
  private let test: TestStore
  private var options = StoreOptions()
  private var model: RandomModel
  /// Oldest first.
  private var live: [Copy] = []
  /// Every id that was ever committed.
  private var known: [ObjectID] = []
  /// Names of snapshots that transactions made which were given up.
  private var never: [String] = []
  private var steps = 0
  private var names = 0
  private var (reopenings, compared, mostAlive, deleted, aborted, clones) = (0, 0, 0, 0, 0, 0)

  init(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    model = RandomModel(indexes: [.name, .text], isDeriving: random.chance(in: 2))
    options.tracksHistory = random.chance(in: 2)
    options.usesCommitLog = random.chance(in: 3)
    operations = RandomOperations(seed: seed, model.description)
    operations.capacity = 450
    operations.listSizes += [260, 260]
    operations.dataSizes += [1025, 1025, 1_100_000]
    test = try TestStore(model.description, options: options)
  }

  var place: String { "\(operations.place), \(live.count) snapshots, step \(steps)" }

  var summary: String {
    "seed \(operations.seed): \(operations.count) operations, \(steps) transactions (\(aborted) given up), "
      + "\(reopenings) reopenings, \(names) snapshots made, \(deleted) deleted, at most \(mostAlive) at once, "
      + "\(compared) compared, \(clones) clones, \(operations.oracle.objects.count) objects at the end"
  }

  private func chance(in count: Int) -> Bool { operations.random.chance(in: count) }

  // MARK: Steps

  /// Enough objects for lists of several chunks.
  func begin() throws {
    try test.store.write { tx in
      for _ in 0..<300 { operations.oracle.insert(try tx.insert("Tag"), "Tag", [:]) }
      for _ in 0..<100 { operations.oracle.insert(try tx.insert("Person"), "Person", [:]) }
    }
    known = operations.oracle.objects.keys.sorted()
  }

  func step() throws {
    steps += 1
    try transaction()
    try change(towards: Self.targets[steps / Self.stepsPerTarget % Self.targets.count])
    mostAlive = max(mostAlive, live.count)
    if chance(in: 20) { try reopen() }
    if steps % 4 == 0, let copy = operations.pick(live) { try compare(copy) }
    if steps % 10 == 0 { try compareStore() }
    if steps % (Self.stepsPerTarget / 2) == 0 { try compareSome(6) }
    if steps % (Self.stepsPerTarget * 10) == 0 { try compareSome(.max) }
  }

  /// Everything, and then without any snapshot.
  func end() throws {
    try compareSome(.max)
    try compareStore()
    // Phase one has them all.
    if operations.count >= 500 { #expect(mostAlive >= 50, "\(place)") }
    try test.reopen(options: options)
    try compareSome(5)
    try deleteAll()
  }

  private func transaction() throws {
    let (before, copies) = (operations.oracle, live)
    let aborts = chance(in: 10)
    operations.fresh = []
    do {
      try test.store.write { tx in
        for _ in 0..<(1 + operations.random.below(20)) { try operation(&tx) }
        if aborts { throw Refusal() }
      }
      known += operations.fresh.sorted()
    } catch {
      guard error is Refusal || error is ValidationError || error is CloneError else { throw error }
      if error is ValidationError { #expect(!operations.oracle.isUnique, "refused without a conflict, \(place)") }
      aborted += 1
      never += Set(live.map(\.name)).subtracting(copies.map(\.name))
      (operations.oracle, live) = (before, copies)
    }
  }

  private func operation(_ tx: inout WriteTransaction) throws {
    switch operations.random.below(150) {
    case 0..<4 where live.count < Self.mostAtOnce:
      let name = nextName()
      let info = try tx.createSnapshot(named: name)
      #expect(info.objectCount == operations.oracle.objects.count, "\(place)")
      live.append(Copy(name: name, oracle: operations.oracle, isFromWithin: true))
    case 4:
      guard let copy = operations.pick(live.filter { !$0.isHeld }) else { return }
      try tx.changeObjects { (session) throws(StoreError) in try session.deleteSnapshots([copy.name]) }
      live.removeAll { $0.name == copy.name }
    case 5..<8: try clone(&tx)
    default: try operations.operation(&tx)
    }
  }

  /// What a clone copies and links is tested elsewhere; here it counts that snapshots do not see it.
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
    guard let set = try? tx.cloneSet(of: [id], options: options), set.count <= 30 else { return }
    _ = try tx.clone([id], options: options)
    clones += 1
    let before = Set(operations.oracle.objects.keys)
    try operations.oracle.reload(tx)
    operations.fresh.formUnion(Set(operations.oracle.objects.keys).subtracting(before))
  }

  // MARK: Snapshots come and go

  private func nextName() -> String {
    names += 1
    // Names in no order, and some used again.
    return chance(in: 10) ? "again-\(names)" : "\(names * 7919 % 1000)-\(names)"
  }

  private func change(towards target: Int) throws {
    if target == 0, !live.isEmpty { return try deleteAll() }
    if live.count < target {
      let count = live.count < 50 && target >= 50 ? 2 : 1
      for _ in 0..<count where !chance(in: 3) { try make() }
    } else if live.count > target || chance(in: 4) {
      try drop()
    }
    if chance(in: 8) { try hold() }
  }

  private func make() throws {
    let name = nextName()
    let snapshot = try test.store.createSnapshot(named: name)
    #expect(snapshot.info.objectCount == operations.oracle.objects.count, "\(place)")
    live.append(Copy(name: name, oracle: operations.oracle, isFromWithin: false))
  }

  private func hold() throws {
    guard let place = live.indices.randomElement(using: &operations.random) else { return }
    let snapshot = try test.store.snapshot(named: live[place].name)
    if live[place].isHeld { try snapshot.release(tag: "test") } else { try snapshot.hold(tag: "test") }
    live[place].isHeld.toggle()
  }

  /// The oldest, the youngest, one between, or several.
  private func drop() throws {
    guard !live.isEmpty else { return }
    let count = live.count
    let doomed: Set<Int> =
      switch operations.random.below(5) {
      case 0: [0]
      case 1: [count - 1]
      case 2: Set((0..<3).map { _ in operations.random.below(count) })
      case 3: Set((operations.random.below(count)..<count).prefix(4))
      default: [operations.random.below(count)]
      }
    let going = doomed.sorted().map { live[$0] }
    if going.contains(where: \.isHeld) {
      expectError(.snapshotHeld) { try test.store.deleteSnapshots(named: going.map(\.name)) }
      return
    }
    try test.store.deleteSnapshots(named: going.map(\.name).shuffled(using: &operations.random))
    deleted += going.count
    for copy in going { live.removeAll { $0.name == copy.name } }
    if live.isEmpty { try test.store.expectNoPreviousStates() }
  }

  private func deleteAll() throws {
    for copy in live where copy.isHeld { try test.store.snapshot(named: copy.name).release(tag: "test") }
    try test.store.deleteSnapshots(named: live.map(\.name).shuffled(using: &operations.random))
    deleted += live.count
    live = []
    try test.store.expectNoPreviousStates()
    try compareStore()
  }

  /// Half of the times with other fetch indexes than before.
  private func reopen() throws {
    reopenings += 1
    guard chance(in: 2) else { return try test.reopen(options: options) }
    for index in RandomModel.Index.allCases where chance(in: 3) {
      if model.indexes.remove(index) == nil { model.indexes.insert(index) }
    }
    try test.reopen(model: model.description, options: options)
  }

  // MARK: Comparison

  private func compareStore() throws {
    try test.store.read { tx in
      try operations.oracle.compare(tx)
      try operations.oracle.compareFetches(tx, &operations.random)
    }
    try checked(test.store)
    let infos = try test.store.snapshots()
    #expect(infos.map(\.name) == live.map(\.name) && infos.map { !$0.holds.isEmpty } == live.map(\.isHeld), "\(place)")
    if let name = operations.pick(never) {
      expectError(.snapshotNotFound) { _ = try test.store.snapshot(named: name) }
    }
    if live.isEmpty { try test.store.expectNoPreviousStates() }
  }

  private func compareSome(_ count: Int) throws {
    for copy in live.shuffled(using: &operations.random).prefix(count) { try compare(copy) }
  }

  private func compare(_ copy: Copy) throws {
    compared += 1
    let snapshot = try test.store.snapshot(named: copy.name)
    guard snapshot.info.objectCount == copy.oracle.objects.count else {
      throw StoreDifference("the number of objects of snapshot \(copy.name)")
    }
    _ = try snapshot.retainedBytes()
    let others = (0..<20).compactMap { _ in operations.pick(known) }
    do {
      try snapshot.read { tx in
        try copy.oracle.compare(tx)
        try copy.oracle.compareFetches(tx, &operations.random)
        for id in others where try tx.exists(id) != (copy.oracle.objects[id] != nil) {
          throw StoreDifference("\(id) is there, or is not")
        }
      }
    } catch {
      throw StoreDifference(
        "snapshot \(copy.name) of commit \(snapshot.info.commit), made \(copy.isFromWithin ? "within" : "between") "
          + "transactions: \(error)")
    }
  }
}
