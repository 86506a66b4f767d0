import Foundation
import KVCloneTestSupport
import Testing

@testable import KVClone
@testable import KVCloneCore
@testable import KVCloneOperations
@testable import KVCloneQuery

/// Random operations on a store with changing snapshots, each compared with a full copy of the plain dictionaries.
///
/// `KVCLONE_SEEDS=7,8 KVCLONE_OPERATIONS=100000` repeats a failure, or searches for rarer ones.
@Suite("Snapshots compared with full copies")
struct SnapshotPropertyTests {
  static let operationCount = PropertySeeds.count(500)

  @Test("random operations, snapshots, aborts, indexes that come and go", arguments: PropertySeeds.seeds)
  func random(_ seed: UInt64) throws {
    let run = try SnapshotRun(seed: seed)
    do {
      try run.begin()
      while run.operations.count < Self.operationCount { try run.step() }
      try run.end()
    } catch {
      Issue.record("\(error), \(run.place)")
    }
    // A summary of a long run.
    if ProcessInfo.processInfo.environment["KVCLONE_OPERATIONS"] != nil { print(run.summary) }
  }
}
