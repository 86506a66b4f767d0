import Dispatch
import Foundation
import KVCloneTestSupport
import Synchronization
import Testing

@testable import KVClone
@testable import KVCloneCore

/// Threads and processes that change one store concurrently, and others that read it, compared with plain dictionaries
/// on which the operations are repeated in the order of the commits.
///
/// The scheduling is not part of a seed. `KVCLONE_SEEDS=7,8 KVCLONE_OPERATIONS=100000` is a long run.
@Suite("Many threads and processes compared with plain dictionaries")
struct SharedStorePropertyTests {
  private static let operationCount =
    Int(ProcessInfo.processInfo.environment["KVCLONE_OPERATIONS"] ?? "") ?? 1500

  /// One run with a write-ahead log, which odd seeds use, and one without.
  static let seeds =
    PropertySeeds.hasGivenSeeds ? Array(PropertySeeds.seeds.prefix(2)) : [1, .random(in: 0 ... .max) & ~1]

  @Test("random operations", arguments: seeds)
  func random(_ seed: UInt64) throws {
    let run = try SharedStoreRun(seed: seed)
    while run.operationCount < Self.operationCount { try run.round() }
    #expect(run.rounds < 10 || run.mostSnapshots > 50)
    if ProcessInfo.processInfo.environment["KVCLONE_OPERATIONS"] != nil { print(run.summary) }
  }
}

/// The clients of a store in one round, each in a separate thread or process.
private final class Crew: Sendable {
  static let (writers, readers, peers) = (4, 3, 2)
  private static let stepCount = 12
  /// The number of snapshots kept from round to round; more than a dozen are added in each.
  static let snapshotCount = 45
  static let comparedCount = 5

  /// The state that a reader observed.
  struct Observation {
    let commit: UInt64
    let oracle: StoreOracle
  }

  struct Notes {
    var steps: [SharedOperations.Step] = []
    var observations: [Observation] = []
    var errors: [String] = []
    fileprivate var writing = Crew.writers + Crew.peers
  }

  private let store: ObjectStore
  private let path: String
  private let label: Int
  private let seed: UInt64
  private let notes = Mutex(Notes())

  init(store: ObjectStore, path: String, label: Int, seed: UInt64) {
    (self.store, self.path, self.label, self.seed) = (store, path, label, seed)
  }

  func work() -> Notes {
    let group = DispatchGroup()
    func start(_ count: Int, _ body: @escaping @Sendable (Crew, Int) throws -> Void) {
      for number in 0..<count {
        // A queue for each, because a shared one has only as many threads as there are processors.
        DispatchQueue(label: "crew").async(group: group) {
          do { try body(self, number) } catch { self.notes.withLock { $0.errors.append("\(error)") } }
        }
      }
    }
    start(Self.writers) { crew, number in try crew.write(number) }
    start(Self.peers) { crew, number in try crew.listen(number) }
    start(Self.readers) { crew, _ in try crew.read() }
    group.wait()
    return notes.withLock { $0 }
  }

  private func write(_ number: Int) throws {
    defer { notes.withLock { $0.writing -= 1 } }
    var operations = SharedOperations("t\(number)-\(label)", store, seed: seed &+ UInt64(number))
    for _ in 0..<Self.stepCount {
      if let step = try operations.step() { notes.withLock { $0.steps.append(step) } }
    }
  }

  /// Another process writes, and prints its operations.
  private func listen(_ number: Int) throws {
    defer { notes.withLock { $0.writing -= 1 } }
    let peer = try PeerProcess(
      "share", [path, "p\(number)-\(label)", "\(seed &+ UInt64(50 + number))", "\(Self.stepCount)"])
    while let line = peer.hear() {
      let step = try JSONDecoder().decode(SharedOperations.Step.self, from: Data(line.utf8))
      notes.withLock { $0.steps.append(step) }
    }
    #expect(try peer.finish() == 0, "a process failed, seed \(seed)")
  }

  /// Reads the whole store repeatedly during the writes, half of the times twice in one transaction.
  private func read() throws {
    while notes.withLock({ $0.writing }) > 0 {
      try store.read { tx in
        let commit = try tx.currentToken().commit
        for _ in 0..<(commit % 2 + 1) {
          var oracle = StoreOracle(randomModel)
          try oracle.reload(tx)
          notes.withLock { [oracle] notes in notes.observations.append(Observation(commit: commit, oracle: oracle)) }
        }
      }
    }
  }
}

/// A store, its expected contents, and the observations of its readers.
private final class SharedStoreRun {
  private let seed: UInt64
  private let test: TestStore
  private let options: StoreOptions
  private var oracle: StoreOracle
  private var commit: UInt64
  private(set) var rounds = 0
  /// Expected contents of the snapshots by name.
  private var snapshots: [String: StoreOracle] = [:]
  private(set) var operationCount = 0
  private(set) var mostSnapshots = 0
  private var (transactions, observed, compared) = (0, 0, 0)

