import Foundation
import KVClone
import KVCloneTestSupport
import Testing

@testable import KVCloneCore
@testable import KVCloneOperations

/// Counts of objects, and their limit, after savepoints that were rolled back.
@Suite("Savepoints and limits")
struct SavepointLimitTests {
  let test: TestStore
  let made: SavepointFixture
  var store: ObjectStore { test.store }

  init() throws {
    test = try TestStore(savepointModel, options: .tracking())
    made = try SavepointFixture(test.store)
  }

  @Test("objects that were rolled back do not count for the limit")
  func limit() throws {
    let count = try store.info().objectCount
    var options = StoreOptions.tracking()
    options.maximumObjectCount = count + 2
    try test.reopen(options: options)
    try store.write { tx in
      try tx.rollingBack { tx in for _ in 0..<2 { try tx.insert("Marker") } }
      for _ in 0..<2 { try tx.insert("Marker") }
    }
    #expect(try store.info().objectCount == count + 2)
    // Deletes that were rolled back make no room.
    expectError(.limitExceeded) {
      try store.write { tx in
        try tx.rollingBack { tx in try tx.delete(made.photos) }
        try tx.insert("Marker")
      }
    }
    try store.write { tx in
      try tx.savepoint { tx in try tx.delete([made.photos[0]]) }
      try tx.savepoint { tx in try tx.insert("Marker") }
    }
    #expect(try store.info().objectCount == count + 2)
    try checked(store)
  }

  @Test("a count of objects inside the transaction follows the rollback")
  func counts() throws {
    try store.write { tx in
      let before = try tx.count(entity: "Photo")
      try tx.rollingBack { tx in
        try tx.delete([made.album])
        try tx.insert("Raw")
        let within = try tx.count(entity: "Photo")
        #expect(within == 1)
      }
      let after = try tx.count(entity: "Photo")
      #expect(after == before && after == 30)
    }
    #expect(try store.info().objectCount == store.lines().count)
  }
}
