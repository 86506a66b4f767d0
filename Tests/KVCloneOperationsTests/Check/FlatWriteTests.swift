import Foundation
import KVCloneTestSupport
import Testing

@testable import KVClone
@testable import KVCloneCore
@testable import KVCloneOperations
@testable import KVCloneQuery

/// Writes and migrations that read many objects between two changes keep few copies, like the reads of
/// `FlatMemoryTests`.
@Suite("Flat memory of writes") struct FlatWriteTests {
  private static let count = 9000

  private static func model(linksBack: Bool = false, isUnique: Bool = false) -> ManagedObjectModel {
    ManagedObjectModel("Flat", version: linksBack ? "2" : "1") {
      EntityDescription("Person", unique: isUnique ? [["name"]] : []) {
        AttributeDescription("name", .string, optional: false, default: "none")
        RelationshipDescription("best", toOne: "Person", inverse: linksBack ? "fans" : nil)
        if linksBack { RelationshipDescription("fans", toMany: "Person", inverse: "best") }
      }
    }
  }

  private struct Fixture {
    let engine = MemoryStorage()
    let store: ObjectStore

    init(_ model: ManagedObjectModel = FlatWriteTests.model(), options: StoreOptions = StoreOptions()) throws {
      try ObjectStore.create(in: engine, model: model).close()
      engine.reopen()
      store = try StoreOpening.open(engine, path: "engine", model: nil, options: options)
    }

    func insert() throws {
      _ = try store.write { tx in
        try tx.batchInsert(
          "Person", (0..<FlatWriteTests.count).map { ["name": AttributeValue.string("person \($0)")] })
      }
    }

    /// Expects that `body` keeps few entries, whatever the number of objects.
    func expectFlat(
      _ what: String, sourceLocation: SourceLocation = #_sourceLocation, _ body: () throws -> Void
    ) throws {
      engine.countReads(window: 0)
      try body()
      let kept = engine.reads.greatestLentCount
      #expect(kept < 4500, "\(what) keeps \(kept) entries", sourceLocation: sourceLocation)
    }
  }

  @Test("a batch insert that returns ids, and its validation")
  func inserts() throws {
    let fixture = try Fixture()
    defer { fixture.store.close() }
    try fixture.expectFlat("a batch insert") {
      let result = try fixture.store.write { tx in
        tx.mergePolicy = .overwrite
        return try tx.batchInsert(
          "Person", (0..<Self.count).map { ["name": AttributeValue.string("person \($0)")] }, resultType: .objectIDs)
      }
      #expect(result.objectIDs.count == Self.count)
    }
  }

  @Test("batch updates and deletes")
  func updatesAndDeletes() throws {
    let fixture = try Fixture()
    defer { fixture.store.close() }
    try fixture.insert()
    try fixture.expectFlat("a batch update") {
      let result = try fixture.store.write { tx in
        try tx.batchUpdate(FetchRequest("Person"), propertiesToUpdate: ["name": "other"])
      }
      #expect(result.count == Self.count)
    }
    try fixture.expectFlat("a batch delete") {
      let result = try fixture.store.write { tx in try tx.batchDelete(FetchRequest("Person")) }
      #expect(result.count == Self.count)
    }
  }

  @Test("hooks that change nothing")
  func hooks() throws {
    let fixture = try Fixture()
    defer { fixture.store.close() }
    var hooks = ObjectLifecycle()
    hooks.willSave = { tx, id in _ = try tx.value(id, "name") }
    hooks.validateForInsert = { tx, id in _ = try tx.value(id, "name") }
    hooks.validateForDelete = { tx, id in _ = try tx.value(id, "name") }
    hooks.didSave = { _, _ in }
    try fixture.store.register(hooks, for: "Person")
    try fixture.expectFlat("the save of new objects") { try fixture.insert() }
    try fixture.expectFlat("a validated delete") {
      let result = try fixture.store.write { tx in try tx.batchDelete(FetchRequest("Person")) }
      #expect(result.count == Self.count)
    }
  }

  @Test("links that exist already, and the removal of links that do not exist")
  func links() throws {
    let fixture = try Fixture(Self.model(linksBack: true))
    defer { fixture.store.close() }
    try fixture.insert()
    let people = try fixture.store.read { tx in try tx.fetchIDs(FetchRequest("Person")) }
    let fans = Array(people.dropFirst(2))
    try fixture.store.write { tx in try tx.link(people[0], "fans", fans) }
    try fixture.expectFlat("a repeated link") {
      try fixture.store.write { tx in try tx.link(people[0], "fans", fans) }
    }
    try fixture.expectFlat("the removal of missing links") {
      try fixture.store.write { tx in try tx.unlink(people[1], "fans", fans) }
    }
    let count = try fixture.store.read { tx in try tx.count(people[0], "fans") }
    #expect(count == fans.count)
  }

  @Test("a unique text that begins like those of many objects")
  func longTexts() throws {
    let fixture = try Fixture(Self.model(isUnique: true))
    defer { fixture.store.close() }
    let start = String(repeating: "a", count: 700)
    _ = try fixture.store.write { tx in
      // Validation would compare each text with all others.
      tx.session.state.keepsBrokenObjects = true
      return try tx.batchInsert(
        "Person", (0..<Self.count).map { ["name": AttributeValue.string("\(start) \($0)")] })
    }
    try fixture.expectFlat("the validation of one object") {
      _ = try fixture.store.write { tx in try tx.insert("Person", ["name": .string(start)]) }
    }
  }

  @Test("the objects of a snapshot that were all changed since")
  func snapshots() throws {
    let fixture = try Fixture()
    defer { fixture.store.close() }
    try fixture.insert()
    let snapshot = try fixture.store.createSnapshot(named: "one")
    _ = try fixture.store.write { tx in try tx.batchDelete(FetchRequest("Person")) }
    try fixture.expectFlat("a count in a snapshot") {
      let found = try snapshot.read { tx in try tx.count(entity: "Person") }
      #expect(found == Self.count)
    }
  }

  @Test("reading the history of many transactions")
  func history() throws {
    let fixture = try Fixture(options: .tracking())
    defer { fixture.store.close() }
    let id = try fixture.store.write { tx in try tx.insert("Person", ["name": "first"]) }
    for number in 0..<3000 { try fixture.store.write { tx in try tx.set(id, "name", .string("\(number)")) } }
    try fixture.expectFlat("the history") {
      let found = try fixture.store.history()
      #expect(found.count == 3001)
    }
  }

  @Test("a migration that finds nothing to change in most objects")
  func migration() throws {
    let fixture = try Fixture()
    try fixture.insert()
    fixture.store.close()
    fixture.engine.reopen()
    try fixture.expectFlat("a migration") {
      _ = try StoreOpening.migrate(
        fixture.engine, path: "engine", to: Self.model(linksBack: true), MigrationOptions(), StoreOptions(), nil, nil)
    }
  }
}
