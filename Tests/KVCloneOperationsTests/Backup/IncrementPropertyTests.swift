import Foundation
import KVCloneTestSupport
import Testing

@testable import KVClone
@testable import KVCloneCore
@testable import KVCloneOperations

/// Random operations on a store with changing snapshots, with full and incremental backups at random times. The
/// restored chains are compared with the store, entry by entry.
///
/// `KVCLONE_SEEDS=7,8 KVCLONE_OPERATIONS=100000` repeats a failure, or searches for rarer ones.
@Suite("Incremental backups compared with the store")
struct IncrementPropertyTests {
  static let operationCount = Int(ProcessInfo.processInfo.environment["KVCLONE_OPERATIONS"] ?? "") ?? 400

  /// The last seed crashed the process: LMDB read free pages from the uninitialized memory of an empty leaf
  /// (`LMDBEnvironment.fillFreeList`).
  @Test(
    "random operations, snapshots, uploads, rollbacks, and chains of increments",
    arguments: PropertySeeds.seeds + [10_315_796_192_149_314_250])
  func random(_ seed: UInt64) throws {
    let run = try IncrementRun(seed: seed)
    do {
      try run.begin()
      while run.operations.count < Self.operationCount { try run.step() }
      // A short run may have restored none by chance.
      if run.restored == 0 { try run.end() }
    } catch {
      Issue.record("\(error), \(run.place)")
    }
    #expect(run.restored > 0, "\(run.place)")
    if ProcessInfo.processInfo.environment["KVCLONE_OPERATIONS"] != nil { print(run.summary) }
  }
}

private struct Refusal: Error {}

private final class IncrementRun {
  /// A full or incremental backup, with the epochs of the snapshots in it.
  private struct Backup {
    let path: String
    var since: UInt64?
    let epochs: [UInt64]
  }

  let operations: RandomOperations
  private let test: TestStore
  private var options = StoreOptions()
  private var model: RandomModel
  private var backups: [Backup] = []
  private var uploads: [StagedBlob] = []
  private var (steps, names, increments, rollbacks, clones, reopenings) = (0, 0, 0, 0, 0, 0)
  private(set) var restored = 0
  private var longest = 0

  init(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    model = RandomModel(indexes: [.name, .text], isDeriving: random.chance(in: 2))
    options.tracksHistory = !random.chance(in: 3)
    options.journalMode = random.chance(in: 3) ? .writeAheadLog : .copyOnWrite
    options.snapshotRetention = SnapshotRetention(last: 2, daily: 0)
    operations = RandomOperations(seed: seed, model.description)
    operations.capacity = 400
    operations.listSizes += [260, 260]
    operations.dataSizes += [1025, 1025, 1_100_000]
    test = try TestStore(model.description, options: options)
  }

  var place: String { "\(operations.place), step \(steps), \(backups.count) backups" }

  var summary: String {
    "seed \(operations.seed): \(operations.count) operations, \(steps) steps, \(names) snapshots, \(increments) increments, "
      + "\(restored) restored, chains of up to \(longest), \(rollbacks) rollbacks, \(clones) clones, \(reopenings) reopenings"
  }

  private var store: ObjectStore { test.store }
  private func chance(in count: Int) -> Bool { operations.random.chance(in: count) }

  /// Inserts enough objects for lists of several chunks.
  func begin() throws {
    try store.write { tx in
      for _ in 0..<300 { operations.oracle.insert(try tx.insert("Tag"), "Tag", [:]) }
      for _ in 0..<100 { operations.oracle.insert(try tx.insert("Person"), "Person", [:]) }
    }
    for _ in 0..<3 { try makeSnapshot() }
    try makeFull()
  }

  func step() throws {
    steps += 1
    try transaction()
    switch operations.random.below(12) {
    case 0, 1: try makeSnapshot()
    case 2: try dropSnapshots()
    case 3: try upload()
    case 4 where chance(in: 3): try rollBack()
    case 5 where chance(in: 2): try forget()
    case 6 where chance(in: 3): try reopen()
    case 7 where chance(in: 3): try makeFull()
    case 8, 9: try makeIncrement()
    default: break
    }
  }

  /// Restores and compares a last chain.
  func end() throws {
    try makeSnapshot()
    try makeFull()
    try transaction()
    try makeIncrement()
  }

  // MARK: Changes of the store

  private func transaction() throws {
    let before = operations.oracle
    let aborts = chance(in: 10)
    operations.fresh = []
    do {
      try store.write { tx in
        for _ in 0..<(1 + operations.random.below(20)) {
          switch operations.random.below(60) {
          case 0: _ = try tx.createSnapshot(named: nextName())
          case 1, 2: try clone(&tx)
          default: try operations.operation(&tx)
          }
        }
        if aborts { throw Refusal() }
      }
    } catch {
      guard error is Refusal || error is ValidationError || error is CloneError else { throw error }
      operations.oracle = before
    }
  }