  init(seed: UInt64) throws {
    self.seed = seed
    var random = SeededGenerator(seed: seed)
    var options = StoreOptions()
    options.journalMode = seed % 2 == 1 ? .writeAheadLog : .copyOnWrite
    options.tracksHistory = random.chance(in: 2)
    self.options = options
    test = try TestStore(randomModel, options: options)
    oracle = StoreOracle(randomModel)
    commit = try test.store.currentToken().commit
  }

  var summary: String {
    "seed \(seed): \(operationCount) operations of \(Crew.writers) threads and \(Crew.peers) processes in \(transactions) "
      + "transactions, \(rounds) rounds with the store opened anew by all, \(observed) whole states read meanwhile, at most "
      + "\(mostSnapshots) snapshots, \(compared) of them compared, \(oracle.objects.count) objects at the end"
  }

  private var place: String { "seed \(seed), round \(rounds)" }

  /// Runs transactions of all clients, then repeats all of them on the oracle, one after the other.
  func round() throws {
    rounds += 1
    let crew = Crew(store: test.store, path: test.path, label: rounds, seed: seed &+ UInt64(rounds * 100))
    let notes = crew.work()
    #expect(notes.errors.isEmpty, "\(notes.errors.prefix(3)), \(place)")
    try replay(notes)
    try compare()
    try test.reopen(options: options)
  }

  // MARK: Repetition

  private func replay(_ notes: Crew.Notes) throws {
    let last = try test.store.currentToken().commit
    let steps = Dictionary(grouping: notes.steps, by: \.commit)
    #expect(steps.values.allSatisfy { $0.count == 1 }, "two commits have one number, \(place)")
    #expect(steps.keys.allSatisfy { $0 > commit && $0 <= last }, "a commit outside of its round, \(place)")
    let observations = Dictionary(grouping: notes.observations, by: \.commit)
    for number in commit...last {
      // A commit without a step deletes a snapshot.
      if let step = steps[number]?.first {
        for operation in step.operations { try apply(operation) }
        operationCount += step.operations.count
        transactions += 1
      }
      for observation in observations[number] ?? [] {
        let differences = oracle.differences(to: observation.oracle)
        #expect(differences.isEmpty, "who read at commit \(number) saw another state, \(place)")
        observed += 1
      }
    }
    commit = last
  }

  private func apply(_ operation: SharedOperations.Operation) throws {
    func ids(_ values: [UInt64]) -> [ObjectID] { values.map { ObjectID(rawValue: $0) } }
    switch operation {
    case .insert(let value, let entity, let name):
      let id = ObjectID(rawValue: value)
      #expect(oracle.objects[id] == nil, "an id was given twice, \(place)")
      oracle.insert(id, entity, entity == "Tag" ? [:] : [entity == "Note" ? "text" : "name": .string(name)])
    case .setName(let id, let name): oracle.set(ObjectID(rawValue: id), "name", .string(name))
    case .setCode(let id, let code): oracle.set(ObjectID(rawValue: id), "code", code.map { .integer($0) })
    case .setData(let id, let count, let byte):
      oracle.set(ObjectID(rawValue: id), "data", .binary(Data(repeating: byte, count: count)))
    case .link(let id, let name, let targets): oracle.link(ObjectID(rawValue: id), name, ids(targets))
    case .unlink(let id, let name, let targets): oracle.unlink(ObjectID(rawValue: id), name, ids(targets))
    case .setMembers(let id, let name, let targets): oracle.setMembers(ObjectID(rawValue: id), name, ids(targets))
    case .delete(let targets): _ = try oracle.delete(ids(targets))
    case .snapshot(let name): snapshots[name] = oracle
    }
  }

  /// Compares the store, the snapshots to be deleted, and some of the others.
  private func compare() throws {
    try test.store.read { tx in try oracle.compare(tx) }
    var live = try test.store.snapshots().map(\.name)
    mostSnapshots = max(mostSnapshots, live.count)
    snapshots = snapshots.filter { live.contains($0.key) }
    #expect(snapshots.count == live.count, "a snapshot of nobody, \(place)")
    live.shuffle()
    let leaving = live.dropFirst(Crew.snapshotCount)
    for name in leaving + live.prefix(Crew.comparedCount) {
      guard let past = snapshots[name] else { continue }
      try test.store.snapshot(named: name).read { tx in
        var seen = StoreOracle(randomModel)
        try seen.reload(tx)
        let differences = past.differences(to: seen)
        #expect(differences.isEmpty, "snapshot \(name), \(place)")
      }
      compared += 1
    }
    try checked(test.store)
    try test.store.deleteSnapshots(named: Array(leaving))
    commit = try test.store.currentToken().commit
  }
}
