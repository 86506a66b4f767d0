import Foundation
import KVClone
import KVCloneTestSupport
import Testing

@testable import KVCloneExplorer

@Suite("Grids of objects", .bounded)
struct GridTests {
  let fixture: GridFixture

  init() throws { fixture = try GridFixture() }

  @Test(
    "pages have all objects in order, forward and backward",
    arguments: ["", "year", "-year", "title[cd]", "-title[cd]", "title", "-price,year", "price", "related.@count"])
  func pagesInBothDirections(sort: String) async throws {
    let long = String(repeating: "x", count: 600)
    try fixture.fill(45) { number in
      number % 9 == 0 ? ["title": .string(long + "\(number % 2)")] : number % 5 == 0 ? ["title": .string("same")] : [:]
    }
    try await fixture.store.write { tx in
      for _ in 0..<5 { _ = try tx.insert("Book", [:]) }
    }
    let client = fixture.client()
    let query = "limit=7&sort=\(PercentEncoding.encode(sort))"
    let all = try await client.grid("/entities/Item.json?limit=500&sort=\(PercentEncoding.encode(sort))").ids
    #expect(all.count == 50)
    let forward = try await client.pages("/entities/Item.json?\(query)")
    #expect(forward.count == 8)
    #expect(forward.flatMap { $0 } == all)
    var target = "/entities/Item.json?\(query)"
    while let next = try await client.grid(target).next { target = next }
    var backward: [String] = try await client.grid(target).ids
    while let previous = try await client.grid(target).previous {
      let page = try await client.grid(previous)
      backward = page.ids + backward
      target = previous
    }
    #expect(backward == all)
  }

