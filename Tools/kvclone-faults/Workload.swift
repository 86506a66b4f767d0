import Foundation
import KVClone

/// A series of commits. Each is a function of the seed, its number and the content before it, so the content after
/// commit N is reproducible. No two commits leave the same content.
struct Workload: Sendable {
  var seed: UInt64
  /// The number of commits, numbered from 1. The store counts more: uploads and cleanup have commits of their own.
  let commitCount: Int
  /// Whether commits use the write-ahead log.
  var usesCommitLog = false
  /// Whether the workload makes copies of the store.
  var makesCopies = false

  var savepointUse = SavepointUse.used
  var mergeMistake: MergeMistake?

  /// Small enough that a commit of many images spills several times.
  static let spillBudget = 32 << 10

  /// Longer than the memory buffer of an upload, so that it takes several transactions.
  private static let stagedLength = 5 << 20
  /// Longer than one chunk.
  private static let largeLength = 1_300_000

  enum Kind: Sendable {
    case base, changes, spilling, clone, deletion, cleaning, staged, large
    /// Nested savepoints, half of them rolled back.
    case savepoints
    /// One of several concurrent asynchronous writes, which share commits of the engine; adjacent ones are one group.
    case grouped
    /// Creates a snapshot; rolls the store, or one project with its objects, back to the latest snapshot; deletes some
    /// snapshots between others, or all.
    case snapshot, rollback, objectRollback, someSnapshots, allSnapshots
    /// Migrates to the next model version: explicitly, during opening, with a mapping model, and through intermediate
    /// versions.
    case migration, automaticMigration, mappingMigration, chainedMigration
    /// Creates a branch; changes the latest branch, deletes objects on it, spills, and uses an upload; creates a
    /// snapshot of it, and rolls it back to its latest snapshot; deletes a branch.
    case branch, branchChanges, branchDeletion, branchSpilling, branchStaged, branchSnapshot, branchRollback
    case deletedBranch
    /// Changes the store, or the latest branch, so that both exclude each other; merges the latest branch into the
    /// store, or the store into the branch.
    case rival, branchRival, publish, update
    /// Clones a project with a base; changes the clone; merges it back.
    case draft, draftChanges, draftMerge

    var isMerge: Bool { self == .publish || self == .update }
    var isOfBranches: Bool {
      switch self {
      case .branch, .branchChanges, .branchDeletion, .branchSpilling, .branchStaged, .branchSnapshot, .branchRollback,
        .deletedBranch, .branchRival:
        true
      default: false
      }
    }
    var isMigration: Bool { [.migration, .automaticMigration, .mappingMigration, .chainedMigration].contains(self) }
  }

  /// The kind of each commit, from 1; quick mode uses the first part. Large groups and the large commit are late,
  /// because every later trial performs them. The last group has more writes than the engine commits at a time.
  private static let quickSchedule: [Kind] =
    [
      .base, .snapshot, .clone, .changes, .objectRollback, .rollback, .branch, .rival, .branchRival, .branchChanges,
      .changes, .branchSnapshot, .publish, .branchDeletion, .changes, .update, .branchSnapshot, .branchChanges,
      .branchRollback, .deletedBranch, .draft, .draftChanges, .changes, .draftMerge, .spilling, .staged, .migration,
      .someSnapshots, .allSnapshots, .cleaning,
    ] + group(of: 2) + [.savepoints] + group(of: 7)
  private static let schedule: [Kind] =
    quickSchedule + [
      .changes, .snapshot, .clone, .deletion, .spilling, .rollback, .spilling, .automaticMigration, .changes, .staged,
      .savepoints, .branch, .branchStaged, .deletion, .publish, .branchSnapshot, .branch, .branchSpilling, .changes,
      .update, .rollback, .publish, .deletedBranch, .branchChanges, .deletedBranch,
    ] + group(of: 1) + [
      .snapshot, .deletion, .large, .objectRollback, .mappingMigration, .changes, .snapshot, .chainedMigration,
      .changes, .snapshot,
    ] + group(of: 64) + [.rollback, .allSnapshots, .deletion, .spilling, .cleaning] + group(of: 70)

  private static func group(of count: Int) -> [Kind] { Array(repeating: .grouped, count: count) }

