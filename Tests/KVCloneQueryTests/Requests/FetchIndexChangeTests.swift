import Foundation
import KVCloneRecords
import KVCloneTestSupport
import Testing

@testable import KVClone
@testable import KVCloneCore
@testable import KVCloneOperations
@testable import KVCloneQuery

private let changeModel = ManagedObjectModel("Changes") {
  EntityDescription(
    "Note", unique: [["slug"]],
    indexes: [fetchIndex("-title", "folder"), fetchIndex("folder"), fetchIndex("picture"), fetchIndex("mark")]
  ) {
    AttributeDescription("title", .string, default: "new")
    AttributeDescription("slug", .string)
    AttributeDescription("picture", .binary)
    AttributeDescription("mark", .uuid, userInfo: ["rebuild": "uuid"])
    RelationshipDescription("folder", toOne: "Folder", inverse: "notes")
    RelationshipDescription("twin", toOne: "Note", inverse: "twin")
    RelationshipDescription("source", toOne: "Note")
  }
  EntityDescription("Memo", parent: "Note", indexes: [fetchIndex("twin"), fetchIndex("source", "-rank")]) {
    AttributeDescription("rank", .double)
  }
  EntityDescription("Folder", indexes: [fetchIndex("name")]) {
    AttributeDescription("name", .string)
    RelationshipDescription("notes", toMany: "Note", inverse: "folder", ordered: true)
  }
}

/// Index entries after every kind of change: `check` compares them with the records in both directions.
@Suite("Fetch indexes: maintenance")
struct FetchIndexChangeTests {
  let test: TestStore
  let folders: [ObjectID]
  let notes: [ObjectID]
  var store: ObjectStore { test.store }

  init() throws {
    test = try TestStore(changeModel)
    (folders, notes) = try test.store.write { tx in
      let folders = [try tx.insert("Folder", ["name": "a"]), try tx.insert("Folder", ["name": "b"])]
      var notes: [ObjectID] = []
      for number in 0..<6 {
        notes.append(
          try tx.insert(
            number < 3 ? "Note" : "Memo", ["title": .string("t\(number)"), "slug": .string("s\(number)")],
            relationships: ["folder": [folders[0]]]))
      }
      return (folders, notes)
    }
    try checked(test.store)
  }

  private func found(_ format: String, _ arguments: QueryArgument..., in entity: String = "Note") throws -> [ObjectID] {
    let request = FetchRequest(entity, predicate: try QueryPredicate(format: format, arguments: arguments))
    return try store.read { tx in
      let steps = try tx.plan(request, .always)
      // For a relationship, the plan reads the members of its inverse.
      #expect(["search the index", "read the members"].contains { steps[0].hasPrefix($0) }, "\(steps[0])")
      return try tx.ids(request, .always)
    }
  }

  @Test("attributes that are set, to the same value too, and to nil")
  func set() throws {
    try store.write { tx in
      try tx.set(notes[0], "title", "other")
      try tx.set(notes[1], "title", "t1")
      try tx.set(notes[2], "title", nil)
      try tx.setAttributes(notes[3], ["title": "x", "slug": "y"])
      try tx.set(notes[3], "title", "z")
    }
    try checked(store)
    #expect(try found("title == 'other'") == [notes[0]])
    #expect(try found("title == nil") == [notes[2]])
    #expect(try found("title == 't0'") == [])
    #expect(try found("title == 'z'") == [notes[3]])
  }

  @Test("links from either side, moved, taken over, cut")
  func links() throws {
    try store.setToOne(notes[0], "folder", folders[1])
    try checked(store)
    try store.link(folders[1], "notes", [notes[1], notes[4]], at: 0)
    try checked(store)
    #expect(try found("folder == %@ AND title != 'x'", .object(folders[1])).count == 3)
    try store.setMembers(folders[1], "notes", [notes[5], notes[4]])
    try checked(store)
    #expect(try found("folder == nil") == [notes[0], notes[1]])
    try store.unlink(folders[0], "notes")
    try store.write { tx in
      try tx.setToOne(notes[3], "twin", notes[4])
      try tx.setToOne(notes[4], "twin", notes[5])
      try tx.setToOne(notes[3], "source", notes[3])
      try tx.setToOne(notes[5], "source", notes[0])
    }
    try checked(store)
    #expect(try found("twin == %@ AND TRUEPREDICATE", .object(notes[4]), in: "Memo") == [notes[5]])
    #expect(try found("twin == nil", in: "Memo") == [notes[3]])
  }

  @Test("deletes, including cascades")
  func delete() throws {
    try store.setToOne(notes[5], "source", notes[0])
    try store.setToOne(notes[3], "twin", notes[1])
    try store.delete([notes[0], notes[1]])
    try checked(store)
    #expect(try found("source == nil", in: "Memo") == Array(notes[3...]))
    try store.delete([folders[0]])
    try checked(store)
    #expect(try found("folder == nil") == Array(notes[2...]))
    try store.delete(Array(notes[2...]) + [folders[1]])
    try checked(store)
    let session = try store.readSession()
    let left = try session.storage.entryCount(session.schema.tables.indexes)
    #expect(left == 0)
  }

