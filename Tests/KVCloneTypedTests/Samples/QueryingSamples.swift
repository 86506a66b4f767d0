import Foundation
import KVClone
import Testing

/// The samples of <doc:Querying> and <doc:Predicates>, run on a store that contains some books.
struct QueryingSamples {
  private static let model = ManagedObjectModel("Library") {
    EntityDescription("Author") {
      AttributeDescription("name", .string)
      RelationshipDescription("books", toMany: "Book", inverse: "author")
    }
    EntityDescription(
      "Book", unique: [["isbn"]], indexes: [FetchIndexDescription("byYear", [.init("year")])]
    ) {
      AttributeDescription("isbn", .string, optional: false)
      AttributeDescription("title", .string, optional: false)
      AttributeDescription("year", .integer16)
      AttributeDescription("pages", .integer32)
      RelationshipDescription("author", toOne: "Author", inverse: "books")
    }
  }

  private func withLibrary(_ body: (ObjectStore) throws -> Void) throws {
    let folder = NSTemporaryDirectory() + "/kvclone-samples-" + UUID().uuidString
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let store = try ObjectStore.create(at: folder + "/library.kvclone", model: Self.model)
    defer { store.close() }
    try store.write { tx in
      for name in ["Le Guin", "Lem", "Other"] {
        let author = try tx.insert("Author", ["name": .string(name)])
        for number in 0..<30 {
          try tx.insert(
            "Book",
            [
              "isbn": .string("\(name.count)-\(number)"), "title": .string("\(name) \(number)"),
              "year": .integer(Int64(2000 + number)), "pages": .integer(Int64(number * 30)),
            ], relationships: ["author": [author]])
        }
      }
    }
    try body(store)
  }

  @Test func fetching() throws {
    try withLibrary { store in
      var printed: [String] = []
      func print(_ item: Any) { printed.append("\(item)") }
      let request = FetchRequest(
        "Book", predicate: try QueryPredicate(format: "year >= %@ AND author.name BEGINSWITH[c] %@", 2020, "le"),
        sortDescriptors: [QuerySortDescriptor(key: "year", ascending: false), QuerySortDescriptor(key: "title")])
      let books = try store.read { tx in try tx.fetch(request) }
      for book in books { print(book["title"] ?? "untitled") }
      #expect(printed.count == 20 && printed.prefix(2) == ["Le Guin 29", "Lem 29"])
      printed = []
      let plan = try store.read { tx in try tx.explain(request) }
      print(plan.joined(separator: "\n"))
      #expect(!printed[0].isEmpty)
      let one = FetchRequest("Book", predicate: try QueryPredicate(format: "year == 2005"))
      #expect(try store.read { tx in try tx.explain(one) }.joined().contains("byYear"))
    }
  }

  @Test func lessThanAll() throws {
    try withLibrary { store in
      var printed: [String] = []
      func print(_ item: Any) { printed.append("\(item)") }
      try store.read { tx in
        let long = FetchRequest("Book", predicate: try QueryPredicate(format: "pages > 500"))
        print(try tx.count(long))
        let ids = try tx.fetchIDs(long)
        print(ids.count)
        try tx.forEachObject(matching: long) { book in
          print(book["title"] ?? "untitled")
          return true
        }
      }
      #expect(printed.prefix(2) == ["39", "39"] && printed.count == 41)
      var page = FetchRequest(
        "Book", sortDescriptors: [QuerySortDescriptor(key: "title"), QuerySortDescriptor(key: "isbn")], fetchLimit: 20)
      page.fetchOffset = 40
      let third = try store.read { tx in try tx.fetch(page) }
      page.fetchOffset = 0
      if let last = third.last, let title = last["title"], let isbn = last["isbn"] {
        page.predicate = try QueryPredicate(
          format: "title > %@ OR (title == %@ AND isbn > %@)", .value(title), .value(title), .value(isbn))
      }
      let following = try store.read { tx in try tx.fetch(page) }
      #expect(third.count == 20 && following.count == 20)
      // Every book comes once, with titles that many of them share.
      try store.write { tx in
        for id in try tx.fetchIDs(FetchRequest("Book", predicate: try QueryPredicate(format: "year > 2010"))) {
          try tx.set(id, "title", "Dune")
        }
      }
      page.predicate = nil
      var seen: [ObjectID] = []
      var books: [ManagedObject] = []
      repeat {
        books = try store.read { tx in try tx.fetch(page) }
        seen += books.map(\.id)
        if let last = books.last, let title = last["title"], let isbn = last["isbn"] {
          page.predicate = try QueryPredicate(
            format: "title > %@ OR (title == %@ AND isbn > %@)", .value(title), .value(title), .value(isbn))
        }
      } while !books.isEmpty && seen.count < 200
      #expect(seen.count == 90 && Set(seen).count == 90)
    }
  }

  @Test func throughRelationships() throws {
    try withLibrary { store in
      let busy = try QueryPredicate(format: "books.@count >= 3")
      let recent = try QueryPredicate(format: "ANY books.year == %@", 2024)
      let both = try QueryPredicate(format: "SUBQUERY(books, $b, $b.year > 2000 AND $b.pages > 500).@count > 0")
      let authors = try store.read { tx in
        try (
          tx.count(FetchRequest("Author", predicate: busy)), tx.count(FetchRequest("Author", predicate: recent)),
          tx.fetch(FetchRequest("Author", predicate: both))
        )
      }
      #expect(authors.0 == 3 && authors.1 == 3 && authors.2.count == 3)
      var byYear = FetchRequest("Book", sortDescriptors: [QuerySortDescriptor(key: "year")])
      byYear.propertiesToGroupBy = ["year"]
      byYear.propertiesToFetch = ["year", try ExpressionDescription("books", format: "count:(SELF)")]
      let rows = try store.read { tx in try tx.fetchDictionaries(byYear) }
      #expect(rows.count == 30)
    }
  }
}

private func subquery(_ store: ObjectStore) throws {
  let request = FetchRequest(
    "Item", predicate: try QueryPredicate(format: "SUBQUERY(tags, $tag, $tag.name BEGINSWITH 'A').@count > 0"),
    sortDescriptors: [QuerySortDescriptor(key: "name", options: .caseInsensitive)], fetchLimit: 20)
  let items = try store.read { tx in try tx.fetch(request) }
  _ = items
}

private func grouping() throws {
  var request = FetchRequest("Photo")
  request.propertiesToGroupBy = ["album.title"]
  request.propertiesToFetch = [
    "album.title", try ExpressionDescription("photos", format: "count:(SELF)"),
    try ExpressionDescription("bytes", format: "sum:(size)"),
  ]
  request.havingPredicate = try QueryPredicate(format: "$bytes > 1000000")
}

private func prepared(_ store: ObjectStore) throws {
  let request = FetchRequest("Item", predicate: try QueryPredicate(format: "code == $code AND flag == $flag"))
  let prepared = try store.prepare(request)
  let items = try store.read { tx in try tx.fetch(prepared, ["code": 5, "flag": true]) }
  _ = items
}

private func indexes() {
  let item = EntityDescription(
    "Item",
    indexes: [
      FetchIndexDescription("byDate", [.init("date", ascending: false)]),
      FetchIndexDescription("byOwner", [.init("owner"), .init("name")]),
      FetchIndexDescription("byFoldedName", [.init(expression: "canonical:(name)")]),
    ]
  ) {
    AttributeDescription("date", .date)
    AttributeDescription("name", .string)
    RelationshipDescription("owner", toOne: "Person")
  }
  _ = item
}
