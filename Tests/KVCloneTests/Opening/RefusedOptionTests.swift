import KVCloneTestSupport
import Testing

@testable import KVClone
@testable import KVCloneCore

/// Options about a data file, on a storage engine without one.
@Suite("Refused options") struct RefusedOptionTests {
  private let model = ManagedObjectModel("Plain") {
    EntityDescription("Note") { AttributeDescription("title", .string) }
  }

  private static let promises: [@Sendable (inout StoreOptions) -> Void] = [
    { $0.maximumFileBytes = 1 << 30 }, { $0.verifiesPagesAtOpen = true },
  ]

  @Test(arguments: 0..<2) func promisesAboutAFileAreRefused(_ index: Int) throws {
    let engine = MemoryStorage()
    try ObjectStore.create(in: engine, model: model).close()
    engine.reopen()
    let before = engine.snapshot()
    var options = StoreOptions()
    Self.promises[index](&options)
    options.tracksHistory = true
    let error = expectError(.unsupportedByEngine) {
      _ = try StoreOpening.open(engine, path: "engine", model: model, options: options)
    }
    #expect(error?.message.contains("leave it") == true)
    expectError(.unsupportedByEngine) {
      _ = try StoreOpening.migrate(engine, path: "engine", to: model, MigrationOptions(), options, nil, nil)
    }
    expectError(.unsupportedByEngine) {
      _ = try StoreOpening.planMigration(engine, path: "engine", to: model, MigrationOptions(), options, nil, nil)
    }
    let after = engine.snapshot()
    #expect(before == after)
  }

  @Test func optionsThatTuneAFileHaveNoEffect() throws {
    let engine = MemoryStorage()
    try ObjectStore.create(in: engine, model: model).close()
    engine.reopen()
    var options = StoreOptions()
    options.journalMode = .writeAheadLog
    options.walSizeLimit = 1
    options.spillBudget = 0
    options.maximumReaders = 1
    options.usesBtrfsCopyOnWrite = true
    let store = try StoreOpening.open(engine, path: "engine", model: model, options: options)
    defer { store.close() }
    try store.write { tx in _ = try tx.insert("Note") }
    let pinned = [try store.pinnedSnapshot(), try store.pinnedSnapshot()]
    #expect(try pinned.allSatisfy { try $0.read { tx in try tx.count(FetchRequest("Note")) } == 1 })
  }
}