  private func clone(_ tx: inout WriteTransaction) throws {
    guard operations.oracle.objects.count < 2 * operations.capacity,
      let id = operations.pick(operations.oracle.objects.keys.sorted())
    else { return }
    var options = CloneOptions()
    options.recordsProvenance = chance(in: 2)
    options.blobs = chance(in: 4) ? .copy : .share
    options.idempotencyKey = chance(in: 2) ? "key-\(operations.random.below(1_000_000))" : nil
    for relationship in operations.oracle.model.relationships(of: operations.oracle.objects[id]?.entity ?? "")
    where !chance(in: 4) {
      options.excludedRelationshipNames.append(relationship.name)
    }
    guard let set = try? tx.cloneSet(of: [id], options: options), set.count <= 30 else { return }
    _ = try tx.clone([id], options: options)
    clones += 1
    try operations.oracle.reload(tx)
  }

  /// Begins an upload, assigns an earlier upload to an object, or discards one.
  private func upload() throws {
    if uploads.count < 3, !chance(in: 3) {
      let size = operations.pick([2000, 1_100_000, 2_200_000]) ?? 0
      let bytes = Data(repeating: UInt8(truncatingIfNeeded: steps), count: size)
      uploads.append(try store.stageBlob { try $0.append(bytes) })
      return
    }
    guard let place = uploads.indices.randomElement(using: &operations.random) else { return }
    let staged = uploads.remove(at: place)
    guard !chance(in: 4), let id = operations.pick(operations.oracle.ids("Named")) else { return }
    try store.write { tx in try tx.setData(id, "data", staged) }
    try reload()
  }

  private func reload() throws { try store.read { tx in try operations.oracle.reload(tx) } }

  private func rollBack() throws {
    guard let info = operations.pick(try store.snapshots()) else { return }
    do {
      try store.rollback(to: try store.snapshot(named: info.name))
      rollbacks += 1
    } catch {
      guard error is ValidationError else { throw error }
    }
    try reload()
  }

  private func forget() throws {
    if chance(in: 2) { try store.purgeIdempotencyKeys(before: Date()) }
    if options.tracksHistory == true, let last = try store.history().randomElement(using: &operations.random) {
      try store.purgeHistory(before: last.token)
    }
  }

  /// Reopens the store, half of the time with other fetch indexes.
  private func reopen() throws {
    reopenings += 1
    uploads = []
    guard chance(in: 2) else { return try test.reopen(options: options) }
    for index in RandomModel.Index.allCases where chance(in: 3) {
      if model.indexes.remove(index) == nil { model.indexes.insert(index) }
    }
    try test.reopen(model: model.description, options: options)
  }

  // MARK: Snapshots

  private func nextName() -> String {
    names += 1
    return "\(names * 7919 % 1000)-\(names)"
  }

  private func makeSnapshot() throws {
    if try store.snapshots().count < 12 { try store.createSnapshot(named: nextName()) }
  }

  private func dropSnapshots() throws {
    var all = try store.snapshots().map(\.name)
    if all.count < 3 { return }
    all.shuffle(using: &operations.random)
    try store.deleteSnapshots(named: Array(all.prefix(1 + operations.random.below(all.count - 2))))
  }

  // MARK: Backups

  private func makeFull() throws {
    let path = test.root + "/full-\(steps)"
    try store.backup(to: path, options: BackupOptions(verification: .none))
    backups.append(Backup(path: path, epochs: try store.snapshots().map(\.epoch)))
  }

  private func makeIncrement() throws {
    let all = try store.snapshots()
    // A snapshot that some backup contains, so that there is a chain.
    let known = Set(backups.flatMap(\.epochs))
    guard let since = operations.pick(all.filter { known.contains($0.epoch) }) else { return try makeFull() }
    let path = test.root + "/increment-\(increments)"
    increments += 1
    let verification = operations.pick(BackupOptions.Verification.allCases) ?? .values
    let result = try store.backup(to: path, options: BackupOptions(verification: verification, since: since.name))
    #expect(result.since == since.name)
    let made = Backup(path: path, since: since.epoch, epochs: all.map(\.epoch))
    guard let chain = chain(to: made) else { throw StoreDifference("there is no chain to \(path)") }
    longest = max(longest, chain.count)
    try Increments.expectSame(store, chain.map(\.path), in: test.root, place)
    restored += 1
    backups.append(made)
  }

  /// Returns a chain from a full backup, among the existing ones, to an incremental one.
  private func chain(to last: Backup) -> [Backup]? {
    var chain = [last]
    while let since = chain[0].since {
      let end = backups.firstIndex { $0.path == chain[0].path } ?? backups.count
      // Each existing incremental backup had a chain when it was created.
      guard let before = operations.pick(backups[..<end].filter { $0.epochs.contains(since) }) else { return nil }
      chain.insert(before, at: 0)
    }
    return chain
  }
}
