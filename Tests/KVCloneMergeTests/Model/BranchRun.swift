import KVClone
import KVCloneOperations
import KVCloneTestSupport
import Testing

/// The error that rolls back a random transaction.
private struct BranchRunRefusal: Error {}

/// One run of ``BranchPropertyTests``.
final class BranchRun {
  /// The target numbers of branches, a round each; 0 deletes everything.
  private static let targets = [20, 8, 0, 20, 14, 1]
  private static let stepsPerRound = 24
  private static let mostSnapshots = 6

  let operations: RandomOperations
  let test: TestStore
  let options: StoreOptions
  /// The store first, then its branches in the order of creation.
  var copies: [BranchCopy]
  /// Every committed id.
  private var known: Set<ObjectID> = []
  private(set) var rounds = 0
  private var names = 0
  /// Operations of clients that share the store.
  var sharedCount = 0
  var (created, deleted, rollbacks, refused, reopenings, shares, mostAlive) = (0, 0, 0, 0, 0, 0, 0)
  var (merges, withoutConflicts) = (0, 0)
  /// The drafts that were not merged yet.
  var drafts: [Draft] = []
  var (draftMerges, draftRefusals) = (0, 0)

  init(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let model = RandomModel(indexes: [.name, .text, .author], isDeriving: random.chance(in: 2)).description
    var options = StoreOptions()
    options.tracksHistory = random.chance(in: 2)
    options.journalMode = random.chance(in: 2) ? .writeAheadLog : .copyOnWrite
    options.snapshotRetention = SnapshotRetention(last: 3, daily: 0)
    options.busyTimeout = SharedOperations.busyTimeout
    self.options = options
    operations = RandomOperations(seed: seed, model)
    operations.capacity = 160
    operations.dataSizes += [20_000]
    test = try TestStore(model, options: options)
    copies = [BranchCopy(nil, test.store, StoreOracle(model))]
  }

  var operationCount: Int { operations.count + sharedCount }

  var place: String { "\(operations.place), round \(rounds), \(copies.count - 1) branches" }

  var summary: String {
    "seed \(operations.seed): \(operationCount) operations, \(sharedCount) of them of two processes in \(shares) turns, "
      + "\(rounds) rounds, \(created) branches created, \(deleted) deleted, at most \(mostAlive) at once, "
      + "\(merges) merges (\(withoutConflicts) without conflicts), \(draftMerges) merges of drafts "
      + "(\(draftRefusals) refused), \(rollbacks) rollbacks, \(refused) refusals, "
      + "\(reopenings) reopenings, \(known.count) ids"
  }

  func chance(in count: Int) -> Bool { operations.random.chance(in: count) }

  // MARK: Rounds

  /// Runs steps, and compares everything.
  func round() throws {
    rounds += 1
    let target = Self.targets[(rounds - 1) % Self.targets.count]
    for _ in 0..<Self.stepsPerRound { try step(target) }
    if target == 0 { try deleteAll() }
    try compare(snapshots: 2)
  }

  /// Compares everything, then deletes all branches and snapshots: nothing of them may remain.
  func end() throws {
    try compare(snapshots: .max)
    try reopen()
    try compare(snapshots: 1)
    try deleteAll()
    try compare(snapshots: 0)
  }

  private func step(_ target: Int) throws {
    // The store gets more changes than a single branch, because all bases depend on it.
    try transaction(chance(in: 4) ? 0 : operations.random.below(copies.count))
    if copies.count - 1 < target {
      try createBranch()
    } else if copies.count - 1 > target || chance(in: 12) {
      try deleteBranch()
    }
    mostAlive = max(mostAlive, copies.count - 1)
    let index = operations.random.below(copies.count)
    switch operations.random.below(16) {
    case 0..<4: try createSnapshot(index)
    case 4..<6: try deleteSnapshots(index)
    case 6: try rollBack(index)
    case 7: try rollBackObjects(index)
    case 8: try share()
    case 9 where chance(in: 2): try reopen()
    case 10..<13: try merge()
    case 13: try makeDraft(index)
    case 14: try mergeDraft()
    case 15: try resetBranch(index)
    default: break
    }
    if let first = operations.pick(copies[index].snapshots) {
      let second = chance(in: 2) ? operations.pick(copies[index].snapshots) : nil
      try copies[index].compareDifferences(from: first, to: second)
    }
  }

