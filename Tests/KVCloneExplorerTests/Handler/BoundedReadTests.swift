import Foundation
import KVClone
import KVCloneCore
import KVCloneTestSupport
import Synchronization
import Testing

@testable import KVCloneExplorer

/// Reads that check a deadline return what other reads return.
@Suite(.bounded) struct BoundedReadTests {
  private let test: TestStore

  init() throws {
    test = try TestStore(
      ManagedObjectModel("Library") {
        EntityDescription("Shelf") {
          AttributeDescription("code", .string)
          RelationshipDescription("books", toMany: "Book", inverse: "shelf", ordered: true)
        }
        EntityDescription("Book", indexes: [FetchIndexDescription("byPages", [.init("pages")])]) {
          AttributeDescription("title", .string)
          AttributeDescription("pages", .integer64)
          AttributeDescription("text", .binary)
          RelationshipDescription("shelf", toOne: "Shelf", inverse: "books")
        }
      })
    try test.store.write { tx in
      for shelf in 0..<5 {
        let shelf = try tx.insert("Shelf", ["code": .string("S\(shelf)")])
        for book in 0..<200 {
          try tx.insert(
            "Book",
            [
              "title": .string("T\(book % 7)"), "pages": .integer(Int64(book * 37 % 101)),
              "text": .binary(.init(repeating: UInt8(book), count: book * 50)),
            ], relationships: ["shelf": [shelf]])
        }
      }
    }
  }

  /// The contents of a transaction, by queries with and without indexes, relationships and blobs.
  private static let contents: @Sendable (borrowing ReadTransaction) throws -> [String] = { tx in
    var found: [String] = []
    for format in ["pages > 50", "title == 'T3'", "shelf.code == 'S2' AND pages < 20", "TRUEPREDICATE"] {
      let request = FetchRequest(
        "Book", predicate: try QueryPredicate(format: format),
        sortDescriptors: [QuerySortDescriptor(try QueryExpression(format: "pages"))])
      found += try tx.fetchIDs(request).map { "\($0.rawValue)" } + ["\(try tx.count(request))"]
      found.append("\(try tx.explain(request))")
    }
    for shelf in try tx.fetchIDs(FetchRequest("Shelf")) {
      let books = try tx.members(shelf, "books")
      found += books.map { "\($0.rawValue)" }
      if let last = books.last { found.append("\(try tx.data(last, "text")?.count ?? -1)") }
    }
    return found + ["\(try tx.currentToken().commit)"]
  }

  @Test func boundedReadsAreThoseOfTheStore() async throws {
    try await test.store.createSnapshot(named: "before")
    try await test.store.write { tx in
      let books = try tx.fetchIDs(FetchRequest("Book"))
      _ = try tx.delete(Array(books.prefix(300)))
      for book in books.suffix(100) { try tx.set(book, "pages", .integer(99)) }
      try tx.insert("Book", ["title": .string("new")])
    }
    let reader = BoundedReader(store: test.store, deadline: Deadline(after: .unreached))
    #expect(try await reader.read(at: nil, Self.contents) == test.store.read(Self.contents))
    let snapshot = try test.store.snapshot(named: "before")
    let before = try await snapshot.read(Self.contents)
    #expect(try await reader.read(at: "before", Self.contents) == before)
    #expect(try await test.store.read(Self.contents) != before)
  }

  @Test(arguments: [nil, "before"])
  func everyLongReadEnds(snapshot: String?) async throws {
    try await test.store.createSnapshot(named: "before")
    let store = test.store
    let reads: [@Sendable (borrowing ReadTransaction) throws -> Void] = [
      { tx in while true { try tx.forEachObject(of: "Book") { _ in true } } },
      { tx in
        let books = try tx.fetchIDs(FetchRequest("Book", fetchLimit: 1))
        while true { for book in books { _ = try tx.object(book) } }
      },
      { tx in
        while true { _ = try tx.count(FetchRequest("Book", predicate: try QueryPredicate(format: "title != 'x'"))) }
      },
      { tx in
        let shelf = try tx.fetchIDs(FetchRequest("Shelf", fetchLimit: 1))[0]
        while true { _ = try tx.members(shelf, "books") }
      },
    ]
    for read in reads {
      let reader = BoundedReader(store: store, deadline: Deadline(after: .milliseconds(30)))
      let error = await #expect(throws: ExplorerError.self) { try await reader.read(at: snapshot, read) }
      #expect(error?.kind == .timeLimit)
    }
  }

  @Test func slowStepsEndSoonAfterTheDeadline() async throws {
    let reader = BoundedReader(store: test.store, deadline: Deadline(after: .milliseconds(100)))
    let stepCount = Mutex(0)
    let error = await #expect(throws: ExplorerError.self) {
      try await reader.read(at: nil) { tx in
        try tx.forEachObject(of: "Book") { _ in
          // The first one ends after the deadline.
          if stepCount.withLock({ $0 }) == 0 { usleep(110_000) }
          stepCount.withLock { $0 += 1 }
          return true
        }
      }
    }
    #expect(error?.kind == .timeLimit)
    #expect(stepCount.withLock { $0 } <= 16)
  }

  @Test func aCancelledTaskStopsReading() async throws {
    let reader = BoundedReader(store: test.store, deadline: Deadline(after: .unreached))
    let task = Task {
      try await reader.read(at: nil) { tx in while true { try tx.forEachObject(of: "Book") { _ in true } } }
    }
    task.cancel()
    let error = await #expect(throws: ExplorerError.self) { try await task.value }
    #expect(error?.kind == .cancelled)
  }

  @Test func pagesCannotWrite() async throws {
    let reader = BoundedReader(store: test.store, deadline: Deadline(after: .unreached))
    let error = await #expect(throws: StoreError.self) {
      try await reader.read(at: nil) { tx in
        try tx._withSession { session in
          var storage = StorageTransaction(lookingInto: session.storage)
          let key: [UInt8] = [1]
          try storage.put(session.schema.tables.metadata, key.span.bytes, key.span.bytes)
        }
      }
    }
    #expect(error?.kind == .readOnly)
  }
}
