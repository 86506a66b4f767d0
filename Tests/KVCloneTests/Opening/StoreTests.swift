import Foundation
import KVCloneTestSupport
import Testing

@testable import KVClone
@testable import KVCloneCore
@testable import KVCloneOperations

/// A small model with the annotations and rules that a version hash does not cover.
private func library(
  userInfo: [String: String] = ["exclude": "1"], title: AttributeValue = "Untitled", most: AttributeValue = 100,
  unique: [[String]] = []
) -> ManagedObjectModel {
  ManagedObjectModel("Library", version: "Library 2", configurations: ["Cloud": ["Book"]]) {
    EntityDescription("Book", unique: unique, userInfo: ["color": "red"]) {
      AttributeDescription("title", .string, optional: false, default: title)
      AttributeDescription("pages", .integer32, default: 1, min: 0, max: most, userInfo: userInfo)
      AttributeDescription("format", .composite, composite: "Format")
      RelationshipDescription("author", toOne: "Author", inverse: "books", userInfo: ["clone": "reference"])
    }
    EntityDescription("Author") {
      AttributeDescription("name", .string)
      RelationshipDescription("books", toMany: "Book", inverse: "author", ordered: true, deleteRule: .cascade)
    }
    CompositeAttributeDescription("Format", userInfo: ["unit": "mm"]) {
      AttributeDescription("width", .double)
      AttributeDescription("height", .double)
    }
  }
}

@Suite("Making and opening stores")
struct StoreTests {
  @Test("a new store is empty, private, and knows its model")
  func create() throws {
    let test = try TestStore(library())
    let info = try test.store.info()
    #expect(info.objectCount == 0)
    #expect(info.counts == ["Book": 0, "Author": 0])
    #expect(info.commit == 0)
    #expect(info.modelName == "Library")
    #expect(info.modelVersion == "Library 2")
    #expect(info.modelHash == library().modelHash.hex)
    #expect(info.uuid == test.store.uuid)
    #expect(info.snapshotCount == 0)
    if TestStore.hasDataFile {
      let mode = try FileManager.default.attributesOfItem(atPath: test.path)[.posixPermissions] as? Int
      #expect(mode == 0o700)
    }
    try checked(test.store)
  }

  @Test("two stores have two identities, and one keeps its own")
  func identity() throws {
    let first = try TestStore(library())
    let second = try TestStore(library())
    #expect(first.store.uuid != second.store.uuid)
    let uuid = first.store.uuid
    try first.reopen()
    #expect(first.store.uuid == uuid)
  }

  @Test("create rejects an existing path, and leaves it unchanged", .needsDataFile(.path))
  func createExisting() throws {
    let test = try TestStore(library())
    try test.store.insert("Author", ["name": "Ada"])
    test.store.close()
    expectError(.storeExists) { _ = try ObjectStore.create(at: test.path, model: library()) }
    try test.reopen()
    #expect(try test.store.info().counts == ["Book": 0, "Author": 1])
  }

  @Test("open rejects a missing store, and creates it only with a model")
  func openMissing() throws {
    let root = try temporaryDirectory()
    defer { try? FileManager.default.removeItem(atPath: root) }
    let path = root + "/missing.kvclone"
    expectError(.storeNotFound) { _ = try ObjectStore.open(at: path) }
    #expect(!FileManager.default.fileExists(atPath: path))
    let store = try ObjectStore.open(at: path, model: library())
    defer { store.close() }
    #expect(try store.info().objectCount == 0)
  }

  @Test("a directory without a store, a file, and a symlink are refused", .needsDataFile(.path))
  func openOther() throws {
    let root = try temporaryDirectory()
    defer { try? FileManager.default.removeItem(atPath: root) }
    try FileManager.default.createDirectory(atPath: root + "/empty", withIntermediateDirectories: false)
    #expect(throws: StoreError.self) { try ObjectStore.open(at: root + "/empty") }
    try Data("text".utf8).write(to: URL(fileURLWithPath: root + "/file"))
    #expect(throws: StoreError.self) { try ObjectStore.open(at: root + "/file") }
    let test = try TestStore(library())
    test.store.close()
    try FileManager.default.createSymbolicLink(atPath: root + "/link", withDestinationPath: test.path)
    expectError(.invalidStore) { _ = try ObjectStore.open(at: root + "/link") }
  }

