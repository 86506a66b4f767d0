import KVClone
import KVCloneTestSupport
import Testing

@testable import KVCloneCore

private let shelfModel = ManagedObjectModel("Shelf") {
  EntityDescription("Shelf") {
    AttributeDescription("name", .string)
    RelationshipDescription(
      "books", toMany: "Book", inverse: "shelf", deleteRule: .cascade)
  }
  EntityDescription("Book") {
    AttributeDescription("title", .string)
    RelationshipDescription("shelf", toOne: "Shelf", inverse: "books")
    RelationshipDescription("pages", toMany: "Page", inverse: "book", deleteRule: .cascade)
  }
  EntityDescription("Page") {
    AttributeDescription("number", .integer32)
    RelationshipDescription("book", toOne: "Book", inverse: "pages")
  }
}

/// Reads by id are announced to an engine in windows, as one across a network needs it.
@Suite("Announced reads")
struct StoragePrefetchTests {
  private let engine = MemoryStorage()
  private let store: ObjectStore
  private let shelf: ObjectID
  private let pages: [ObjectID]

  init() throws {
    store = try ObjectStore.create(in: engine, model: shelfModel)
    (shelf, pages) = try store.write { tx in
      let shelf = try tx.insert("Shelf")
      var pages: [ObjectID] = []
      for number in 0..<300 {
        let book = try tx.insert("Book", relationships: ["shelf": [shelf]])
        for page in 0..<50 {
          pages.append(
            try tx.insert("Page", ["number": .integer(Int64(number * 50 + page))], relationships: ["book": [book]]))
        }
      }
      return (shelf, pages)
    }
  }

  private static func request(_ ids: [ObjectID]) throws -> FetchRequest {
    FetchRequest(
      "Page", predicate: try QueryPredicate(format: "SELF IN %@", arguments: [.list(ids.map { .object($0) })]))
  }

  /// The numbers of announced and other reads by id, and the greatest window.
  private func announced(window: Int = 2048, _ body: () throws -> Void) rethrows -> MemoryStorage.Reads {
    engine.countReads(window: window)
    try body()
    return engine.reads
  }

  @Test func fetchesAnnounceTheObjectsThatTheyFind() throws {
    let request = try Self.request(Array(pages.suffix(3000)))
    let reads = try announced {
      let found = try store.read { tx in try tx.fetch(request) }
      #expect(found.count == 3000)
    }
    #expect(reads.greatestWindow == 2048)
    #expect(reads.expectedCount >= 3000 && reads.unexpectedCount < 10)
  }

  @Test func markingAnnouncesTheNextLevel() throws {
    let reads = try announced { _ = try store.planClone([shelf]) }
    #expect(reads.greatestWindow == 2048)
    #expect(reads.expectedCount >= 15_300)
    // The root, and the entries that describe it.
    #expect(reads.unexpectedCount < 10)
  }

  @Test func cascadesAnnounceWhatTheyVisit() throws {
    let reads = try announced { try store.write { tx in _ = try tx.delete(shelf) } }
    #expect(reads.greatestWindow == 2048)
    #expect(reads.announcedCount >= 2 * 15_300)
  }

  @Test func anEngineWithoutAWindowIsAskedForNothing() throws {
    let reads = try announced(window: 0) {
      _ = try store.read { tx in try tx.fetch(try Self.request(Array(pages.suffix(3000)))) }
    }
    #expect(reads.announcedCount == 0)
  }

  @Test func aWindowIsLimited() throws {
    let reads = try announced(window: 1 << 20) {
      _ = try store.read { tx in try tx.fetch(try Self.request(Array(pages.suffix(3000)))) }
    }
    #expect(reads.greatestWindow == 2048)
  }
}
