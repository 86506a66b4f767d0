import Foundation
import KVCloneTestSupport
import Testing

@testable import KVClone
@testable import KVCloneCore

/// The error that rolls back a random transaction.
struct SnapshotRunRefusal: Error {}

/// One run of ``SnapshotPropertyTests``.
final class SnapshotRun {
  /// The expected contents of a snapshot during its lifetime.
  struct Copy {
    let name: String
    let oracle: StoreOracle
    /// Whether a transaction created it together with other changes.
    let isFromWithin: Bool
    var isHeld = false
    /// Whether its expiry has passed.
    var isExpired = false
    var isAutomatic = false
  }

  /// The target numbers of snapshots, one after the other, each for some steps.
  private static let targets = [60, 25, 4, 0, 60, 50, 1, 12]
  private static let stepsPerTarget = 60
  private static let mostAtOnce = 64
  /// The number of automatic snapshots that are kept.
  private static let automaticCount = 5

  let operations: RandomOperations
  let test: TestStore
  var options = StoreOptions()
  var model: RandomModel
  /// The existing snapshots, oldest first.
  var live: [Copy] = []
  /// Every committed id.
  var known: [ObjectID] = []
  /// Names of snapshots that were created by rolled-back transactions.
  private var never: [String] = []
  /// The snapshots that existed when the transaction began.
  private(set) var standing: [Copy] = []
  private var steps = 0
  private var names = 0
  var (reopenings, compared, mostAlive, deleted, aborted, clones) = (0, 0, 0, 0, 0, 0)
  var (differences, rollbacks, objectRollbacks, refused, clonesOfSnapshots, expired) = (0, 0, 0, 0, 0, 0)
  /// A pinned snapshot, and its expected contents.
  private var pinned: (snapshot: PinnedSnapshot, oracle: StoreOracle)?

  init(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    model = RandomModel(indexes: [.name, .text], isDeriving: random.chance(in: 2))
    options.tracksHistory = random.chance(in: 2)
    options.journalMode = random.chance(in: 3) ? .writeAheadLog : .copyOnWrite
    options.snapshotRetention = SnapshotRetention(last: Self.automaticCount, daily: 0)
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
      + "\(compared) compared, \(differences) differences, \(rollbacks) rollbacks (\(refused) refused) and \(objectRollbacks) of "
      + "some objects, \(clones) clones and \(clonesOfSnapshots) of snapshots, \(expired) expired, \(operations.oracle.objects.count) objects at the end"
  }

  func chance(in count: Int) -> Bool { operations.random.chance(in: count) }

  // MARK: Steps

