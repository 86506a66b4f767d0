import KVCloneModel
import KVCloneRecords
import KVCloneTestSupport
import Testing

@testable import KVClone
@testable import KVCloneCore
@testable import KVCloneOperations

/// Long lists with a chunk under a wrong key, as after a flipped bit in its key: the remaining chunks are valid, and
/// only the list's head shows that one is missing.
@Suite("Lists that lack a piece")
struct LostPieceTests {
  private static let model = ManagedObjectModel("Shelf") {
    EntityDescription("Shelf") {
      AttributeDescription("total", .integer64, derivation: "books.@sum.pages")
      RelationshipDescription("books", toMany: "Book", inverse: "shelf", ordered: true, deleteRule: .cascade)
      RelationshipDescription("papers", toMany: "Book", inverse: "box")
      RelationshipDescription("marks", toMany: "Book")
    }
    EntityDescription("Book") {
      AttributeDescription("pages", .integer64)
      RelationshipDescription("shelf", toOne: "Shelf", inverse: "books")
      RelationshipDescription("box", toOne: "Shelf", inverse: "papers")
    }
  }
  private static let lists = ["books", "papers", "marks"]

  /// Creates a shelf with 400 books in each list, and removes the second chunk of one of the lists.
  private func damaged(_ list: String) throws -> (test: TestStore, shelf: ObjectID) {
    let test = try TestStore(Self.model)
    let shelf = try test.store.write { tx in
      let books = try (1...400).map { try tx.insert("Book", ["pages": .integer($0)]) }
      return try tx.insert("Shelf", relationships: ["books": books, "papers": books, "marks": books])
    }
    var session = try test.store.writeSession(label: "plant")
    let address = session.address(shelf, try test.store.schema.entity("Shelf").relationship(list).code)
    let first = try #require(try session.storage.chunk(address, .atOrAfter, 0, isOrdered: list == "books"))
    let second = try #require(try session.storage.chunk(address, after: first.position, isOrdered: list == "books"))
    try session.storage.deleteChunk(address, at: second.position)
    try WriteTransaction(session).commit(test.store)
    #expect(try !test.store.check().isClean)
    return (test, shelf)
  }

  private func expectDamaged<T>(_ body: () throws -> T, sourceLocation: SourceLocation = #_sourceLocation) {
    let error = expectError(.corrupted, sourceLocation: sourceLocation) { _ = try body() }
    #expect(error?.message.contains("members, and its head has the count 400") == true, sourceLocation: sourceLocation)
  }

  @Test("reading them always ends in an error", arguments: lists)
  func reading(list: String) throws {
    let (test, shelf) = try damaged(list)
    expectDamaged { try test.store.read { tx in try tx.members(shelf, list) } }
    expectDamaged {
      try test.store.read { tx in
        try tx.fetch(FetchRequest("Shelf", predicate: QueryPredicate(format: "ANY \(list).pages > 1000")))
      }
    }
    expectDamaged { try test.store.dump { _ in } }
  }

  @Test("are not cloned", arguments: lists)
  func cloning(list: String) throws {
    let (test, shelf) = try damaged(list)
    expectDamaged { try test.store.clone([shelf]) }
    let other = try TestStore(Self.model)
    expectDamaged { try test.store.clone([shelf], into: other.store) }
    #expect(try other.store.objects("Shelf").isEmpty)
  }

  @Test("are not deleted by halves", arguments: lists)
  func deleting(list: String) throws {
    let (test, shelf) = try damaged(list)
    expectDamaged { try test.store.delete([shelf]) }
    #expect(try test.store.objects("Book").count == 400)
  }

  @Test("are not migrated by halves")
  func migrating() throws {
    let (test, _) = try damaged("papers")
    test.store.close()
    let next = Self.model.next("2") { draft in
      draft.relationship("Shelf", "papers") { $0.isOrdered = true }
    }
    expectDamaged { try test.migrate(to: next) }
    try test.reopen()
    #expect(test.store.model.modelHash == Self.model.modelHash)
  }
}