  /// The commits after the first ones if copies are made: they include a migration, which leaves free pages to compact.
  private static let scheduleOfCopies: [Kind] = [
    .base, .snapshot, .branch, .branchChanges, .clone, .branchSnapshot, .publish, .branchDeletion, .objectRollback,
    .deletedBranch, .allSnapshots, .migration,
  ]
  static var quickCount: Int { quickSchedule.count }
  static var fullCount: Int { schedule.count }
  static var countWithCopies: Int { scheduleOfCopies.count }
  /// The commits after those, repeated.
  private static let later: [Kind] = [
    .changes, .snapshot, .clone, .spilling, .grouped, .grouped, .grouped, .rollback, .deletion, .staged, .savepoints,
    .objectRollback, .branch, .branchChanges, .changes, .update, .branchSnapshot, .branchDeletion, .branchRollback,
    .publish, .deletedBranch, .draft, .draftChanges, .changes, .draftMerge, .allSnapshots, .cleaning,
  ]

  func kind(_ number: Int) -> Kind {
    if makesCopies { return Self.scheduleOfCopies[min(max(number, 1), Self.scheduleOfCopies.count) - 1] }
    if number <= Self.schedule.count { return Self.schedule[max(0, number - 1)] }
    return Self.later[(number - Self.schedule.count - 1) % Self.later.count]
  }

  /// The model version of the store after a commit.
  func version(after number: Int) -> WorkloadVersion {
    WorkloadVersion(index: (0..<max(0, number)).count { kind($0 + 1).isMigration })
  }

  /// Whether the process reopens the store before this step, so that faults can hit the opening.
  func opensAgain(before number: Int) -> Bool { number % 6 == 4 }

  func options() -> StoreOptions {
    var options = StoreOptions()
    options.spillBudget = Self.spillBudget
    options.journalMode = usesCommitLog ? .writeAheadLog : .copyOnWrite
    // The log is checkpointed and restarted during the workload.
    options.walSizeLimit = 0
    // A new snapshot evicts older ones, independently of the date.
    options.snapshotRetention = SnapshotRetention(last: 2, hourly: 0, daily: 0, weekly: 0)
    options.groupCommit = Self.groupCommit
    return options
  }

  /// The command line arguments that describe the workload.
  var arguments: [String] {
    ["--seed", "\(seed)", "--commits", "\(commitCount)"] + (usesCommitLog ? ["--commit-log"] : [])
      + (makesCopies ? ["--copies"] : [])
  }

  /// Performs one commit. It is durable when this returns; after an error it can be repeated. A migration closes the
  /// store, and leaves it closed.
  func perform(_ number: Int, on store: ObjectStore, at path: String) throws {
    var random = SeededGenerator(seed: seed, stream: UInt64(number))
    switch kind(number) {
    case .clone:
      // The clone method of the store, which plans without the write lock and writes in a transaction of its own.
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
        // The alternative to a stream: one large value.
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
    case .rival: try write("rival", number, store, random) { try $0.compete(isOnBranch: false, &$1) }
    case .draft, .draftChanges, .draftMerge: try performOnDraft(number, store, &random)
    default: try performOnBranch(number, store, &random)
    }
  }

  func write(
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

  /// The beginning of the names of snapshots that were not created within a transaction.
  static let snapshotPrefix = "commit-"

  static func snapshotName(_ number: Int) -> String { "\(snapshotPrefix)\(number)" }

  static func cloneOptions(_ number: Int) -> CloneOptions {
    var options = CloneOptions()
    options.idempotencyKey = "commit \(number)"
    options.recordsProvenance = true
    return options
  }

  /// Repeats the clone of a commit with its idempotency key. Returns whether the store recognized it with all its
  /// objects; true if the commit was not a clone.
  func knowsClone(_ number: Int, in store: ObjectStore) throws -> Bool {
    guard kind(number) == .clone else { return true }
    var random = SeededGenerator(seed: seed, stream: UInt64(number))
    // The youngest project is a clone. Without the objects of its commit, the projects are those from before the clone.
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

  /// Uploads a blob in transactions of its own, and uses it in a later transaction together with `body`.
  func stage(
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

  /// The ids of an entity's objects in ascending order.
  static func ids<T: ObjectReading & ~Copyable>(of entity: String, in transaction: borrowing T) throws -> [ObjectID] {
    var ids: [ObjectID] = []
    try transaction.forEachObject(of: entity) { object in
      ids.append(object.id)
      return true
    }
    return ids
  }

  /// Unique bytes, so that swapped pages are detected.
  static func bytes(_ count: Int, _ random: inout SeededGenerator) -> Data {
    var words: [UInt64] = []
    words.reserveCapacity(count / 8 + 1)
    for _ in 0...count / 8 { words.append(random.next()) }
    return words.withUnsafeBytes { Data($0.prefix(count)) }
  }
}
