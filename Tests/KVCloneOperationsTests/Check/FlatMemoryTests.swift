import Foundation
import KVCloneTestSupport
import Testing

@testable import KVClone
@testable import KVCloneCore
@testable import KVCloneOperations
@testable import KVCloneQuery

/// Long loops read in scopes, so that the memory of an engine that copies what it reads stays flat. The engine of the
/// tests overwrites copies at the end of their scope.
@Suite("Flat memory") struct FlatMemoryTests {
  private static let count = 9000

  private static let model = ManagedObjectModel("Flat") {
    EntityDescription("Author", unique: [["name"]]) {
      AttributeDescription("name", .string)
      AttributeDescription("bookCount", .integer64, derivation: "books.@count")
      RelationshipDescription("books", toMany: "Book", inverse: "author")
    }
    EntityDescription("Book", unique: [["number"]], indexes: [FetchIndexDescription("title", [.init("title")])]) {
      AttributeDescription("number", .integer64)
      AttributeDescription("title", .string)
      RelationshipDescription("author", toOne: "Author", inverse: "books")
    }
  }

  private struct Fixture {
    let engine = MemoryStorage()
    let store: ObjectStore
    let authors: [ObjectID]

    init() throws {
      let store = try ObjectStore.create(in: engine, model: FlatMemoryTests.model)
      self.store = store
      authors = try store.write { tx in
        var authors: [ObjectID] = []
        for number in 0..<FlatMemoryTests.count / 2 {
          let author = try tx.insert("Author", ["name": .string("author \(number)")])
          authors.append(author)
          try tx.insert(
            "Book", ["number": .integer(Int64(number)), "title": .string("title \(number % 100)")],
            relationships: ["author": [author]])
        }
        return authors
      }
    }

    /// Expects that `body` keeps few entries, whatever the number of objects.
    func expectFlat(
      _ what: String, limit: Int = 4500, sourceLocation: SourceLocation = #_sourceLocation, _ body: () throws -> Void
    ) throws {
      engine.countReads(window: 0)
      try body()
      let kept = engine.reads.greatestLentCount
      #expect(kept < limit, "\(what) keeps \(kept) entries", sourceLocation: sourceLocation)
    }
  }

  @Test func checksDumpsAndStatisticsAreFlat() throws {
    let fixture = try Fixture()
    let store = fixture.store
    defer { store.close() }
    try fixture.expectFlat("check") { () throws -> Void in
      #expect(try store.check(CheckOptions(readData: true)).isClean)
    }
    var byteCount = 0
    try fixture.expectFlat("dump") { _ = try store.dump { byteCount += $0.byteCount } }
    var options = DumpOptions()
    options.roots = fixture.authors
    try fixture.expectFlat("dump of roots", limit: 9000) {
      _ = try store.dump(options) { byteCount += $0.byteCount }
    }
    #expect(byteCount > 100 * Self.count)
    try fixture.expectFlat("info") { () throws -> Void in #expect(try store.info().objectCount == Self.count) }
  }

  @Test func fetchesAreFlat() throws {
    let fixture = try Fixture()
    let store = fixture.store
    defer { store.close() }
    let half = Self.count / 2
    var byAuthor = FetchRequest("Book", predicate: try QueryPredicate(format: "author.name BEGINSWITH 'author'"))
    try fixture.expectFlat("a condition across a link") { () throws -> Void in
      #expect(try store.read { tx in try tx.fetchIDs(byAuthor) }.count == half)
    }
    byAuthor.sortDescriptors = [QuerySortDescriptor(key: "author.name")]
    try fixture.expectFlat("a sorted fetch") { () throws -> Void in
      #expect(try store.read { tx in try tx.fetchIDs(byAuthor) }.count == half)
    }
    var indexed = FetchRequest("Book", predicate: try QueryPredicate(format: "title BEGINSWITH 'title'"))
    indexed.sortDescriptors = [QuerySortDescriptor(key: "title")]
    try fixture.expectFlat("a fetch in the order of an index") { () throws -> Void in
      #expect(try store.read { tx in try tx.fetchIDs(indexed) }.count == half)
    }
    let authors = QueryArgument.list(fixture.authors.map { .object($0) })
    let byObjects = FetchRequest("Book", predicate: try QueryPredicate(format: "author IN %@", authors))
    try fixture.expectFlat("a fetch by many linked objects") { () throws -> Void in
      #expect(try store.read { tx in try tx.fetchIDs(byObjects) }.count == half)
    }
    var dictionaries = FetchRequest("Book")
    dictionaries.propertiesToFetch = [ExpressionDescription(keyPath: "author.name")]
    try fixture.expectFlat("dictionaries") { () throws -> Void in
      #expect(try store.read { tx in try tx.fetchDictionaries(dictionaries) }.count == half)
    }
  }

  @Test func snapshotsRollbacksAndBackupsAreFlat() throws {
    let fixture = try Fixture()
    let store = fixture.store
    defer { store.close() }
    let root = try temporaryDirectory()
    defer { try? FileManager.default.removeItem(atPath: root) }
    let snapshot = try store.createSnapshot(named: "one")
    try store.write { tx in
      for author in fixture.authors { try tx.set(author, "name", .string("other \(author.serial)")) }
    }
    var differences = 0
    try fixture.expectFlat("differences", limit: 9000) {
      try store.diff(from: snapshot) { _ in
        differences += 1
        return true
      }
    }
    #expect(differences == fixture.authors.count)
    try fixture.expectFlat("retained bytes") { () throws -> Void in #expect(try snapshot.retainedBytes() > 0) }
    try fixture.expectFlat("an incremental backup") {
      try store.backup(to: root + "/increment", options: BackupOptions(since: "one"))
    }
    try fixture.expectFlat("a plan of a rollback", limit: 9000) { () throws -> Void in
      #expect(try store.planRollback(to: snapshot).errors.isEmpty)
    }
    try fixture.expectFlat("a rollback", limit: 9000) { _ = try store.rollback(to: snapshot) }
    try checked(store)
  }

  @Test func clonesAreFlat() throws {
    let fixture = try Fixture()
    let store = fixture.store
    let other = try ObjectStore.create(in: MemoryStorage(), model: Self.model)
    defer {
      store.close()
      other.close()
    }
    try fixture.expectFlat("a clone into another store", limit: 9000) { () throws -> Void in
      #expect(try store.clone(fixture.authors, into: other).objectCount == Self.count)
    }
    try checked(other)
  }
}