  /// Inserts enough objects for lists of several chunks.
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
    if chance(in: 3) { try compareDifferences() }
    if chance(in: 12) { try cloneSnapshot() }
    if chance(in: 15) { try expire() }
    if chance(in: 25) { try rollBackStore() }
    if chance(in: 12) { try rollBackObjects() }
    if chance(in: 10) { try comparePinned() }
    if chance(in: 20) { try reopen() }
    if steps % 4 == 0, let copy = operations.pick(live) { try compare(copy) }
    if steps % 10 == 0 { try compareStore() }
    if steps % (Self.stepsPerTarget / 2) == 0 { try compareSome(6) }
    if steps % (Self.stepsPerTarget * 10) == 0 { try compareSome(.max) }
  }

  /// Compares everything, then deletes all snapshots and compares again.
  func end() throws {
    try compareSome(.max)
    try compareStore()
    // The first phase creates all of them.
    if operations.count >= 500 { #expect(mostAlive >= 50, "\(place)") }
    try test.reopen(options: options)
    try compareSome(5)
    try deleteAll()
  }

  private func transaction() throws {
    let (before, copies) = (operations.oracle, live)
    let aborts = chance(in: 10)
    operations.fresh = []
    standing = copies
    do {
      try test.store.write { tx in
        for _ in 0..<(1 + operations.random.below(20)) { try operation(&tx) }
        if aborts { throw SnapshotRunRefusal() }
      }
      known += operations.fresh.sorted()
    } catch {
      guard error is SnapshotRunRefusal || error is ValidationError || error is CloneError else { throw error }
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
      try SnapshotManager.change(in: &tx) { (snapshots) throws(StoreError) in try snapshots.delete([copy.name]) }
      live.removeAll { $0.name == copy.name }
    case 5..<8: try clone(&tx)
    case 8: try cloneSnapshot(&tx)
    case 9 where live.count < Self.mostAtOnce: try makeInConflict(&tx)
    case 10..<12: try takeCode(&tx)
    default: try operations.operation(&tx)
    }
  }

  /// Creates a snapshot of a state that could not be committed, between two changes.
  private func makeInConflict(_ tx: inout WriteTransaction) throws {
    let ids = operations.oracle.ids("Named")
    guard let one = operations.pick(ids), let other = operations.pick(ids), one != other else { return }
    let old = operations.oracle.objects[other]?.values["code"]
    let code = operations.oracle.objects[one]?.values["code"] ?? .integer(-1)
    for id in [one, other] {
      try tx.set(id, "code", code)
      operations.oracle.set(id, "code", code)
    }
    let name = nextName()
    _ = try tx.createSnapshot(named: name)
    live.append(Copy(name: name, oracle: operations.oracle, isFromWithin: true))
    try tx.set(other, "code", old)
    operations.oracle.set(other, "code", old)
  }

  /// Sets an object's code to the former code of another object, so that a rollback conflicts.
  private func takeCode(_ tx: inout WriteTransaction) throws {
    guard let copy = operations.pick(live), let old = operations.pick(copy.oracle.ids("Named")),
      let code = copy.oracle.objects[old]?.values["code"], let id = operations.pick(operations.oracle.ids("Named")),
      !operations.oracle.objects.values.contains(where: { $0.values["code"] == code })
    else { return }
    try tx.set(id, "code", code)
    operations.oracle.set(id, "code", code)
  }

  /// Clones an object; other tests cover the contents of clones. Here, snapshots must not show the clones.
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

  // MARK: Creating and deleting snapshots

  private func nextName() -> String {
    names += 1
    // Names in no particular order, some of them reused.
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
    if chance(in: 10) {
      names += 1
      let snapshot = try test.store.createAutomaticSnapshot()
      return noteAutomatic(snapshot.info, operations.oracle)
    }
    let name = nextName()
    let isExpired = chance(in: 8)
    let expires = isExpired || chance(in: 8) ? Date(timeIntervalSinceNow: isExpired ? -1 : 100_000) : nil
    let snapshot = try test.store.createSnapshot(named: name, expiresAt: expires)
    #expect(snapshot.info.objectCount == operations.oracle.objects.count, "\(place)")
    live.append(Copy(name: name, oracle: operations.oracle, isFromWithin: false, isExpired: isExpired))
  }

  /// Records an automatic snapshot, and the deletion of those that it replaces.
  func noteAutomatic(_ info: SnapshotInfo, _ oracle: StoreOracle, sparing kept: String? = nil) {
    #expect(info.isAutomatic && info.objectCount == oracle.objects.count, "\(place)")
    live.append(Copy(name: info.name, oracle: oracle, isFromWithin: false, isAutomatic: true))
    let going = live.filter(\.isAutomatic).dropLast(Self.automaticCount).filter { !$0.isHeld && $0.name != kept }
    live.removeAll { copy in going.contains { $0.name == copy.name } }
    deleted += going.count
  }

  private func expire() throws {
    let going = live.filter { $0.isExpired && !$0.isHeld }.map(\.name)
    let gone = try test.store.deleteExpiredSnapshots()
    #expect(gone == going, "\(place)")
    live.removeAll { going.contains($0.name) }
    deleted += going.count
    expired += going.count
  }

  private func hold() throws {
    guard let place = live.indices.randomElement(using: &operations.random) else { return }
    let snapshot = try test.store.snapshot(named: live[place].name)
    if live[place].isHeld { try snapshot.release(tag: "test") } else { try snapshot.hold(tag: "test") }
    live[place].isHeld.toggle()
  }

  /// Deletes the oldest, the newest, one in between, or several.
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

  /// Reopens the store, half of the time with other fetch indexes.
  private func reopen() throws {
    reopenings += 1
    pinned = nil
    guard chance(in: 2) else { return try test.reopen(options: options) }
    for index in RandomModel.Index.allCases where chance(in: 3) {
      if model.indexes.remove(index) == nil { model.indexes.insert(index) }
    }
    try test.reopen(model: model.description, options: options)
  }

  // MARK: Comparison

  func compareStore() throws {
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

  /// Checks that an earlier pinned snapshot is unchanged after writes and deletions.
  private func comparePinned() throws {
    if let (snapshot, oracle) = pinned {
      do {
        try snapshot.read { tx in try oracle.compare(tx) }
      } catch {
        throw StoreDifference("a pinned snapshot: \(error)")
      }
    }
    if pinned == nil || chance(in: 2) { pinned = (try test.store.pinnedSnapshot(), operations.oracle) }
  }

  private func compareSome(_ count: Int) throws {
    for copy in live.shuffled(using: &operations.random).prefix(count) { try compare(copy) }
  }

  func compare(_ copy: Copy) throws {
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
