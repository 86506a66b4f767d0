import Foundation
import KVCloneRecords
import KVCloneTestSupport
import Testing

@testable import KVClone
@testable import KVCloneCore
@testable import KVCloneOperations
@testable import KVCloneQuery

/// Indexes that are added and removed with the model, in stores that already contain objects.
@Suite("Fetch indexes: models that gain and lose them")
struct FetchIndexStoreTests {
  private static func model(_ indexes: [FetchIndexDescription], sub: [FetchIndexDescription] = []) -> ManagedObjectModel
  {
    ManagedObjectModel("Growing") {
      EntityDescription("Item", unique: [["code"]], indexes: indexes) {
        AttributeDescription("name", .string)
        AttributeDescription("code", .integer64)
        AttributeDescription("size", .double)
        RelationshipDescription("next", toOne: "Item", inverse: "previous")
        RelationshipDescription("previous", toMany: "Item", inverse: "next")
      }
      EntityDescription("Part", parent: "Item", indexes: sub) { AttributeDescription("weight", .float) }
    }
  }

  private static let plain = model([])
  private static let indexed = model([fetchIndex("name", "-size"), fetchIndex("next")], sub: [fetchIndex("weight")])

  private func fill(_ store: ObjectStore, count: Int = 2500) throws {
    try store.write { tx in
      for number in 0..<count {
        let values: [String: AttributeValue?] = ["name": .string("n\(number % 100)"), "code": .integer(Int64(number))]
        try tx.insert(number % 2 == 0 ? "Item" : "Part", values)
      }
    }
  }

  private func plan(_ store: ObjectStore, _ format: String = "name == 'n7'", in entity: String = "Item") throws
    -> String
  {
    let request = FetchRequest(entity, predicate: try QueryPredicate(format: format))
    return try store.read { tx in
      #expect(try tx.ids(request, .always) == tx.ids(request, .never))
      return try tx.explain(request)[0]
    }
  }

  private func entryCount(_ store: ObjectStore) throws -> Int {
    let session = try store.readSession()
    return Int(try session.storage.entryCount(session.schema.tables.indexes))
  }

  private static let searched = "look up name in the index name_-size, without planning (about 25 objects)"
  private static let scanned = "scan all objects of Item and its sub-entities"

  @Test("indexes that a model gains are built at open, those that it loses are dropped, in one transaction each")
  func gainedAndLost() throws {
    let test = try TestStore(Self.plain)
    try fill(test.store)
    #expect(try test.store.info().formatVersion == 3)
    #expect(try plan(test.store).hasPrefix(Self.scanned))
    let commit = try test.store.info().commit
    try test.reopen(model: Self.indexed)
    #expect(try test.store.info().commit == commit + 1)
    #expect(try test.store.info().formatVersion == 4)
    #expect(try plan(test.store) == Self.searched)
    #expect(try entryCount(test.store) == 2500 * 3 + 1250)
    try checked(test.store)
    // Reopening with the same model or without a model changes nothing.
    try test.reopen(model: Self.indexed)
    try test.reopen()
    #expect(try test.store.info().commit == commit + 1)
    #expect(try plan(test.store) == Self.searched)
    try fill(test.store, count: 0)
    try test.store.insert("Part", ["name": "n7", "code": -1])
    try test.reopen(model: Self.model([fetchIndex("next")]))
    #expect(try entryCount(test.store) == 2501 * 2)
    #expect(try plan(test.store).hasPrefix(Self.scanned))
    try checked(test.store)
    try test.reopen(model: Self.plain)
    #expect(try entryCount(test.store) == 2501)
    #expect(try test.store.info().formatVersion == 4)
    try checked(test.store)
    try test.reopen(model: Self.indexed)
    #expect(try entryCount(test.store) == 2501 * 3 + 1251)
    try checked(test.store)
    let report = try test.store.check()
    #expect(report.issues.isEmpty)
  }

  @Test("ids of indexes are never given again, to the same index neither")
  func ids() throws {
    let test = try TestStore(Self.indexed)
    let first = test.store.schema.codes.fetchIndexIDs
    try test.reopen(model: Self.plain)
    #expect(test.store.schema.codes.fetchIndexIDs.isEmpty)
    try test.reopen(model: Self.indexed)
    #expect(test.store.schema.codes.fetchIndexIDs.isDisjoint(with: first))
    #expect(test.store.schema.codes.isConsistent)
  }

