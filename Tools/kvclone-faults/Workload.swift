import Foundation
import KVClone

/// A series of commits, each a function of the seed, of its number and of the content before it, so that the content
/// after commit N is known without being remembered. No two of them leave the same content.
struct Workload: Sendable {
  let seed: UInt64
  /// How many commits there are, numbered from 1. The store counts more of them: it stages and sweeps in its own.
  let commitCount: Int
  /// Whether commits are made durable by the commit log.
  var usesCommitLog = false

  /// Small enough that a commit of many images spills several times.
  static let spillBudget = 32 << 10

  /// Longer than what an upload holds in memory, so that it takes several transactions.
  private static let stagedLength = 5 << 20
  /// More than one chunk at once.
  private static let largeLength = 1_300_000

  enum Kind: Sendable { case base, changes, spilling, clone, cleaning, staged, large }

  func kind(_ number: Int) -> Kind {
    if number == 1 { return .base }
    // Late, because every later trial carries these bytes along, and beyond the end of the quick form.
    if number == 17 { return .large }
    switch number % 6 {
    case 2: return .clone
    case 4: return .spilling
    case 5: return .staged
    case 0: return .cleaning
    default: return .changes
    }
  }

  /// Whether the process closes the store before this commit and opens it again, so that faults meet that too.
  func opensAgain(before number: Int) -> Bool { number % 6 == 3 }

  func options() -> StoreOptions {
    var options = StoreOptions()
    options.spillBudget = Self.spillBudget
    options.usesCommitLog = usesCommitLog
    // So that it is full, and begins anew, in the course of the workload.
    options.commitLogLimit = 0
    return options
  }

  /// What names the workload on the command line.
  var arguments: [String] {
    ["--seed", "\(seed)", "--commits", "\(commitCount)"] + (usesCommitLog ? ["--commit-log"] : [])
  }

  /// Performs one commit. It is durable when this returns; when it throws, it can be tried again.
  func perform(_ number: Int, on store: ObjectStore) throws {
    var random = SeededGenerator(seed: seed, stream: UInt64(number))
    switch kind(number) {
    case .clone:
      // The clone's own entry, which plans without the lock and writes in a transaction of its own.
      let projects = try store.read { try Workload.ids(of: "Project", in: $0) }
      guard let project = random.element(projects) else { return try changes(number, store, &random) }
      _ = try store.clone([project], options: Workload.cloneOptions(number))
    case .base:
      try store.write(label: "base") { transaction in
        var step = WorkloadStep(random, number: number)
        try step.makeBase(&transaction)
      }
    case .spilling:
      try store.write(label: "spilling") { transaction in
        var step = WorkloadStep(random, number: number)
        try step.read(transaction)
        try step.insertManyPhotos(&transaction)
      }
    case .cleaning:
      try store.write(label: "cleaning") { transaction in
        var step = WorkloadStep(random, number: number)
        try step.read(transaction)
        try step.clean(&transaction)
      }
    case .staged:
      try stage(number, (0..<3).map { _ in 5_000 + random.below(30_000) }, store, &random)
    case .large:
      try stage(number, Array(repeating: Workload.stagedLength / 8, count: 8), store, &random) {
        (transaction, random) in
        // The other way for many bytes: one value, given whole.
        let photos = try Workload.ids(of: "Photo", in: transaction)
        guard let photo = random.element(photos) else { return }
        let image = Workload.bytes(Workload.largeLength + random.below(100_000), &random)
        try transaction.set(photo, "image", .binary(image))
      }
    case .changes:
      try changes(number, store, &random)
    }
  }

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
    guard let project = random.element(projects) else { return try changes(number, store, &random) }
    var later = random
    let staged = try store.stageData { writer in
      for length in lengths { try writer.append(Workload.bytes(length, &later)) }
    }
    try store.write(label: "use staged data") { transaction in
      var random = later
      try transaction.setData(project, "notes", staged)
      try transaction.set(project, "number", .integer(Int64(number)))
      try body(&transaction, &random)
    }
  }

  private func changes(_ number: Int, _ store: ObjectStore, _ random: inout SeededGenerator) throws {
    let start = random
    try store.write(label: "changes") { transaction in
      var step = WorkloadStep(start, number: number)
      try step.read(transaction)
      try step.changeSome(&transaction)
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