  @Test("a page continues after a deleted object, also after a long text")
  func deletedPosition() async throws {
    let long = String(repeating: "y", count: 300)
    let ids = try fixture.fill(12) { ["title": .string(long + String(format: "%02d", $0))] }
    let client = fixture.client()
    for sort in ["", "-year", "title[cd]", "-title[cd]"] {
      let all = try await client.grid("/entities/Item.json?limit=500&sort=\(PercentEncoding.encode(sort))").ids
      let page = try await client.grid("/entities/Item.json?limit=4&sort=\(PercentEncoding.encode(sort))")
      let last = try #require(page.ids.last)
      let victim = try await fixture.store.read { tx in try tx.objectID(named: last) }
      #expect(ids.contains(victim))
      try await fixture.store.write { tx in try tx.delete(victim) }
      let next = try await client.grid(try #require(page.next)).ids
      // A cut text may repeat objects, and never hides one.
      let expected = Array(all.dropFirst(4).prefix(4))
      #expect(sort.contains("title") ? Set(all).isSuperset(of: next) : next == expected)
      let rest = try await client.pages(try #require(page.next)).flatMap { $0 }
      #expect(Set(rest).isSuperset(of: all.dropFirst(4)), "\(sort)")
    }
  }

  @Test("predicates filter, and their errors are shown in place with the position")
  func predicates() async throws {
    try fixture.fill(20)
    let client = fixture.client()
    let found = try await client.json("/entities/Book.json?where=year%20%3D%3D%201900")
    #expect((found["objects"] as? [Any])?.count == found["count"] as? Int)
    let page = await client.send("GET", "/entities/Book?where=year%20%3D%3D%3D%201")
    #expect(page.status == 400)
    #expect(page.text.contains("aria-invalid=\"true\"") && page.text.contains("column "))
    #expect(page.text.contains("^</pre>"))
    #expect(!page.text.contains("<table"))
    for predicate in ["year === 1", "nope == 1", "year == 'x'", "ANY title == 1", "SUBQUERY("] {
      let target = "?where=\(PercentEncoding.encode(predicate))"
      let html = await client.send("GET", "/entities/Book" + target)
      #expect(html.status == 400 && html.text.contains("id=\"problem-where\""), "\(predicate)")
      for format in ["json", "csv"] {
        #expect(await client.send("GET", "/entities/Book.\(format)" + target).status == 400, "\(predicate)")
      }
    }
  }

  @Test("the export of all results is offered only in orders that it has")
  func exportLink() async throws {
    try fixture.fill(GridExport.rowCount + 1)
    let client = fixture.client()
    for (query, isOffered) in [("limit=2", true), ("limit=2&sort=year", true), ("limit=2&sort=added", false)] {
      let page = await client.page("/entities/Item?\(query)")
      #expect(page.contains("All results as CSV") == isOffered, "\(query)")
      let status = await client.send("GET", "/entities/Item.csv?\(query)&all=1").status
      #expect(status == (isOffered ? 200 : 400), "\(query)")
    }
  }

  @Test("a limit out of range is refused, and not replaced")
  func limits() async throws {
    try fixture.fill(5)
    let client = fixture.client()
    for format in ["", ".json", ".csv"] {
      for (limit, status) in [("0", 400), ("1001", 400), ("x", 400), ("1", 200), ("1000", 200)] {
        let response = await client.send("GET", "/entities/Item\(format)?limit=\(limit)")
        #expect(response.status == status, "\(format) \(limit)")
      }
    }
  }

  @Test(
    "hostile parameters are refused or ignored",
    arguments: [
      "after=", "after=abc", "after=99999999999999999999", "after=281474976710656", "after=1!i1", "before=0",
      "before=-1",
      "after=1!sx&sort=year", "after=1!dnan&sort=price", "after=1!t1e999&sort=added", "after=1!n&sort=year",
      "sort=nope", "sort=-", "sort=title[xx]", "sort=,", "sort=cover", "sort=a.b.c", "sort=@count", "sort=shelf",
      "sort=year,year,year,year,year,year,year,year,year", "limit=0", "limit=1001", "limit=99999999999", "limit=x",
      "columns=nope", "columns=", "columns=title,title", "subentities=x", "all=1", "where=%00", "where=((((((((",
    ])
  func hostileParameters(query: String) async throws {
    try fixture.fill(5)
    let client = fixture.client()
    for format in ["", ".json", ".csv"] {
      let response = await client.send("GET", "/entities/Item\(format)?\(query)")
      #expect(response.status < 500, "\(query): \(response.text)")
    }
  }

  @Test("a page of very long texts ends early, and the next one continues there")
  func longTexts() async throws {
    let text = String(repeating: "z", count: 60_000)
    try fixture.fill(40) { _ in ["title": .string(text)] }
    let client = fixture.client()
    let pages = try await client.pages("/entities/Item.json?columns=title")
    #expect(pages.map(\.count) == [18, 18, 4])
    let html = await client.send("GET", "/entities/Item?columns=title")
    #expect(html.text.utf8.count < 200_000 && html.text.contains("/text/title"))
  }

  @Test("values are shown by their type, and never as markup")
  func cells() async throws {
    try await fixture.store.write { tx in
      let shelf = try tx.insert("Shelf", ["code": .string("c"), "label": .string("<b>Top</b>")])
      let book = try tx.insert(
        "Book",
        [
          "title": .string("<script>\u{202E}"), "price": .double(1.5), "cover": .binary(Data([1, 2, 3])),
          "added": .date(Date(timeIntervalSinceReferenceDate: 0)),
        ])
      try tx.setToOne(book, "shelf", shelf)
      try tx.link(book, "related", book)
    }
    let client = fixture.client()
    let html = await client.send("GET", "/entities/Book").text
    #expect(html.contains("&lt;script&gt;⟨U+202E⟩") && !html.contains("<script>\u{202E}"))
    #expect(html.contains("&lt;b&gt;Top&lt;/b&gt;") && html.contains("href=\"/objects/Shelf/1\""))
    #expect(html.contains("datetime=\"2001-01-01T00:00:00Z\""))
    #expect(html.contains("/objects/Book/1/blob/cover"))
    let json = try await client.json("/entities/Book.json")
    let values = try #require(((json["objects"] as? [[String: Any]])?.first)?["values"] as? [String: Any])
    #expect(values["price"] as? Double == 1.5)
    #expect((values["cover"] as? [String: Any])?["size"] as? Int == 3)
    #expect(values["shelf"] as? String == "Shelf/1")
    #expect(values["related"] as? Int == 1)
    #expect(values["year"] is NSNull)
    let csv = await client.send("GET", "/entities/Book.csv?columns=price,shelf,year").text
    #expect(csv == "id,price,shelf,year\nBook/1,1.5,Shelf/1,\n")
  }

  @Test("columns, subentities and rows of a page are chosen by the URL")
  func settings() async throws {
    try fixture.fill(30)
    let client = fixture.client()
    let csv = await client.send("GET", "/entities/Item.csv?columns=year&columns=title&limit=2").text
    #expect(csv.hasPrefix("id,year,title\n") && csv.split(separator: "\n").count == 3)
    #expect(try await client.grid("/entities/Item.json?subentities=0").ids.isEmpty)
    #expect(try await client.grid("/entities/Film.json").ids.count == 10)
    let html = await client.send("GET", "/entities/Item?columns=year").text
    #expect(html.contains("Subentities") && html.contains("name=\"columns\" value=\"title\""))
    #expect(!(await client.send("GET", "/entities/Film").text.contains("name=\"subentities\"")))
  }

  @Test("heads of columns sort, and reverse the order")
  func sortLinks() async throws {
    try fixture.fill(3)
    let client = fixture.client()
    let html = await client.send("GET", "/entities/Item?sort=year&after=1!i1900").text
    #expect(html.contains("?sort=-year\"") && html.contains("aria-sort=\"ascending\""))
    #expect(html.contains("sort=title"))
  }

  @Test("the query plan and the index that it lacks")
  func explain() async throws {
    try fixture.fill(400)
    let client = fixture.client()
    let indexed = try await client.json("/entities/Item/explain.json?sort=year")
    #expect((indexed["steps"] as? [String])?.contains("in index order: year ascending") == true)
    #expect(indexed["advice"] is NSNull)
    let slow = try await client.json("/entities/Item/explain.json?sort=-added")
    #expect(
      (slow["advice"] as? String)?.contains("FetchIndexDescription(\"byAdded\", [.init(\"added\", ascending: false)])")
        == true)
    let folded = try await client.json("/entities/Shelf/explain.json?sort=label%5Bcd%5D")
    #expect((folded["advice"] as? String)?.contains("canonical:(label)") == true)
    let search = try await client.json("/entities/Shelf/explain.json?where=code%20%3D%3D%20'x'")
    #expect((search["advice"] as? String)?.contains("byCode") == true)
    #expect(await client.send("GET", "/entities/Item/explain?where=(").status == 400)
  }

  @Test("words complete predicates")
  func words() async throws {
    let json = try await fixture.client().json("/entities/Book/words.json")
    let words = try #require(json["properties"] as? [[String: Any]]).compactMap { $0["word"] as? String }
    #expect(words.contains("title") && words.contains("shelf.label") && words.contains("related.@count"))
    #expect((json["operators"] as? [String])?.contains("BETWEEN {") == true)
  }

  @Test("a query over its time limit is a message with a remedy")
  func timeLimit() async throws {
    try fixture.fill(3000)
    let client = fixture.client { $0.requestTimeLimit = .nanoseconds(1) }
    let page = await client.send("GET", "/entities/Item?sort=added")
    #expect(page.status == 503 && page.text.contains("byAdded") && page.text.contains("role=\"alert\""))
    #expect(await client.send("GET", "/entities/Item.json?sort=added").status == 503)
  }

  @Test("a grid at a snapshot shows its state, and its links keep it")
  func snapshot() async throws {
    try fixture.fill(60)
    try await fixture.store.createSnapshot(named: "before")
    try await fixture.store.write { tx in
      for id in try tx.fetchIDs(FetchRequest("Item")) { try tx.delete(id) }
    }
    let client = fixture.client()
    #expect(try await client.grid("/entities/Item.json").ids.isEmpty)
    let pages = try await client.pages("/entities/Item.json?at=before&sort=year&limit=25")
    #expect(pages.map(\.count) == [25, 25, 10])
    #expect(await client.send("GET", "/entities/Item?at=before").text.contains("href=\"/objects/Book/1?at=before\""))
  }
}