  @Test("blobs, assigned, streamed, and small again")
  func largeValues() throws {
    let large = Data(repeating: 7, count: 5_000)
    try store.set(notes[0], "picture", .binary(Data([1, 2])))
    try store.set(notes[1], "picture", .binary(large))
    try store.write { tx in try tx.setData(notes[2], "picture") { try $0.append(large) } }
    try checked(store)
    #expect(try found("picture == %@", .value(.binary(large))) == [notes[1], notes[2]])
    #expect(try found("picture == %@", .value(.binary(Data([1, 2])))) == [notes[0]])
    #expect(try found("picture == nil").count == 3)
    try store.set(notes[1], "picture", .binary(Data([3])))
    try store.set(notes[2], "picture", nil)
    try checked(store)
    #expect(try found("picture == %@", .value(.binary(large))) == [])
  }

  @Test("an aborted transaction leaves no entries")
  func abort() throws {
    struct Refusal: Error {}
    #expect(throws: Refusal.self) {
      try store.write { tx in
        try tx.insert("Note", ["title": "gone"])
        try tx.delete([notes[0]])
        throw Refusal()
      }
    }
    try checked(store)
    #expect(try found("title == 'gone'") == [])
    #expect(try found("title == 't0'") == [notes[0]])
  }

  @Test("clones, by the stream and by the general way, in this store and into another")
  func clones() throws {
    try store.write { tx in for note in notes { try tx.set(note, "slug", nil) } }
    let copy = try store.clone([folders[0]], options: CloneOptions()).roots[0]
    try checked(store)
    #expect(try found("folder == %@ AND TRUEPREDICATE", .object(copy)).count == 6)
    var hooked = CloneOptions()
    hooked.willClone = { _, _ in .follow }
    _ = try store.clone([folders[0]], options: hooked)
    hooked.count = 3
    hooked.willClone = nil
    _ = try store.clone([folders[0]], options: hooked)
    try checked(store)
    #expect(try found("title == 't1'").count == 6)
    let other = try TestStore(changeModel)
    try other.store.insert("Note", ["title": "t1"])
    _ = try store.clone([folders[0]], into: other.store, options: CloneOptions())
    try checked(other.store)
    let request = FetchRequest("Note", predicate: try QueryPredicate(format: "title == 't1'"))
    #expect(try other.store.read { try $0.ids(request, .always) }.count == 2)
  }

  @Test("loaded objects")
  func load() throws {
    let other = try TestStore(changeModel)
    var text = Array(
      """
      {"id":"Folder/1","attributes":{"name":"f"},"relationships":{"notes":["Memo/1","Note/1"]}}
      {"id":"Note/1","attributes":{"title":null}}
      {"id":"Memo/1","attributes":{"rank":2.5,"title":"é"},"relationships":{"source":"Note/1"}}

      """.utf8)[...]
    _ = try other.store.load { buffer in
      defer { text = [] }
      buffer.append(contentsOf: text)
      return false
    }
    try checked(other.store)
    let request = FetchRequest("Note", predicate: try QueryPredicate(format: "title == nil"))
    #expect(try other.store.read { try $0.ids(request, .always) }.count == 1)
  }

  @Test(
    "check finds a lost, a wrong and a damaged entry; a request tells of a damaged one and of one without an object")
  func damage() throws {
    let table = store.schema.tables.indexes
    let index = try #require(try store.schema.entity("Folder").fetchIndexes.first)
    var builder = IndexKeyBuilder(indexID: index.indexID, valueCount: 1, isFetchIndex: true)
    try builder.append("a")
    let key = builder.key(folders[0])
    let request = FetchRequest("Folder", predicate: try QueryPredicate(format: "name == 'a'"))
    func kinds() throws -> [IntegrityIssue.Kind] { try store.check().issues.map(\.kind) }
    try store.overwrite(table, key, [UInt8](repeating: 1, count: 8))
    #expect(try kinds() == [.indexEntry])
    expectError(.corrupted) { _ = try store.read { try $0.ids(request, .always) } }
    try plant { session throws(StoreError) in try session.storage.delete(table, key.span.bytes) }
    #expect(try kinds() == [.missingIndexEntry])
    try plant { session throws(StoreError) in try IndexEntries.put(key, in: &session) }
    #expect(try kinds() == [])
    var wrong = IndexKeyBuilder(indexID: index.indexID, valueCount: 1, isFetchIndex: true)
    try wrong.append("wrong")
    let stale = wrong.key(folders[0])
    try plant { session throws(StoreError) in try IndexEntries.put(stale, in: &session) }
    #expect(try kinds() == [.staleIndexEntry])
    try plant { session throws(StoreError) in try session.storage.delete(table, stale.span.bytes) }
    var orphan = IndexKeyBuilder(indexID: index.indexID, valueCount: 1, isFetchIndex: true)
    try orphan.append("a")
    let dangling = orphan.key(ObjectID(rootCode: folders[0].rootCode, serial: 99))
    try plant { session throws(StoreError) in try IndexEntries.put(dangling, in: &session) }
    #expect(try kinds() == [.staleIndexEntry])
    expectError(.corrupted) { _ = try store.read { try $0.ids(request, .always) } }
  }

  private func plant(_ change: (inout Session) throws(StoreError) -> some Any) throws {
    try store.write { tx in _ = try tx.changeObjects { (session) throws(StoreError) in try change(&session) } }
  }
}
