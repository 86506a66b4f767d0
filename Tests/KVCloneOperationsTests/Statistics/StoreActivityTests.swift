import KVCloneTestSupport
import Testing

@testable import KVClone
@testable import KVCloneCore
@testable import KVCloneOperations

/// The metrics and the liveness of a store with any storage engine.
@Suite("Store activity") struct StoreActivityTests {
  private let model = ManagedObjectModel("Activity") {
    EntityDescription("Note") { AttributeDescription("title", .string) }
    EntityDescription("Place", abstract: true) { AttributeDescription("name", .string) }
    EntityDescription("Town", parent: "Place") {}
    EntityDescription("Shop", parent: "Place") {}
  }

  private func fill(_ store: ObjectStore) throws {
    try store.write { tx in
      for _ in 0..<3 { try tx.insert("Note") }
      try tx.insert("Town")
    }
    try store.createSnapshot(named: "one")
  }

  @Test func anEngineWithoutPagesHasActivity() throws {
    let store = try ObjectStore.create(in: MemoryStorage(), model: model)
    defer { store.close() }
    try fill(store)
    let pinned = try store.pinnedSnapshot(owner: "report")
    defer { pinned.close() }
    try store.write { tx in try tx.insert("Note") }
    let activity = try StoreActivity(of: store)
    #expect(activity.commit == 3 && activity.snapshotCount == 1 && activity.pages == nil)
    // The entities of one table are not counted, because that would read all records.
    #expect(activity.counts == ["Note": 4])
    #expect(activity.readerCount == 1 && activity.oldestReader?.owner == "report" && activity.oldestReader?.lag == 1)
    expectError(.unsupportedByEngine) { _ = try store.statistics() }
    #expect(StoreActivity.failure(toRead: store) == nil)
  }

  @Test(.needsDataFile(.statistics)) func aStoreInADirectoryHasThePagesToo() throws {
    let test = try TestStore(model)
    try fill(test.store)
    let activity = try StoreActivity(of: test.store)
    let statistics = try test.store.statistics()
    #expect(activity.commit == statistics.commit && activity.counts == statistics.counts)
    #expect(activity.counts == ["Note": 3, "Town": 1, "Shop": 0])
    #expect(activity.pages?.pageCount == statistics.pageCount && activity.readerCount == 0)
    #expect(StoreActivity.failure(toRead: test.store) == nil)
  }

  @Test(arguments: [StoreError.Kind.io, .busy, .readersFull, .corrupted])
  func aRestartHelpsOnlyAgainstErrorsOfTheProcess(_ kind: StoreError.Kind) throws {
    for isRemote in [false, true] {
      let engine = FaultyEngine(MemoryStorage(), kind: kind, network: isRemote ? MemoryNetwork() : nil)
      let store = try ObjectStore.create(in: engine, model: model)
      defer { store.close() }
      engine.arm(1)
      let failure = try #require(StoreActivity.failure(toRead: store))
      #expect(failure.error.kind == kind)
      let mayHelp = kind == .corrupted || !isRemote && kind != .readersFull
      #expect(failure.mayRestartHelp == mayHelp, "\(kind), across a network: \(isRemote)")
      engine.arm(nil)
      #expect(StoreActivity.failure(toRead: store) == nil)
    }
  }
}
