import Foundation
import KVClone
import KVCloneTestSupport
import Testing

@testable import KVCloneCore
@testable import KVCloneOperations

/// Random operations on a store and on plain dictionaries, compared continuously.
///
/// `KVCLONE_SEEDS=7,8 KVCLONE_OPERATIONS=100000` repeats a failure, or searches for rarer ones.
@Suite("A store compared with plain dictionaries")
struct StorePropertyTests {
  @Test("random operations, aborts and reopenings", arguments: PropertySeeds.seeds)
  func random(_ seed: UInt64) throws {
    let run = try RandomRun(seed: seed)
    do {
      while run.operations < PropertySeeds.operationCount { try run.transaction() }
      try run.compare()
    } catch {
      Issue.record("\(error), seed \(seed), operation \(run.operations)")
    }
  }
}

private struct Refusal: Error {}

private final class RandomRun {
  private let test: TestStore
  private let run: RandomOperations
  private var transactions = 0
  /// Every assigned id; those of aborted transactions only until the store is reopened.
  private var known: Set<ObjectID> = []
  private var lost: Set<ObjectID> = []
  private var commit: UInt64 = 0

  init(seed: UInt64) throws {
    run = RandomOperations(seed: seed, randomModel)
    test = try TestStore(randomModel)
  }

  // MARK: Transactions

  func transaction() throws {
    transactions += 1
    let before = run.oracle
    let aborts = run.random.chance(in: 10)
    run.fresh = []
    do {
      try test.store.write { tx in
        for _ in 0..<(1 + run.random.below(20)) { try run.operation(&tx) }
        if aborts { throw Refusal() }
      }
      #expect(run.oracle.isUnique, "a conflict was committed, \(place)")
    } catch is Refusal where aborts {
      run.oracle = before
    } catch is ValidationError {
      #expect(!run.oracle.isUnique, "refused without a conflict, \(place)")
      run.oracle = before
    }
    #expect(known.isDisjoint(with: run.fresh) && lost.isDisjoint(with: run.fresh), "an id was used again, \(place)")
    if before == run.oracle { lost.formUnion(run.fresh) } else { known.formUnion(run.fresh) }
    let now = try test.store.info().commit
    #expect(before == run.oracle ? now - commit <= 1 : now == commit + 1, "commit counter, \(place)")
    commit = now
    if run.random.chance(in: 12) {
      try test.reopen()
      lost = []
    }
    if transactions % 10 == 0 { try compare() }
  }

  private var place: String { run.place }
  var operations: Int { run.count }

  /// Compares the whole store with the oracle.
  func compare() throws {
    try test.store.read { tx in try run.oracle.compare(tx) }
    try checked(test.store)
  }
}
