import Foundation
import KVClone
import KVCloneTestSupport
import Testing

@testable import KVCloneCore
@testable import KVCloneQuery

private let jobModel = ManagedObjectModel("Jobs") {
  EntityDescription("Job", indexes: [fetchIndex("state"), fetchIndex("rank")]) {
    AttributeDescription("state", .string)
    AttributeDescription("rank", .integer32)
    AttributeDescription("note", .string)
  }
}

@Suite("Fetch indexes: an OR of many and few")
struct FetchIndexUnionTests {
  let test: TestStore

  init() throws {
    test = try TestStore(jobModel)
    _ = try test.store.write { tx in
      try tx.batchInsert(
        "Job", (0..<6000).lazy.map { ["state": $0 < 5000 ? "done" : "open", "rank": .integer(Int64($0))] })
    }
  }

  private func plan(_ format: String, limit: Int = 0) throws -> String {
    let request = FetchRequest("Job", predicate: try QueryPredicate(format: format), fetchLimit: limit)
    return try test.store.read { tx in
      #expect(try tx.ids(request, .always) == tx.ids(request, .never), "\(format)")
      return try #require(try tx.explain(request).first)
    }
  }

  @Test("branches are counted on where the first counts come to their end")
  func counts() throws {
    let scan = "scan all objects of Job and its sub-entities"
    #expect(try plan("state == 'done' OR rank == 5500").hasPrefix(scan))
    #expect(try plan("rank == 5500 OR state == 'done'").hasPrefix(scan))
    #expect(try plan("rank == 5500 OR (note == nil AND (state == 'done' OR rank == 1))").hasPrefix(scan))
    // The limit bounds the reads of one index, but not of several.
    #expect(try plan("state == 'done' OR rank == 5500", limit: 10).hasPrefix(scan))
    #expect(
      try plan("state == 'done'", limit: 10) == "look up state in the index state, without planning (about 10 objects)")
    #expect(try plan("rank > 5400 OR rank < 599") == "merge the results of 2 searches (about 1198 objects)")
    #expect(try plan("state == 'open' OR rank == 1") == "merge the results of 2 searches (about 1001 objects)")
  }
}
