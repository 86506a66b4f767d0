import Foundation
import KVClone
import KVCloneTestSupport
import Testing

@testable import KVCloneCore
@testable import KVCloneRecords

/// The state of a transaction beside its changed objects, after savepoints that were rolled back.
@Suite("Savepoints and the state of the transaction")
struct SavepointStateTests {
  let test: TestStore
  let made: SavepointFixture
  var store: ObjectStore { test.store }

  init() throws {
    test = try TestStore(savepointModel, options: .tracking())
    made = try SavepointFixture(test.store)
  }

  @Test("author, operation and merge policy are those before the savepoint")
  func settings() throws {
    try store.write(mergePolicy: .mergeByPropertyObjectTrump) { tx in
      tx.author = "before"
      try tx.rollingBack { tx in
        tx.author = "inside"
        tx.operation = "inside"
        tx.mergePolicy = .error
      }
      let policy = tx.mergePolicy
      #expect(policy == .mergeByPropertyObjectTrump)
      try tx.savepoint { tx in tx.operation = "kept" }
      try tx.set(made.album, "tick", 1)
    }
    let told = try store.lastTransaction()
    #expect(told.author == "before" && told.operation == "kept")
  }

  @Test("a deletion that a hook rejected, and that was rolled back, does not make the commit fail")
  func rejections() throws {
    var hooks = ObjectLifecycle()
    hooks.validateForDelete = { _, _ in throw LifecycleRejection("is needed") }
    try store.register(hooks, for: "Album")
    let issues = expectIssues {
      try store.write { tx in try tx.savepoint { tx in _ = try tx.delete([made.other]) } }
    }
    #expect(issues == ["refusedByHook Album."])
    try store.write { tx in
      try tx.set(made.other, "title", "kept")
      try tx.rollingBack { tx in try tx.delete([made.other]) }
    }
    #expect(try store.value(made.other, "title") == "kept")
    try checked(store)
  }

  @Test("replaced objects are those before the savepoint")
  func replaced() throws {
    let (first, second) = (made.photos[0], made.photos[1])
    try store.write { tx in
      let replaced = ReplacedObjects()
      tx.session.state.replaced = replaced
      replaced.note([first: second])
      try tx.rollingBack { tx in tx.session.state.replaced?.note([second: made.photos[2]]) }
      #expect(replaced.all == [first: second])
      try tx.savepoint { tx in tx.session.state.replaced?.note([second: made.photos[3]]) }
      #expect(replaced.last(from: first) == made.photos[3])
    }
  }

  @Test("what was looked up or decided in the savepoint is unknown again")
  func lookedUp() throws {
    try store.write { tx in
      try tx.rollingBack { tx in
        tx.session.state.now = Date()
        tx.session.state.hasProvenance = true
        tx.session.state.keepsBrokenObjects = true
        tx.session.state.limitUse.objectRoom = 7
      }
      let state = tx.session.state
      #expect(state.now == nil && state.hasProvenance == nil)
      #expect(!state.keepsBrokenObjects && state.limitUse.objectRoom == 0)
    }
  }
}