  @Test("a store opens without its model's file, and contains it completely")
  func openWithoutModel() throws {
    let model = library(unique: [["title", "author"]])
    let test = try TestStore(model)
    let id = try test.store.insert("Book", ["title": "Notes", "format": ["width": 12.5]])
    try test.reopen()
    #expect(test.store.model == model)
    #expect(test.store.model.entity(named: "Book")?.userInfo == ["color": "red"])
    #expect(test.store.model.attribute("pages", of: "Book")?.userInfo == ["exclude": "1"])
    #expect(test.store.model.composites.first?.userInfo == ["unit": "mm"])
    #expect(test.store.model.configurations == ["Cloud": ["Book"]])
    #expect(try test.store.value(id, "format") == ["width": 12.5])
    #expect(try test.store.info().counts == ["Book": 1, "Author": 0])
  }

  @Test("a store that holds another model is refused")
  func otherModel() throws {
    let test = try TestStore(library())
    test.store.close()
    let other = ManagedObjectModel("Library") {
      EntityDescription("Book") { AttributeDescription("title", .string) }
    }
    let error = expectError(.incompatibleModel) { _ = try test.openAgain(model: other) }
    #expect(error?.message.contains((test.store.path as NSString).lastPathComponent) == true)
    // The failed attempt has released the file.
    try test.reopen(model: library())
  }

  /// As in Core Data, models with the same hash may differ in everything that does not affect stored data; the given
  /// model counts, not the previous one.
  @Test("the model given on opening brings its own userInfo, defaults and bounds")
  func sameHash() throws {
    let test = try TestStore(library())
    let changed = library(userInfo: ["rank": "2"], title: "New", most: 10)
    #expect(changed.modelHash == library().modelHash)
    try test.reopen(model: changed)
    #expect(test.store.model.attribute("pages", of: "Book")?.userInfo == ["rank": "2"])
    let id = try test.store.insert("Book")
    #expect(try test.store.value(id, "title") == "New")
    #expect(expectIssues { try test.store.set(id, "pages", 11) } == ["valueTooLarge Book.pages"])
    try checked(test.store)
    try test.reopen()
    #expect(try test.store.value(id, "title") == "New")
  }

  @Test("the order of declarations does not matter to stored objects")
  func otherOrder() throws {
    let model = library()
    let test = try TestStore(model)
    let id = try test.store.insert("Book", ["title": "Notes", "pages": 7, "format": ["width": 1, "height": 2]])
    let author = try test.store.insert("Author", ["name": "Ada"], relationships: ["books": [id]])
    var entities = Array(model.entities.reversed())
    for index in entities.indices {
      entities[index].attributes.reverse()
      entities[index].relationships.reverse()
    }
    var composites = model.composites
    composites[0].elements.reverse()
    let reversed = ManagedObjectModel(name: "Library", entities: entities, composites: composites)
    #expect(reversed.modelHash == model.modelHash)
    try test.reopen(model: reversed)
    #expect(try test.store.value(id, "pages") == 7)
    #expect(try test.store.value(id, "format") == ["width": 1.0, "height": 2.0])
    #expect(try test.store.toOne(id, "author") == author)
    try test.store.insert("Book", ["title": "More"], relationships: ["author": [author]])
    try checked(test.store)
    try test.reopen()
    #expect(try test.store.value(id, "title") == "Notes")
    #expect(try test.store.count(author, "books") == 2)
    try checked(test.store)
  }

