import Foundation
import KVCloneCoreData
import KVCloneModel
import KVCloneTestSupport
import Testing

/// Merges of random histories against an oracle that was written from the rules alone.
///
/// `KVCLONE_HISTORIES` is the number of histories, `KVCLONE_SEEDS` the seeds of the first ones: a run of single
/// histories, or of as many as `KVCLONE_HISTORIES` from each.
@Suite("Merges against an oracle")
struct MergeOracleTests {
  private static let givenCount = Int(ProcessInfo.processInfo.environment["KVCLONE_HISTORIES"] ?? "")

  @Test("M1–M5, M7, M9, M14, M17: plans, results and conflicts of random histories are the oracle's")
  func histories() { compare(60) { OracleHistory(seed: $0) } }

  @Test(
    "M1–M5, M7, M9, M14, M17: plans, results and conflicts on models of the corpus are the oracle's",
    .enabled(if: Corpus.root != nil, Comment(rawValue: Corpus.missing)))
  func corpus() throws {
    let models = try Corpus.allContents().map { bundle, version in
      DictionaryModel(try ManagedObjectModel.load(contentsOf: bundle, version: version).model)
    }.filter { $0.entities.contains { !$0.isAbstract } }
    compare(60) { OracleHistory(seed: $0, model: models[Int($0 % UInt64(models.count))]) }
  }

  private func compare(_ standard: Int, _ history: (UInt64) -> OracleHistory) {
    let firsts = PropertySeeds.hasGivenSeeds ? PropertySeeds.seeds : [1, .random(in: 0 ... .max)]
    let count = Self.givenCount ?? (PropertySeeds.hasGivenSeeds ? 1 : standard)
    var tally = OracleTally()
    for seed in firsts.flatMap({ first in (0..<count).map { first &+ UInt64($0) } }) {
      let history = history(seed)
      guard let failure = history.problem(&tally) else { continue }
      var ignored = OracleTally()
      let small = history.shrunk { $0.problem(&ignored) != nil }
      Issue.record(
        """
        seed \(seed): \(failure)
        shrunk: \(small.problem(&ignored) ?? "passes")
        base \(small.baseEdits)
        ours \(small.oursEdits)
        theirs \(small.theirsEdits)
        options \(small.options)
        model \(small.model)
        """)
      break
    }
    // A summary of a long run.
    if Self.givenCount != nil { print("Seeds \(firsts), \(tally)") }
  }
}
