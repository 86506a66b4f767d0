import Foundation
import KVClone
import Testing

/// A store, its expected contents, and the observations of its readers.
package final class SharedStoreRun {
  private let seed: UInt64
  private let test: TestStore
  private let options: StoreOptions
  private var oracle: StoreOracle
  private var commit: UInt64
  package private(set) var rounds = 0
  /// Expected contents of the snapshots by name.
  private var snapshots: [String: StoreOracle] = [:]
  package private(set) var operationCount = 0
  package private(set) var mostSnapshots = 0
  package private(set) var transactions = 0
  private var (observed, compared) = (0, 0)

  package init(seed: UInt64, engine: TestStore.Engine = .selected) throws {
    self.seed = seed
    var random = SeededGenerator(seed: seed)
    var options = StoreOptions()
    options.journalMode = seed % 2 == 1 ? .writeAheadLog : .copyOnWrite
    options.tracksHistory = random.chance(in: 2)
    options.busyTimeout = SharedOperations.busyTimeout
    self.options = options
    test = try TestStore(randomModel, options: options, engine: engine)
    oracle = StoreOracle(randomModel)
    commit = try test.store.currentToken().commit
  }

  package var summary: String {
    "seed \(seed): \(operationCount) operations of \(SharedStoreCrew.writers) threads and \(SharedStoreCrew.peers) processes in \(transactions) "
      + "transactions, \(rounds) rounds after each of which all reopen the store, \(observed) whole states read, at most "
      + "\(mostSnapshots) snapshots, \(compared) of them compared, \(oracle.objects.count) objects at the end"
  }

  private var place: String { "seed \(seed), round \(rounds)" }

  /// Runs transactions of all clients, then repeats all of them on the oracle, one after the other.
  package func round() throws {
    rounds += 1
    let crew = SharedStoreCrew(
      store: test.store, location: test.location, label: rounds, seed: seed &+ UInt64(rounds * 100))
    let notes = crew.work()
    #expect(notes.errors.isEmpty, "\(notes.errors.prefix(3)), \(place)")
    try replay(notes)
    try compare()
    try test.reopen(options: options)
  }

  // MARK: Repetition

  private func replay(_ notes: SharedStoreCrew.Notes) throws {
    let last = try test.store.currentToken().commit
    let steps = Dictionary(grouping: notes.steps, by: \.commit)
    #expect(steps.values.allSatisfy { $0.count == 1 }, "two commits have one number, \(place)")
    #expect(steps.keys.allSatisfy { $0 > commit && $0 <= last }, "a commit outside of its round, \(place)")
    let observations = Dictionary(grouping: notes.observations, by: \.commit)
    for number in commit...last {
      // A commit without a step deletes a snapshot.
      if let step = steps[number]?.first {
        for operation in step.operations {
          if case .snapshot(let name) = operation { snapshots[name] = oracle }
          try oracle.repeatOperation(operation)
        }
        operationCount += step.operations.count
        transactions += 1
      }
      for observation in observations[number] ?? [] {
        let differences = oracle.differences(to: observation.oracle)
        #expect(differences.isEmpty, "a read at commit \(number) shows another state, \(place)")
        observed += 1
      }
    }
    commit = last
  }

  /// Compares the store, the snapshots to be deleted, and some of the others.
  private func compare() throws {
    try test.store.read { tx in try oracle.compare(tx) }
    var live = try test.store.snapshots().map(\.name)
    mostSnapshots = max(mostSnapshots, live.count)
    snapshots = snapshots.filter { live.contains($0.key) }
    #expect(snapshots.count == live.count, "an unknown snapshot, \(place)")
    live.shuffle()
    let leaving = live.dropFirst(SharedStoreCrew.snapshotCount)
    for name in leaving + live.prefix(SharedStoreCrew.comparedCount) {
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
