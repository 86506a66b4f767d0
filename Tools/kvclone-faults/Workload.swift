import Foundation
import KVClone

/// A series of commits, each a function of the seed, of its number and of the content before it, so that the content
/// after commit N is known without being remembered. No two of them leave the same content.
struct Workload: Sendable {
  var seed: UInt64
  /// How many commits there are, numbered from 1. The store counts more of them: it stages and sweeps in its own.
  let commitCount: Int
  /// Whether commits are made durable by the commit log.
  var usesCommitLog = false
  /// Whether copies of the store are made on the way.
  var makesCopies = false

  var savepointUse = SavepointUse.used

  /// Small enough that a commit of many images spills several times.
  static let spillBudget = 32 << 10

  /// Longer than what an upload holds in memory, so that it takes several transactions.
  private static let stagedLength = 5 << 20
  /// More than one chunk at once.
  private static let largeLength = 1_300_000

  enum Kind: Sendable {
    case base, changes, spilling, clone, deletion, cleaning, staged, large
    /// Savepoints in savepoints, half of them rolled back.
    case savepoints
    /// One of several concurrent asynchronous writes, which share commits of the engine; adjacent ones are one group.
    case grouped
    /// A snapshot is made; the store, or one project with all that is its, is rolled back to the youngest one; snapshots
    /// are deleted, some from between others, or all.
    case snapshot, rollback, objectRollback, someSnapshots, allSnapshots
    /// To the next version of the model: by a call of its own, by opening the store with it, by a mapping model, and over
    /// versions between.
    case migration, automaticMigration, mappingMigration, chainedMigration

    var isMigration: Bool { [.migration, .automaticMigration, .mappingMigration, .chainedMigration].contains(self) }
  }

  /// What each commit does, from 1; the quick form has the first part. Large groups and the large commit are late, because
  /// every later trial has to perform them. The last group has more writes than the engine commits at a time.
  private static let quickSchedule: [Kind] =
    [
      .base, .snapshot, .clone, .changes, .objectRollback, .rollback, .spilling, .staged, .migration, .someSnapshots,
      .allSnapshots, .cleaning,
    ] + group(of: 2) + [.savepoints] + group(of: 7)
  private static let schedule: [Kind] =
    quickSchedule + [
      .changes, .snapshot, .clone, .deletion, .spilling, .rollback, .spilling, .automaticMigration, .changes, .staged,
      .savepoints,
    ] + group(of: 1) + [
      .snapshot, .deletion, .large, .objectRollback, .mappingMigration, .changes, .snapshot, .chainedMigration,
      .changes, .snapshot,
    ] + group(of: 64) + [.rollback, .allSnapshots, .deletion, .spilling, .cleaning] + group(of: 70)

  private static func group(of count: Int) -> [Kind] { Array(repeating: .grouped, count: count) }

  /// What comes after the first commits where copies are made: a migration, after which there is something to compact.
  private static let scheduleOfCopies: [Kind] = [
    .base, .snapshot, .clone, .changes, .objectRollback, .allSnapshots, .migration,
  ]
  static var quickCount: Int { quickSchedule.count }
  static var fullCount: Int { schedule.count }
  static var countWithCopies: Int { scheduleOfCopies.count }
  /// What comes after those, again and again.
  private static let later: [Kind] = [
    .changes, .snapshot, .clone, .spilling, .grouped, .grouped, .grouped, .rollback, .deletion, .staged, .savepoints,
    .objectRollback, .changes, .allSnapshots, .cleaning,
  ]

  func kind(_ number: Int) -> Kind {
    if makesCopies { return Self.scheduleOfCopies[min(max(number, 1), Self.scheduleOfCopies.count) - 1] }
    if number <= Self.schedule.count { return Self.schedule[max(0, number - 1)] }
    return Self.later[(number - Self.schedule.count - 1) % Self.later.count]
  }

  /// The model's version that the store has after a commit.
  func version(after number: Int) -> WorkloadVersion {
    WorkloadVersion(index: (0..<max(0, number)).count { kind($0 + 1).isMigration })
  }

  /// Whether the process closes the store before this step and opens it again, so that faults meet that too.
  func opensAgain(before number: Int) -> Bool { number % 6 == 4 }

  func options() -> StoreOptions {
    var options = StoreOptions()
    options.spillBudget = Self.spillBudget
    options.journalMode = usesCommitLog ? .writeAheadLog : .copyOnWrite
    // So that it is full, and begins anew, in the course of the workload.
    options.walSizeLimit = 0
    // So that some go when another one is made; and whatever day it is.
    options.snapshotRetention = SnapshotRetention(last: 2, hourly: 0, daily: 0, weekly: 0)
    options.groupCommit = Self.groupCommit
    return options
  }

  /// What names the workload on the command line.
  var arguments: [String] {
    ["--seed", "\(seed)", "--commits", "\(commitCount)"] + (usesCommitLog ? ["--commit-log"] : [])
      + (makesCopies ? ["--copies"] : [])
  }

