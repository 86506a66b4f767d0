import Foundation
import KVClone
import KVCloneTestSupport
import Testing

@testable import KVCloneCore
@testable import KVCloneOperations
@testable import KVCloneQuery

/// Random predicates about random graphs, evaluated by a store and on plain dictionaries.
///
/// Each also runs as a prepared request, with variables in place of some constants, and with other values.
///
/// `KVCLONE_PREDICATES=100000 KVCLONE_SEEDS=7,8` searches for rarer failures, or repeats one.
@Suite("Fetch requests compared with plain dictionaries")
struct FetchPropertyTests {
  static let seeds: [UInt64] = {
    let given = ProcessInfo.processInfo.environment["KVCLONE_SEEDS"] ?? ""
    let seeds = given.split(separator: ",").compactMap { UInt64($0) }
    return seeds.isEmpty ? Array(1...20) : seeds
  }()

  /// The number of predicates for all seeds together.
  static let predicateCount = Int(ProcessInfo.processInfo.environment["KVCLONE_PREDICATES"] ?? "") ?? 1000

  @Test("random predicates, orders and limits", arguments: seeds)
  func random(_ seed: UInt64) throws {
    let run = FetchRun(seed: seed)
    try run.run((Self.predicateCount + Self.seeds.count - 1) / Self.seeds.count)
    for failure in run.failures.prefix(FetchRun.shownFailures) { Issue.record("seed \(seed): \(failure)") }
    #expect(run.failures.count <= FetchRun.shownFailures, "and more, seed \(seed)")
  }
}

private final class FetchRun {
  static let shownFailures = 5
  private static let predicatesPerGraph = 100

  private let seed: UInt64
  private var random: SeededGenerator
  private(set) var failures: [String] = []

  init(seed: UInt64) {
    self.seed = seed
    random = SeededGenerator(seed: seed)
  }

  func run(_ count: Int) throws {
    var left = count
    while left > 0 {
      let graph = try FetchGraph(&random)
      let asked = min(left, Self.predicatesPerGraph)
      left -= asked
      try graph.store.read { tx in
        try ask(asked - asked / 5, graph.oracle) { try answer($0, in: tx) }
      }
      // A copy, because the queries draw from the generator in between.
      var changes = SeededGenerator(seed: random.next())
      try graph.withChanges(&changes) { tx, oracle in
        try ask(asked / 5, oracle) { try answer($0, in: tx) }
      }
      let damages = try graph.store.check().issues.prefix(3).map(\.message)
      if !damages.isEmpty { failures.append("damaged: \(damages)") }
    }
  }

  // MARK: Querying

  private struct Question {
    let entity: String
    let predicate: OraclePredicate
    let includesSubentities: Bool
    let keys: [FetchSortKey]
    let limit: Int
    let offset: Int
  }

  private struct Answer: Equatable {
    let ids: [ObjectID]
    let count: Int
    let sorted: [ObjectID]
  }

  private func ask(_ count: Int, _ oracle: FetchOracle, _ answer: ((Question, QueryPredicate)) throws -> Answer) throws
  {
    var generator = FetchGenerator(random: random, graph: oracle.graph)
    for _ in 0..<count {
      let entity = generator.pick(["Thing", "Thing", "Item", "Special", "Box", "Tag", "Tag", "Group"])
      let predicate = generator.predicate(entity)
      let order = generator.order(entity)
      let question = Question(
        entity: entity, predicate: predicate, includesSubentities: !generator.random.chance(in: 8),
        keys: order, limit: generator.random.below(3) * generator.random.below(8),
        offset: generator.random.below(3) * generator.random.below(4))
      guard let failure = failure(question, oracle, answer) else { continue }
      failures.append(failures.count < Self.shownFailures ? shrunk(question, failure, oracle, answer) : failure.text)
    }
    random = generator.random
  }