  // MARK: Transactions

  func transaction(_ index: Int) throws {
    let before = copies[index]
    let aborts = chance(in: 10)
    operations.oracle = before.oracle
    operations.fresh = []
    do {
      try before.store.write { tx in
        for _ in 0..<(1 + operations.random.below(15)) { try operation(&tx, index) }
        if aborts { throw BranchRunRefusal() }
      }
      copies[index].oracle = operations.oracle
      try noteInserted(operations.fresh)
    } catch {
      guard error is BranchRunRefusal || error is ValidationError else { throw error }
      if error is ValidationError { #expect(!operations.oracle.isUnique, "refused without a conflict, \(place)") }
      copies[index] = before
    }
  }

  private func operation(_ tx: inout WriteTransaction, _ index: Int) throws {
    switch operations.random.below(60) {
    case 0 where copies[index].snapshots.count < Self.mostSnapshots:
      let name = nextName()
      _ = try tx.createSnapshot(named: name)
      copies[index].note(name, operations.oracle, isFromWithin: true)
    case 1: try cloneNote(&tx)
    default: try operations.operation(&tx)
    }
  }

  /// Clones a note with its answers; other tests cover the contents of clones.
  private func cloneNote(_ tx: inout WriteTransaction) throws {
    guard let note = operations.pick(operations.oracle.ids("Note")) else { return }
    var options = CloneOptions()
    options.recordsProvenance = chance(in: 2)
    _ = try tx.clone([note], options: options)
    let before = Set(operations.oracle.objects.keys)
    try operations.oracle.reload(tx)
    operations.fresh.formUnion(Set(operations.oracle.objects.keys).subtracting(before))
  }

  /// Checks that the committed ids of new objects are new, whichever branch they were inserted on.
  func noteInserted(_ ids: Set<ObjectID>) throws {
    if let twice = ids.first(where: known.contains) { throw StoreDifference("the id \(twice) was given twice") }
    known.formUnion(ids)
  }

  func nextName() -> String {
    names += 1
    return "s\(names)"
  }

  // MARK: Comparison

  private func compare(snapshots: Int) throws {
    for copy in copies {
      try copy.compare(&operations.random)
      let links = try copy.store.linkProblems()
      if let problem = links.first { throw StoreDifference("\(copy.title): \(problem)") }
      for past in copy.snapshots.shuffled(using: &operations.random).prefix(snapshots) {
        try copy.compare(past, &operations.random)
      }
    }
    let found = try test.store.branches.list().map(\.name)
    #expect(found == copies.dropFirst().compactMap(\.name), "the list of branches, \(place)")
    let issues = try test.store.check().issues.map(\.message)
    if !issues.isEmpty { throw StoreDifference("check found \(issues.prefix(5))") }
  }

  /// Deletes all branches and snapshots in random order. No entries or blobs of them may remain.
  private func deleteAll() throws {
    while copies.count > 1 { try deleteBranch() }
    try discardDrafts()
    try test.store.deleteSnapshots(named: copies[0].snapshots.map(\.name).shuffled(using: &operations.random))
    copies[0].snapshots = []
    try test.store.expectNoPreviousStates()
    // All values are shorter than a chunk.
    let blobs = try test.store.read { tx in try Self.blobCount(tx) }
    #expect(try test.store.blobCounts() == BlobCounts(complete: blobs, chunks: blobs), "\(place)")
    guard TestStore.hasDataFile else { return }
    let statistics = try test.store.deepStatistics()
    #expect(statistics.branches.isEmpty && statistics.preimages.isEmpty, "\(place)")
    let empty: Set = ["overlays", "branches", "preimages", "snapshots"]
    for table in statistics.summary.tables where empty.contains(table.name) {
      #expect(table.entryCount == 0, "the table \(table.name), \(place)")
    }
  }

  /// Returns the number of different blobs of the objects.
  private static func blobCount(_ tx: borrowing ReadTransaction) throws -> Int {
    var blobs: Set<UInt64> = []
    try tx.forEachObject(of: "Named") { object in
      if case .blob(let blob) = try object.value("data") { blobs.insert(blob.id) }
      return true
    }
    return blobs.count
  }
}
