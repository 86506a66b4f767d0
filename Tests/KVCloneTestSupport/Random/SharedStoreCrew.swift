import Dispatch
import Foundation
import KVClone
import Synchronization
import Testing

/// The clients of a store in one round, each in a separate thread or process.
final class SharedStoreCrew: Sendable {
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
    fileprivate var writing = SharedStoreCrew.writers + SharedStoreCrew.peers
  }

  private let store: ObjectStore
  private let location: String
  private let label: Int
  private let seed: UInt64
  private let notes = Mutex(Notes())

  init(store: ObjectStore, location: String, label: Int, seed: UInt64) {
    (self.store, self.location, self.label, self.seed) = (store, location, label, seed)
  }

  func work() -> Notes {
    let group = DispatchGroup()
    func start(_ count: Int, _ body: @escaping @Sendable (SharedStoreCrew, Int) throws -> Void) {
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
      "share", [location, "p\(number)-\(label)", "\(seed &+ UInt64(50 + number))", "\(Self.stepCount)"])
    while let line = peer.hear() {
      let step = try JSONDecoder().decode(SharedOperations.Step.self, from: Data(line.utf8))
      notes.withLock { $0.steps.append(step) }
    }
    #expect(try peer.finish() == 0, "a process failed, seed \(seed)")
  }

  /// Reads the whole store repeatedly during the writes, half of the times twice in one transaction.
  private func read() throws {
    while true {
      let (isWriting, known) = notes.withLock { ($0.writing > 0, $0.steps.map(\.commit).max() ?? 0) }
      if !isWriting { return }
      try store.read { tx in
        let commit = try tx.currentToken().commit
        // A commit that was acknowledged before, by this process or by another one.
        if commit < known { notes.withLock { $0.errors.append("a read shows commit \(commit) after commit \(known)") } }
        for _ in 0..<(commit % 2 + 1) {
          var oracle = StoreOracle(randomModel)
          try oracle.reload(tx)
          notes.withLock { [oracle] notes in notes.observations.append(Observation(commit: commit, oracle: oracle)) }
        }
      }
    }
  }
}
