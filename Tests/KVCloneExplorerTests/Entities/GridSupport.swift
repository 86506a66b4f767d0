import Foundation
import KVClone
import KVCloneTestSupport
import Testing

@testable import KVCloneExplorer

/// A store with inheritance, indexes and all kinds of columns, and a client of its explorer.
struct GridFixture {
  static let model = ManagedObjectModel("Library") {
    EntityDescription(
      "Item", abstract: true, indexes: [fetchIndex("year"), fetchIndex("~title"), fetchIndex("-price", "year")]
    ) {
      AttributeDescription("title", .string)
      AttributeDescription("year", .integer32)
      AttributeDescription("price", .double)
      AttributeDescription("added", .date)
      AttributeDescription("cover", .binary)
      RelationshipDescription("shelf", toOne: "Shelf", inverse: "items")
      RelationshipDescription("related", toMany: "Item", inverse: "related")
    }
    EntityDescription("Book", parent: "Item") { AttributeDescription("pages", .integer16) }
    EntityDescription("Film", parent: "Item") {}
    EntityDescription("Shelf", userInfo: ["displayName": "label"]) {
      AttributeDescription("code", .string)
      AttributeDescription("label", .string)
      RelationshipDescription("items", toMany: "Item", inverse: "shelf")
    }
  }

  let test: TestStore
  var store: ObjectStore { test.store }

  init() throws { test = try TestStore(Self.model) }

  func client(_ change: (inout ExplorerOptions) -> Void = { _ in }) -> ExplorerClient {
    ExplorerClient(store, change)
  }

  /// Inserts books, every third one a film.
  @discardableResult
  func fill(_ count: Int, _ values: (Int) -> [String: AttributeValue] = { _ in [:] }) throws -> [ObjectID] {
    try store.write { tx in
      var ids: [ObjectID] = []
      for number in 0..<count {
        let standard: [String: AttributeValue] = [
          "title": .string("Title \(number)"), "year": .integer(Int64(1900 + number % 10)),
          "price": .double(Double(number % 7) / 2),
        ]
        ids.append(
          try tx.insert(number % 3 == 2 ? "Film" : "Book", standard.merging(values(number)) { $1 }))
      }
      return ids
    }
  }
}

extension ExplorerClient {
  /// The ids of the objects of a grid's page, and the links to the pages before and after it.
  func grid(_ target: String, sourceLocation: SourceLocation = #_sourceLocation) async throws
    -> (ids: [String], previous: String?, next: String?)
  {
    let json = try await json(target, sourceLocation: sourceLocation)
    let objects = try #require(json["objects"] as? [[String: Any]], sourceLocation: sourceLocation)
    return (objects.compactMap { $0["id"] as? String }, json["previous"] as? String, json["next"] as? String)
  }

  /// The ids of all pages from a first one on.
  func pages(_ target: String) async throws -> [[String]] {
    var pages: [[String]] = []
    var next: String? = target
    while let target = next, pages.count < 1000 {
      let page = try await grid(target)
      pages.append(page.ids)
      next = page.next
    }
    return pages
  }
}