  private func answer(_ question: (Question, QueryPredicate), in tx: borrowing some ObjectReading & ~Copyable) throws
    -> Answer
  {
    let (question, predicate) = question
    let plain = FetchRequest(
      question.entity, predicate: predicate, includesSubentities: question.includesSubentities)
    let sorted = FetchRequest(
      question.entity, predicate: predicate, sortDescriptors: question.keys.map(\.descriptor),
      fetchLimit: question.limit,
      fetchOffset: question.offset, includesSubentities: question.includesSubentities)
    let answer = Answer(ids: try tx.fetchIDs(plain), count: try tx.count(plain), sorted: try tx.fetchIDs(sorted))
    for use in RequestPlanner.IndexUse.all {
      let other = Answer(ids: try tx.ids(plain, use), count: try tx.count(plain, use), sorted: try tx.ids(sorted, use))
      if other != answer { throw Difference(use: use, plan: try tx.plan(sorted, use), answer: other, expected: answer) }
    }
    var asker = PreparedAsker(for: sorted)
    try asker.ask(plain, in: tx)
    try asker.ask(sorted, in: tx)
    return answer
  }

  /// The same request has different results with and without its indexes.
  private struct Difference: Error {
    let use: RequestPlanner.IndexUse
    let plan: [String]
    let answer: Answer
    let expected: Answer
  }

  // MARK: Comparing

  private struct Failure {
    /// The kind of the failure, which a smaller predicate must reproduce.
    let kind: String
    let text: String
  }

  private func failure(
    _ question: Question, _ oracle: FetchOracle, _ answer: ((Question, QueryPredicate)) throws -> Answer
  ) -> Failure? {
    let format = OracleFormat(question.predicate) { id in
      oracle.graph.objects[id].map { "\($0.entity)/\(id.serial)" }
    }
    func fail(_ kind: String, _ detail: String) -> Failure {
      Failure(kind: kind, text: "\(kind): \(question.entity) where \(format.text), \(format.arguments): \(detail)")
    }
    let predicate: QueryPredicate
    do {
      predicate = try QueryPredicate(format: format.text, arguments: format.arguments)
    } catch {
      return fail("not read", "\(error)")
    }
    let printed = predicate.predicateFormat
    do {
      if try QueryPredicate(format: printed) != predicate { return fail("printed as another", printed) }
    } catch {
      return fail("printed wrongly", "\(printed): \(error)")
    }
    let found: Answer
    do {
      found = try answer((question, predicate))
    } catch let error as StoreError {
      return fail("refused as \(error.kind)", error.message)
    } catch {
      return fail("refused", "\(error)")
    }
    let wanted = oracle.find(question.predicate, question.entity, includesSubentities: question.includesSubentities)
    if found.ids != wanted {
      let (surplus, missing) = (Set(found.ids).subtracting(wanted), Set(wanted).subtracting(found.ids))
      let values = surplus.union(missing).min().flatMap { oracle.graph.objects[$0] }
      return fail(
        "found others",
        "\(printed): surplus \(surplus.sorted()), missing \(missing.sorted()), such as "
          + (values.map { "\($0.entity) \($0.values.mapValues { "\($0)" }) \($0.links)" } ?? "none, another order"))
    }
    if found.count != wanted.count { return fail("counted otherwise", "\(found.count) of \(wanted.count)") }
    let rest = oracle.sort(wanted, question.keys).dropFirst(question.offset)
    let sorted = Array(question.limit == 0 ? rest : rest.prefix(question.limit))
    if found.sorted != sorted {
      return fail(
        "sorted otherwise",
        "\(question.keys), limit \(question.limit), offset \(question.offset): \(found.sorted) instead of \(sorted)")
    }
    return nil
  }

  /// Returns the failure of the smallest predicate that fails in the same way, found by removing one part at a time.
  private func shrunk(
    _ question: Question, _ failure: Failure, _ oracle: FetchOracle,
    _ answer: ((Question, QueryPredicate)) throws -> Answer
  ) -> String {
    var (question, best) = (question, failure)
    var tries = 0
    search: while tries < 400 {
      for predicate in question.predicate.simpler {
        tries += 1
        let smaller = Question(
          entity: question.entity, predicate: predicate, includesSubentities: question.includesSubentities,
          keys: question.keys, limit: question.limit, offset: question.offset)
        if let failure = self.failure(smaller, oracle, answer), failure.kind == best.kind {
          (question, best) = (smaller, failure)
          continue search
        }
      }
      break
    }
    return best.text
  }
}
