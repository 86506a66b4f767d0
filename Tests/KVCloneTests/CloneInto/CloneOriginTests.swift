import Foundation
import KVCloneTestSupport
import Testing

@testable import KVClone
@testable import KVCloneCore

/// Two stores are recognized as one by their UUID and their engines, not by their paths.
@Suite("Clone origins") struct CloneOriginTests {
  private let model = ManagedObjectModel("Plain") {
    EntityDescription("Note") { AttributeDescription("title", .string) }
  }

  /// Opens the state of a store in another engine. All have the same path.
  private func opened(_ state: MemoryStorage.Snapshot, _ network: MemoryNetwork?) throws -> ObjectStore {
    let engine = MemoryStorage(network: network)
    engine.restore(state)
    return try StoreOpening.open(engine, path: "engine", model: model, options: StoreOptions())
  }

  private func expectClone(_ source: ObjectStore, _ destination: ObjectStore, isAllowed: Bool) throws {
    let note = try source.insert("Note", ["title": "one"])
    if isAllowed {
      _ = try source.clone([note], into: destination)
      #expect(try source.planClone([note], into: destination).errors.isEmpty)
      return
    }
    for call in [
      { _ = try source.clone([note], into: destination) }, { _ = try source.planClone([note], into: destination) },
    ] {
      do {
        try call()
        Issue.record("the clone within one store was accepted")
      } catch let error as CloneError {
        #expect(error.kind == .invalidConfiguration, "\(error.message)")
      }
    }
  }

  @Test func storesWithOneNameInTwoClustersAreTwoStores() throws {
    let (one, other) = (
      MemoryStorage(network: MemoryNetwork(place: "a")), MemoryStorage(network: MemoryNetwork(place: "b"))
    )
    let (source, destination) = (
      try ObjectStore.create(in: one, model: model), try ObjectStore.create(in: other, model: model)
    )
    #expect(source.path == destination.path)
    try expectClone(source, destination, isAllowed: true)
  }

  @Test func aCopyIsAnotherStoreAndASecondOpeningIsNot() throws {
    let engine = MemoryStorage(network: MemoryNetwork(place: "a"))
    let source = try ObjectStore.create(in: engine, model: model)
    let state = engine.snapshot()
    let copy = try opened(state, MemoryNetwork(place: "b"))
    #expect(copy.uuid == source.uuid)
    try expectClone(source, copy, isAllowed: true)
    try expectClone(source, try opened(state, nil), isAllowed: true)
    try expectClone(source, try opened(state, MemoryNetwork(place: "a")), isAllowed: false)
    let again = try StoreOpening.open(engine, path: "another name", model: model, options: StoreOptions())
    try expectClone(source, again, isAllowed: false)
    try expectClone(source, source, isAllowed: false)
  }

  @Test(.needsDataFile(.copiedDirectory)) func aCopiedDirectoryIsAnotherStore() throws {
    let test = try TestStore(model)
    try #require(test.store.engine.files != nil)
    test.store.close()
    let path = test.root + "/copy"
    try FileManager.default.copyItem(atPath: test.path, toPath: path)
    try test.reopen()
    let copy = try ObjectStore.open(at: path)
    defer { copy.close() }
    #expect(copy.uuid == test.store.uuid)
    try expectClone(test.store, copy, isAllowed: true)
  }
}
