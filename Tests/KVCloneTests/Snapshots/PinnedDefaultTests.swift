import KVCloneTestSupport
import Testing

@testable import KVClone
@testable import KVCloneCore

/// The default limits of pinned snapshots are those of the engine, unless an option is set.
@Suite("Defaults of pinned snapshots") struct PinnedDefaultTests {
  private let model = ManagedObjectModel("Plain") {
    EntityDescription("Note") { AttributeDescription("title", .string) }
  }

  private func store(_ network: MemoryNetwork?, _ options: StoreOptions = StoreOptions()) throws -> ObjectStore {
    let engine = MemoryStorage(network: network)
    try ObjectStore.create(in: engine, model: model).close()
    engine.reopen()
    return try StoreOpening.open(engine, path: "engine", model: model, options: options)
  }

  @Test func anEngineStatesItsDefaults() throws {
    let (local, remote) = (MemoryStorage(), MemoryStorage(network: MemoryNetwork(maximumAge: .seconds(5))))
    var options = StoreOptions()
    #expect(options.pinnedSnapshotLimit == 64 && options.pinnedSnapshotMaximumAge == .seconds(3600))
    #expect(options.pinnedSnapshotLimits(of: local) == (64, .seconds(3600)))
    #expect(options.pinnedSnapshotLimits(of: remote) == (2, .seconds(5)))
    options.pinnedSnapshotLimit = 5
    options.pinnedSnapshotMaximumAge = .seconds(7)
    #expect(options.pinnedSnapshotLimits(of: local) == (5, .seconds(7)))
    #expect(options.pinnedSnapshotLimits(of: remote) == (5, .seconds(7)))
    options.pinnedSnapshotMaximumAge = nil
    #expect(options.pinnedSnapshotMaximumAge == nil)
    #expect(options.pinnedSnapshotLimits(of: remote) == (5, nil))
  }

  @Test func defaultsAcrossANetworkApply() async throws {
    let store = try store(MemoryNetwork(maximumAge: .seconds(5)))
    defer { store.close() }
    let pinned = [try store.pinnedSnapshot(maximumAge: .unreached), try store.pinnedSnapshot()]
    expectError(.tooManySnapshots) { _ = try store.pinnedSnapshot() }
    try await Task.sleep(for: .seconds(6))
    for snapshot in pinned {
      #expect(snapshot.isExpired)
      expectError(.snapshotExpired) { try snapshot.read { _ in } }
    }
  }

  @Test func optionsReplaceTheDefaults() async throws {
    var options = StoreOptions()
    options.pinnedSnapshotLimit = 3
    options.pinnedSnapshotMaximumAge = nil
    let store = try store(MemoryNetwork(maximumAge: .seconds(5)), options)
    defer { store.close() }
    let pinned = try (0..<3).map { _ in try store.pinnedSnapshot() }
    expectError(.tooManySnapshots) { _ = try store.pinnedSnapshot() }
    try await Task.sleep(for: .seconds(6))
    #expect(try pinned.allSatisfy { try !$0.isExpired && $0.read { tx in try tx.count(FetchRequest("Note")) } == 0 })
  }
}