  @Test("a constraint that the store's own model lacks is not ignored")
  func sameHashOtherConstraint() throws {
    let test = try TestStore(library())
    try test.store.insert("Book", ["title": "Notes"])
    test.store.close()
    let store: ObjectStore
    do {
      store = try test.openAgain(model: library(unique: [["title"]]))
    } catch {
      // Rejecting the model is one valid result …
      #expect(error.kind == .incompatibleModel)
      return
    }
    // … and enforcing the constraint is the other.
    defer { store.close() }
    #expect(expectIssues { try store.insert("Book", ["title": "Notes"]) } == ["uniquenessConflict Book.title"])
  }

  @Test("an invalid model makes no store")
  func invalidModel() throws {
    let root = try temporaryDirectory()
    defer { try? FileManager.default.removeItem(atPath: root) }
    let model = ManagedObjectModel("Broken") {
      EntityDescription("A") { RelationshipDescription("b", toOne: "Missing") }
    }
    expectError(.invalidModel) { _ = try ObjectStore.create(at: root + "/s", model: model) }
    #expect(try FileManager.default.contentsOfDirectory(atPath: root).isEmpty)
  }

  @Test("one process opens a store once at a time", .needsDataFile(.path))
  func twice() throws {
    let test = try TestStore(library())
    expectError(.alreadyOpen) { _ = try ObjectStore.open(at: test.path) }
    expectError(.alreadyOpen) { _ = try ObjectStore.open(at: test.path + "/../test.kvclone", model: library()) }
    try test.store.insert("Author")
    try test.reopen()
    #expect(try test.store.objects("Author").count == 1)
  }

  @Test("a closed store answers nothing, and closing twice is fine")
  func closed() throws {
    let test = try TestStore(library())
    test.store.close()
    test.store.close()
    expectError(.closed) { try test.store.read { _ in } }
    expectError(.closed) { try test.store.write { _ in } }
    expectError(.closed) { _ = try test.store.info() }
  }

  @Test("a read-only store refuses to write, and reads")
  func readOnly() throws {
    let test = try TestStore(library())
    let id = try test.store.insert("Author", ["name": "Ada"])
    var options = StoreOptions()
    options.isReadOnly = true
    try test.reopen(options: options)
    #expect(try test.store.value(id, "name") == "Ada")
    expectError(.readOnly) { try test.store.insert("Author") }
    #expect(try test.store.info().commit == 1)
  }
}

@Suite("Names of objects")
struct ObjectNameTests {
  @Test("names and URIs lead back to their objects")
  func names() throws {
    let test = try TestStore(library())
    let id = try test.store.insert("Author", ["name": "Ada"])
    let (name, uri) = try test.store.read { tx in (try tx.name(of: id), try tx.uri(of: id)) }
    #expect(name == "Author/1")
    #expect(uri == "x-kvclone://\(test.store.uuid.uuidString)/Author/p1")
    for text in [name, uri] { #expect(try test.store.read { tx in try tx.objectID(named: text) } == id) }
  }

  @Test(
    "what is no name says so",
    arguments: [
      "", "Author", "Author/", "/1", "Author/0", "Author/-1", "Author/1x", "Author/p1", "Author/281474976710656",
    ])
  func malformed(_ text: String) throws {
    let test = try TestStore(library())
    do {
      _ = try test.store.read { tx in try tx.objectID(named: text) }
      Issue.record("\(text) was accepted")
    } catch let error as StoreError {
      #expect(error.kind == .invalidObjectName || error.kind == .unknownEntity)
    }
  }

  @Test("names of deleted objects, of other stores and of other entities are not found")
  func notFound() throws {
    let test = try TestStore(library())
    let id = try test.store.insert("Author")
    func look(_ text: String) throws { _ = try test.store.read { tx in try tx.objectID(named: text) } }
    expectError(.objectNotFound) { try look("Author/2") }
    expectError(.objectNotFound) { try look("Book/1") }
    expectError(.unknownEntity) { try look("Writer/1") }
    expectError(.objectNotFound) { try look("x-kvclone://\(UUID().uuidString)/Author/p1") }
    try test.store.delete([id])
    expectError(.objectNotFound) { try look("Author/1") }
    expectError(.objectNotFound) { _ = try test.store.object(id) }
    #expect(try !test.store.exists(id))
  }
}
