import Foundation
import KVCloneTestSupport
import Testing

@testable import KVClone
@testable import KVCloneCore
@testable import KVCloneOperations
@testable import KVCloneQuery

/// A store without local files either works, or throws `unsupportedByEngine` with a remedy before it changes anything.
@Suite("Engine without files") struct EngineWithoutFilesTests {
  private let model = ManagedObjectModel("Plain") {
    EntityDescription("Note", unique: [["title"]]) {
      AttributeDescription("title", .string)
      RelationshipDescription("next", toOne: "Note", inverse: "previous")
      RelationshipDescription("previous", toOne: "Note", inverse: "next")
    }
  }

  private func store(_ options: StoreOptions = StoreOptions()) throws -> (ObjectStore, MemoryStorage) {
    let engine = MemoryStorage()
    try ObjectStore.create(in: engine, model: model).close()
    engine.reopen()
    return (try StoreOpening.open(engine, path: "engine", model: model, options: options), engine)
  }

  @Test func factsComeFromTheEntries() throws {
    let (store, _) = try store()
    defer { store.close() }
    try store.write { tx in try tx.insert("Note", ["title": "one"]) }
    let info = try store.info()
    #expect(info.objectCount == 1 && info.commit == 1 && info.counts == ["Note": 1])
    #expect(store.writeLockHolder == nil)
    #expect(try store.activeReaders().isEmpty)
    #expect(try store.clearStaleReaders() == 0)
    #expect(try store.check().isClean)
  }

  @Test func callsThatNeedPagesThrowBeforeTheyChangeAnything() throws {
    let (store, engine) = try store()
    defer { store.close() }
    let path = try temporaryDirectory() + "/copy"
    let before = try store.info().commit
    let calls: [() throws -> Void] = [
      { _ = try store.statistics() }, { _ = try store.deepStatistics() }, { _ = try store.reflinkCopy(to: path) },
    ]
    for call in calls {
      let error = try #require(expectError(.unsupportedByEngine, call))
      #expect(error.message.contains("; "), "a remedy: \(error.message)")
    }
    #expect(!FileManager.default.fileExists(atPath: path))
    #expect(try store.info().commit == before)
    #expect(try engine.facts().pageCount == 0)
  }

  @Test func objectLimitsApply() throws {
    var options = StoreOptions()
    options.maximumObjectCount = 2
    let (store, _) = try store(options)
    defer { store.close() }
    let ids = try store.write { tx in [try tx.insert("Note"), try tx.insert("Note")] }
    expectError(.limitExceeded) { try store.write { tx in _ = try tx.insert("Note") } }
    let plan = try store.planClone(ids)
    #expect(plan.errors.map(\.kind) == [.limitExceeded])
  }

  @Test func liveResultsNoticeCommits() async throws {
    let (store, _) = try store()
    defer { store.close() }
    var results = store.liveResults(for: FetchRequest("Note")).makeAsyncIterator()
    let first = try await results.next()
    #expect(first?.ids.isEmpty == true)
    try await store.write { tx in _ = try tx.insert("Note", ["title": "one"]) }
    let second = try await results.next()
    #expect(second?.ids.count == 1)
  }

  @Test func readersAreListedWhileNoConnectionIsFree() throws {
    let engine = FaultyEngine(MemoryStorage(), kind: .busy)
    let store = try ObjectStore.create(in: engine, model: model)
    defer { store.close() }
    let pinned = try store.pinnedSnapshot(owner: "report")
    defer { pinned.close() }
    engine.arm(1)
    let readers = try store.activeReaders()
    #expect(engine.fired == .beginRead)
    #expect(readers.map(\.owner) == ["report"] && readers[0].lag == 0)
  }
}
