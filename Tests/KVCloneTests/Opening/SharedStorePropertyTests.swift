import Foundation
import KVCloneTestSupport
import Testing

/// Threads and processes that change one store concurrently, and others that read it, compared with plain dictionaries
/// on which the operations are repeated in the order of the commits.
///
/// The scheduling is not part of a seed. `KVCLONE_SEEDS=7,8 KVCLONE_OPERATIONS=100000` is a long run.
@Suite("Many threads and processes compared with plain dictionaries")
struct SharedStorePropertyTests {
  private static let operationCount = PropertySeeds.count(1500)

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
