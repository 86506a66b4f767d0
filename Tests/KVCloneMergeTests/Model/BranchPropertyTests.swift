import Foundation
import KVCloneTestSupport
import Testing

/// Random operations of two processes on a store and up to 20 branches, each compared with full copies of plain
/// dictionaries.
///
/// The scheduling of the processes is not part of a seed. `KVCLONE_SEEDS=7,8 KVCLONE_OPERATIONS=200000` is a long run.
@Suite("Branches compared with full copies")
struct BranchPropertyTests {
  static let operationCount = PropertySeeds.count(1500)

  @Test("random operations on branches and their snapshots", arguments: PropertySeeds.seeds)
  func random(_ seed: UInt64) throws {
    let run = try BranchRun(seed: seed)
    do {
      while run.operationCount < Self.operationCount { try run.round() }
      try run.end()
    } catch {
      Issue.record("\(error), \(run.place)")
    }
    // A summary of a long run.
    if ProcessInfo.processInfo.environment["KVCLONE_OPERATIONS"] != nil { print(run.summary) }
  }
}
