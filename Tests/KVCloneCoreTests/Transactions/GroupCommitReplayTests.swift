import Foundation
import KVCloneRecords
import KVCloneTestSupport
import Testing

@testable import KVClone
@testable import KVCloneCore
@testable import KVCloneOperations
@testable import KVCloneQuery

/// Random writes that share commits, and the same writes one after the other on another store: the contents are equal.
///
/// `KVCLONE_SEEDS=7,8 KVCLONE_OPERATIONS=2000` repeats a failure, or does more writes. The seed does not determine
/// which writes share a commit.
@Suite("Group commit compared with single commits")
struct GroupCommitReplayTests {
  private static let count = Int(ProcessInfo.processInfo.environment["KVCLONE_OPERATIONS"] ?? "") ?? 120

  /// The error of a write.
  private struct Outcome: Equatable, Sendable {
    var number: Int
    var error: String
  }

  /// Changes that can be committed repeatedly; the others delete objects that all of them change.
  private static let lasting =
    SavepointTraceTests.others.filter { $0.name != "deletions" }
    + SavepointTraceTests.changes.filter {
      ["update", "move", "long lists", "to-one", "blobs", "clone", "snapshot", "insert and delete", "look"].contains(
        $0.name)
    }
  private static let passing = SavepointTraceTests.changes + SavepointTraceTests.failures

  /// A write by its number: some changes, some in savepoints, and an error in one of five.
  private static func body(_ seed: UInt64, _ made: SavepointFixture)
    -> @Sendable (inout WriteTransaction) throws -> Void
  {
    { tx in
      var random = SeededGenerator(seed: seed)
      tx.author = "\(seed)"
      for _ in 0..<(1 + random.below(3)) {
        let kept = lasting[random.below(lasting.count)]
        let lost = passing[random.below(passing.count)]
        switch random.below(4) {
        case 0: try? tx.savepoint { tx in try kept.run(&tx, made) }
        case 1: try? tx.rollingBack { tx in try lost.run(&tx, made) }
        default: try kept.run(&tx, made)
        }
      }
      try tx.insert("Marker", ["label": .string("\(seed)")])
      if random.chance(in: 5) {
        try passing[random.below(passing.count)].run(&tx, made)
        throw SavepointRefusal()
      }
    }
  }

  private static func text(_ error: any Error) -> String {
    if let error = error as? ValidationError {
      return "\(Set(error.issues.map { "\($0.kind) \($0.object) \($0.property)" }).sorted())"
    }
    return (error as? any KVCloneError)?.kindName ?? "\(error)"
  }

  @Test("random writes, in the order in which they ran", arguments: PropertySeeds.seeds, [false, true])
  func replay(_ seed: UInt64, _ hasSnapshot: Bool) async throws {
    let options = StoreOptions.grouping { $0.groupCommit.maximumCount = 7 }
    let engine = MemoryStorage()
    _ = try ObjectStore.create(in: engine, model: savepointModel)
    let counting = GroupCommitEngine(engine)
    let store = try StoreOpening.assemble(counting, path: "engine", model: nil, options: options)
    let made = try SavepointFixture(store)
    if hasSnapshot { try await store.createSnapshot(named: "old") }
    let twin = MemoryStorage()
    twin.restore(engine.snapshot())
    let single = try StoreOpening.assemble(twin, path: "twin", model: nil, options: options)
    let before = (commit: try store.info().commit, engine: counting.commitCount)

    let order = ContractBox<[Int]>([])
    let outcomes = await withTaskGroup(of: Outcome.self) { group in
      for number in 0..<Self.count {
        group.addTask {
          do {
            let body = Self.body(seed &+ UInt64(number), made)
            try await store.write { tx in
              order.change { $0.append(number) }
              try body(&tx)
            }
            return Outcome(number: number, error: "")
          } catch {
            return Outcome(number: number, error: Self.text(error))
          }
        }
      }
      return await group.reduce(into: [Int: String]()) { $0[$1.number] = $1.error }
    }
    #expect(order.value.sorted() == Array(0..<Self.count), "seed \(seed)")
    let successes = outcomes.values.count { $0.isEmpty }
    #expect(try store.info().commit == before.commit + UInt64(successes), "seed \(seed)")
    #expect(counting.commitCount - before.engine <= successes, "seed \(seed)")

    for number in order.value {
      let body = Self.body(seed &+ UInt64(number), made)
      var error = ""
      do { try Self.writeSingly(single, body) } catch let thrown { error = Self.text(thrown) }
      #expect(outcomes[number] == error, "write \(number), seed \(seed)")
    }
    try expectEqual(store, single, "seed \(seed)")
    for name in try single.snapshots().map(\.name) {
      for store in [store, single] { try await store.deleteSnapshot(named: name) }
    }
    try expectEqual(store, single, "without snapshots, seed \(seed)")
    try store.expectNoPreviousStates()
  }

  private static func writeSingly(_ store: ObjectStore, _ body: (inout WriteTransaction) throws -> Void) throws {
    try store.write(body)
  }

  private func expectEqual(_ store: ObjectStore, _ single: ObjectStore, _ place: String) throws {
    let differences = try StoreImage(store).differences(to: StoreImage(single))
    if !differences.isEmpty { Issue.record("\(differences.count): \(differences.prefix(3)), \(place)") }
    let damages = try store.check(CheckOptions(readData: true)).issues
    #expect(damages.isEmpty, "\(damages.prefix(3).map(\.message)), \(place)")
  }
}