  /// Performs one commit. It is durable when this returns; when it throws, it can be tried again. A migration closes the
  /// store, and leaves it closed.
  func perform(_ number: Int, on store: ObjectStore, at path: String) throws {
    var random = SeededGenerator(seed: seed, stream: UInt64(number))
    switch kind(number) {
    case .clone:
      // The clone's own entry, which plans without the lock and writes in a transaction of its own.
      let projects = try store.read { try Workload.ids(of: "Project", in: $0) }
      guard let project = random.element(projects) else { return try changes(number, store, random) }
      _ = try store.clone([project], options: Workload.cloneOptions(number))
    case .base: try write("base", number, store, random) { try $0.makeBase(&$1) }
    case .spilling: try write("spilling", number, store, random) { try $0.insertManyPhotos(&$1) }
    case .deletion: try write("deletion", number, store, random) { try $0.deleteSome(&$1) }
    case .cleaning: try write("cleaning", number, store, random) { try $0.clean(&$1) }
    case .changes: try changes(number, store, random)
    case .staged:
      try stage(number, (0..<3).map { _ in 5_000 + random.below(30_000) }, store, &random)
    case .savepoints: try write("savepoints", number, store, random) { try $0.useSavepoints(&$1) }
    case .grouped: try writeOne(number, store)
    case .large:
      try stage(number, Array(repeating: Workload.stagedLength / 8, count: 8), store, &random) {
        (transaction, random) in
        // The other way for many bytes: one value, given whole.
        let photos = try Workload.ids(of: "Photo", in: transaction)
        guard let photo = random.element(photos) else { return }
        let image = Workload.bytes(Workload.largeLength + random.below(100_000), &random)
        try transaction.set(photo, "image", .binary(image))
      }
    case .snapshot: try store.createSnapshot(named: Workload.snapshotName(number))
    case .rollback: try rollBack(number, store, &random)
    case .objectRollback: try rollBackObject(number, store, &random)
    case .someSnapshots: try deleteSnapshots(number, store, &random, onlyInner: true)
    case .allSnapshots: try deleteSnapshots(number, store, &random, onlyInner: false)
    case .migration, .automaticMigration, .mappingMigration, .chainedMigration: try migrate(number, store, at: path)
    }
  }

  private func write(
    _ label: String, _ number: Int, _ store: ObjectStore, _ random: SeededGenerator,
    _ body: (inout WorkloadStep, inout WriteTransaction) throws -> Void
  ) throws {
    try store.write(label: label) { transaction in
      var step = WorkloadStep(random, number: number, version(after: number), savepointUse)
      try step.read(transaction)
      try body(&step, &transaction)
    }
  }

  func changes(_ number: Int, _ store: ObjectStore, _ random: SeededGenerator) throws {
    try write("changes", number, store, random) { try $0.changeSome(&$1) }
  }

  static func snapshotName(_ number: Int) -> String { "commit-\(number)" }

  private static func cloneOptions(_ number: Int) -> CloneOptions {
    var options = CloneOptions()
    options.idempotencyKey = "commit \(number)"
    options.recordsProvenance = true
    return options
  }

  /// Asks once more for the clone that a commit made; whether the store knew it, all of it there. True where the commit
  /// was none.
  func knowsClone(_ number: Int, in store: ObjectStore) throws -> Bool {
    guard kind(number) == .clone else { return true }
    var random = SeededGenerator(seed: seed, stream: UInt64(number))
    // The youngest project is a clone; with those that were made with it left out, the others are those that there were.
    let projects = try store.read { transaction in
      let all = try Workload.ids(of: "Project", in: transaction)
      guard let youngest = all.last, let made = try transaction.provenance(of: youngest)?.cloneCommit else {
        return all
      }
      var others: [ObjectID] = []
      for project in all where try transaction.provenance(of: project)?.cloneCommit != made { others.append(project) }
      return others
    }
    guard let project = random.element(projects) else { return true }
    let result = try store.clone([project], options: Workload.cloneOptions(number))
    let source = try store.read { try $0.provenance(of: result.root)?.source }
    return result.isRepeated && result.deletedRoots.isEmpty && source == project
  }

  /// A value that is uploaded in transactions of its own, and used in a later one, together with what `body` does.
  private func stage(
    _ number: Int, _ lengths: [Int], _ store: ObjectStore, _ random: inout SeededGenerator,
    and body: (inout WriteTransaction, inout SeededGenerator) throws -> Void = { _, _ in }
  ) throws {
    let projects = try store.read { try Workload.ids(of: "Project", in: $0) }
    guard let project = random.element(projects) else { return try changes(number, store, random) }
    var later = random
    let staged = try store.stageBlob { writer in
      for length in lengths { try writer.append(Workload.bytes(length, &later)) }
    }
    try store.write(label: "use staged data") { transaction in
      var random = later
      try transaction.setData(project, "notes", staged)
      try transaction.set(project, "number", .integer(Int64(number)))
      try body(&transaction, &random)
    }
  }

  /// An entity's objects by ascending serial.
  static func ids<T: ObjectReading & ~Copyable>(of entity: String, in transaction: borrowing T) throws -> [ObjectID] {
    var ids: [ObjectID] = []
    try transaction.forEachObject(of: entity) { object in
      ids.append(object.id)
      return true
    }
    return ids
  }

  /// Bytes that no other value has, so that one page in another's place shows.
  static func bytes(_ count: Int, _ random: inout SeededGenerator) -> Data {
    var words: [UInt64] = []
    words.reserveCapacity(count / 8 + 1)
    for _ in 0...count / 8 { words.append(random.next()) }
    return words.withUnsafeBytes { Data($0.prefix(count)) }
  }
}