  @Test("a store from before fetch indexes gets those of its own model at the first opening for writing")
  func before() throws {
    let engine = MemoryStorage()
    try ObjectStore.create(in: engine, model: Self.plain).close()
    engine.reopen()
    var store = try StoreOpening.assemble(engine, path: "engine", model: nil, options: StoreOptions())
    try fill(store, count: 300)
    store.close()
    engine.reopen()
    // The format of an earlier version: the model with its indexes, without ids for them.
    let metadata = try engine.openTables([.metadata], create: false)[0]
    let key = MetadataKey.bytes(MetadataKey.model(1))
    func quoted(_ model: ManagedObjectModel) throws -> String {
      String(decoding: try model.encodedJSON(), as: UTF8.self).replacing("\"", with: "\\\"")
    }
    let (old, new) = (try quoted(Self.plain), try quoted(Self.indexed))
    engine.tamper(metadata) { entries in
      guard let index = entries.firstIndex(where: { $0.key == key }) else { return }
      let text = String(decoding: entries[index].value.dropFirst(8), as: UTF8.self)
      let changed = Array(text.replacing(old, with: new).utf8)
      entries[index].value = BytesValue(changed).encoded(seed: ValueEnvelope.seed(tableCode: .metadata, key: key))
    }
    var readOnly = StoreOptions()
    readOnly.isReadOnly = true
    store = try StoreOpening.assemble(engine, path: "engine", model: nil, options: readOnly)
    #expect(store.model == Self.indexed)
    #expect(try plan(store).hasPrefix(Self.scanned))
    #expect(try store.check().issues.isEmpty)
    store.close()
    engine.reopen()
    store = try StoreOpening.assemble(engine, path: "engine", model: nil, options: StoreOptions())
    #expect(try plan(store).hasPrefix("look up name in the index name_-size"))
    #expect(try store.info().formatVersion == 4)
    #expect(try store.check().issues.isEmpty)
    store.close()
  }

  @Test("opened read-only with a model of other indexes, a store uses those that it has")
  func readOnly() throws {
    let test = try TestStore(Self.model([fetchIndex("name", "-size")]))
    try fill(test.store)
    var readOnly = StoreOptions()
    readOnly.isReadOnly = true
    try test.reopen(model: Self.model([fetchIndex("name", "-size"), fetchIndex("size")]), options: readOnly)
    #expect(try plan(test.store) == Self.searched)
    #expect(try plan(test.store, "size == 1").hasPrefix(Self.scanned))
    #expect(try test.store.check().issues.isEmpty)
  }

  @Test("a store that another process gave other indexes reads without them, and writes no more")
  func otherProcess() throws {
    let engine = MemoryStorage()
    try ObjectStore.create(in: engine, model: Self.indexed).close()
    engine.reopen()
    let old = try StoreOpening.assemble(engine, path: "engine", model: nil, options: StoreOptions())
    try fill(old, count: 300)
    // Other differences between the models are allowed.
    var entities = Self.indexed.entities
    entities[0].userInfo["a"] = "b"
    var other = try StoreOpening.assemble(
      engine, path: "engine", model: ManagedObjectModel(name: "Growing", entities: entities), options: StoreOptions())
    try old.insert("Item", ["name": "n7"])
    #expect(try plan(old).hasPrefix("look up name in the index"))
    other = try StoreOpening.assemble(
      engine, path: "engine", model: Self.model([fetchIndex("size")]), options: StoreOptions())
    let error = expectError(.incompatibleModel) { try old.insert("Item", ["name": "n7"]) }
    #expect(error?.message.contains("open it again") == true)
    #expect(try plan(old).hasPrefix(Self.scanned))
    try other.insert("Item", ["name": "n7"])
    #expect(try other.check().issues.isEmpty)
    #expect(try plan(other, "size == 3").hasPrefix("search the index size"))
  }

  @Test("files with fetch indexes need a library that keeps them; files without one do not")
  func versions() throws {
    for (model, version) in [(Self.plain, 3), (Self.indexed, 4)] as [(ManagedObjectModel, UInt32)] {
      let test = try TestStore(model)
      let format = try test.store.read { tx in
        try tx._withSession { (session) throws(StoreError) in
          try Metadata.format(session.storage, session.schema.tables.metadata)
        }
      }
      #expect(format?.version == version && format?.minimumReaderVersion == version)
    }
  }

  @Test("a corrupted record does not prevent opening: the new index is omitted, and `check` reports why")
  func damagedRecord() throws {
    let test = try TestStore(Self.plain)
    try fill(test.store, count: 10)
    let table = try test.store.schema.entity("Item").table
    let key = ShortKey.object(ObjectID(rootCode: table.code.rootCode ?? 1, serial: 3)).array
    try test.store.overwrite(table, key, [UInt8](repeating: 1, count: 40))
    try test.reopen(model: Self.indexed)
    #expect(test.store.model == Self.indexed)
    #expect(test.store.schema.codes.fetchIndexIDs.isEmpty)
    #expect(try test.store.check().issues.map(\.kind) == [.record])
    try test.store.insert("Item", ["name": "n7"])
  }
}
