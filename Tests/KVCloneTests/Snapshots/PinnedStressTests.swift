import Dispatch
import Foundation
import KVCloneTestSupport
import Synchronization
import Testing

@testable import KVClone
@testable import KVCloneCore
@testable import KVCloneOperations

/// Concurrent threads that write, pin, read, close, expire and list.
@Suite("Pinned snapshots under load") struct PinnedStressTests {
  private static let count = 40

  /// Moves an amount between accounts; the sum of all balances is constant.
  private static func transfer(_ store: ObjectStore, _ ids: [ObjectID], _ random: inout SeededGenerator) throws {
    let (from, to) = (ids[random.below(count)], ids[random.below(count)])
    let amount = Int64(random.below(50))
    try store.write(timeout: .seconds(60)) { tx in
      for (id, change) in [(from, -amount), (to, amount)] {
        guard case .integer(let balance) = try tx.value(id, "balance") else { continue }
        try tx.set(id, "balance", .integer(balance + change))
      }
    }
  }

  private static func sum(_ tx: borrowing ReadTransaction, _ ids: [ObjectID]) throws -> Int64 {
    var sum: Int64 = 0
    for id in ids { if case .integer(let balance) = try tx.value(id, "balance") { sum += balance } }
    return sum
  }

  /// Returns whether an error may end a read here, which is only allowed before it begins.
  private static func isExpected(_ error: any Error) -> Bool {
    guard let error = error as? StoreError else { return false }
    return [.closed, .snapshotExpired, .tooManySnapshots].contains(error.kind)
  }

  @Test(.needsDataFile(.lockFile), arguments: PropertySeeds.seeds) func expiryAndCloseRaceReads(_ seed: UInt64) throws {
    var options = StoreOptions()
    options.pinnedSnapshotLimit = 12
    let (test, ids) = try TestStore.pinned(Self.count, options: options)
    let shared = Mutex<[PinnedSnapshot]>([])
    for round in 0..<2 {
      let store = test.store
      let group = DispatchGroup()
      let isOver = Atomic<Bool>(false)
      @Sendable func run(_ number: Int, _ body: @escaping @Sendable (inout SeededGenerator) throws -> Void) {
        let thread = Thread {
          var random = SeededGenerator(seed: seed &+ UInt64(number) &* 1000 &+ UInt64(round))
          while !isOver.load(ordering: .relaxed) {
            do {
              try body(&random)
            } catch {
              if !Self.isExpected(error) { Issue.record("\(error), seed \(seed)") }
            }
          }
          group.leave()
        }
        group.enter()
        thread.start()
      }
      run(1) { random in try Self.transfer(store, ids, &random) }
      for number in 2...3 {
        run(number) { random in
          let snapshot = try store.pinnedSnapshot(
            owner: "\(number)", maximumAge: random.chance(in: 3) ? nil : .microseconds(random.below(4000)))
          shared.withLock { $0.append(snapshot) }
          let sum = try snapshot.read { tx in try Self.sum(tx, ids) }
          #expect(sum == Int64(Self.count * 100), "seed \(seed)")
          if random.chance(in: 2) { snapshot.close() }
        }
      }
      for number in 4...6 {
        run(number) { random in
          let place = random.below(1 << 20)
          let drops = random.chance(in: 4)
          let snapshot = shared.withLock { snapshots -> PinnedSnapshot? in
            if snapshots.isEmpty { return nil }
            return drops ? snapshots.remove(at: place % snapshots.count) : snapshots[place % snapshots.count]
          }
          guard let snapshot else { return }
          let sum = try snapshot.read { tx in
            if place % 5 == 0 { snapshot.close() }
            return try Self.sum(tx, ids)
          }
          #expect(sum == Int64(Self.count * 100), "seed \(seed)")
        }
      }
      run(7) { _ in
        let readers = try store.activeReaders()
        // For every open reader, the age and the slot are known.
        let unknown = readers.filter { !$0.isThisProcess || $0.age == nil || $0.isStale }
        #expect(unknown.isEmpty, "seed \(seed), round \(round): \(unknown)")
      }
      usleep(1_500_000)
      // In the second round, the store is closed while all threads run.
      if round == 1 { store.close() }
      isOver.store(true, ordering: .relaxed)
      group.wait()
      shared.withLock { $0.removeAll() }
      if round == 0 {
        try test.waitForNoReader()
        #expect(try store.activeReaders().isEmpty)
        try checked(store)
      }
    }
    try test.reopen()
    try checked(test.store)
    let sum = try test.store.read { tx in try Self.sum(tx, ids) }
    #expect(sum == Int64(Self.count * 100), "seed \(seed)")
  }
}
