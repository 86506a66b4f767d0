import Foundation
import KVClone
import KVCloneTestSupport
import Testing

@testable import KVCloneExplorer

@Suite("Entities and the search for objects", .bounded)
struct EntitiesTests {
  let fixture: GridFixture

  init() throws { fixture = try GridFixture() }

  private func entities() async throws -> [String: [String: Any]] {
    let response = await fixture.client().send("GET", "/", [("Accept", "application/json")])
    let json = try #require(
      try JSONSerialization.jsonObject(with: Data(response.text.utf8)) as? [String: Any])
    let entities = try #require(json["entities"] as? [[String: Any]])
    return Dictionary(uniqueKeysWithValues: entities.map { ($0["name"] as? String ?? "", $0) })
  }

  @Test("entities are a tree with the numbers of objects")
  func counts() async throws {
    #expect(try await entities().values.allSatisfy { $0["objects"] as? Int == 0 })
    try fixture.fill(30)
    try await fixture.store.write { tx in _ = try tx.insert("Shelf") }
    let found = try await entities()
    #expect(found["Item"]?["objects"] as? Int == 30 && found["Item"]?["ownObjects"] as? Int == 0)
    #expect(found["Item"]?["abstract"] as? Bool == true)
    #expect(found["Book"]?["objects"] as? Int == 20 && found["Book"]?["parent"] as? String == "Item")
    #expect(found["Film"]?["objects"] as? Int == 10)
    #expect(found["Shelf"]?["objects"] as? Int == 1)
    let html = await fixture.client().send("GET", "/").text
    for entity in ["Item", "Book", "Film", "Shelf"] { #expect(html.contains("href=\"/entities/\(entity)\"")) }
    #expect(html.contains("name=\"id\"") && html.contains("Library"))
    let csv = await fixture.client().send("GET", "/", [("Accept", "text/csv")]).text
    #expect(csv.contains("Book,Item,false,20,20"))
  }

  @Test("the numbers at a snapshot are those of its state")
  func countsOfSnapshot() async throws {
    try fixture.fill(6)
    try await fixture.store.createSnapshot(named: "six")
    try fixture.fill(3)
    let response = await fixture.client().send("GET", "/?at=six", [("Accept", "text/csv")])
    #expect(response.text.contains("Book,Item,false,4,4"))
  }

  /// Pages with as much time to count as those of a large store have.
  private func hurriedClient() -> ExplorerClient {
    let page = Route.get("/") { context in
      let counts = try await EntityCounts.read(
        context.store, at: context.snapshotName, context.deadline, timeLimit: .zero)
      return .page(EntitiesPage(counts, context))
    }
    return ExplorerClient(fixture.store, routes: [page] + StoreRoutes.all)
  }

  private func numbers(_ client: ExplorerClient, _ target: String, of entity: String) async throws -> [String: Any] {
    let entities = try #require(try await client.json(target)["entities"] as? [[String: Any]])
    return try #require(entities.first { $0["name"] as? String == entity })
  }

  @Test("entities that cannot be counted in time have lower bounds, and a job counts each state once")
  func countsOfManyObjects() async throws {
    try fixture.fill(6000)
    let client = hurriedClient()
    let page = await client.page("/")
    #expect(page.contains("at least") && page.contains("<form action=\"/store/counts\" method=\"post\">"))
    let (book, film) = (try await numbers(client, "/", of: "Book"), try await numbers(client, "/", of: "Film"))
    #expect(book["objects"] is NSNull && book["ownObjects"] is NSNull)
    let bounds = [book, film].compactMap { $0["objectsAtLeast"] as? Int }
    #expect(bounds.count == 2 && bounds.reduce(0, +) == 4096)

    #expect(await client.send("POST", "/store/counts").status == 403)
    let job = try #require(await client.post("/store/counts").header("Location"))
    #expect(try await client.wait(for: "Objects in commit", at: job).contains("href=\"/entities/Film\""))
    #expect(await client.page(job + ".csv").contains("Film,2000,2000\n"))
    #expect(!(await client.page("/").contains("at least")))
    #expect(try await numbers(client, "/", of: "Book")["objects"] as? Int == 4000)
    // The lists of objects know the numbers, too.
    for (target, count) in [("Book", 4000), ("Item", 6000), ("Item?subentities=0", 0)] {
      #expect(try await fixture.client().json("/entities/\(target)")["count"] as? Int == count, "\(target)")
    }

    try fixture.fill(1)
    let later = try await numbers(client, "/", of: "Book")
    #expect(later["objects"] is NSNull && later["objectsEarlier"] as? Int == 4000)
    #expect(await client.page("/").contains("at commit"))
  }

  @Test("a job counts the state of a snapshot")
  func countsOfLargeSnapshot() async throws {
    try fixture.fill(6000)
    try await fixture.store.createSnapshot(named: "many")
    try fixture.fill(3)
    let client = hurriedClient()
    #expect(await client.page("/?at=many").contains("<input type=\"hidden\" name=\"at\" value=\"many\">"))
    #expect(await client.post("/store/counts", "at=missing").status == 404)
    let job = try #require(await client.post("/store/counts", "at=many").header("Location"))
    #expect(try await client.wait(for: "Objects in the snapshot many", at: job).contains("/entities/Book?at=many"))
    #expect(try await numbers(client, "/?at=many", of: "Item")["objects"] as? Int == 6000)
    #expect(try await numbers(client, "/?at=many", of: "Film")["objects"] as? Int == 2000)
    #expect(try await numbers(client, "/", of: "Film")["objects"] is NSNull)
  }

  @Test("an id or a URI leads to its object, with the concrete entity")
  func find() async throws {
    let ids = try fixture.fill(3)
    let client = fixture.client()
    let uri = try await fixture.store.read { tx in try tx.uri(of: ids[2]) }
    for text in ["Film/3", "Item/3", " Film/3 ", uri] {
      let response = await client.send("GET", "/find?id=\(PercentEncoding.encode(text))")
      #expect(response.status == 303 && response.header("Location") == "/objects/Film/3", "\(text)")
    }
    #expect(await client.send("GET", "/find?id=Film").header("Location") == "/entities/Film")
  }

  @Test(
    "an id without an object leads to hints",
    arguments: [
      "", "Book/99", "Film/1", "12", "Boo/1", "book", "Book/", "/", "Book/99999999999999999999999", "Book/-1",
      "x-kvclone://0/Book/p1", "<script>/1", "Book/1/2",
    ])
  func findNothing(text: String) async throws {
    try fixture.fill(3)
    let client = fixture.client()
    let response = await client.send("GET", "/find?id=\(PercentEncoding.encode(text))")
    #expect(response.status == 404)
    #expect(response.text.contains("name=\"id\"") && !response.text.contains("<script>/1"))
    if text.lowercased().hasPrefix("boo") { #expect(response.text.contains("href=\"/entities/Book\"")) }
    let json = await client.send("GET", "/find.json?id=\(PercentEncoding.encode(text))")
    #expect(json.status == 404 && json.text.contains("\"message\""))
  }

  @Test("all results stream as CSV in the order of an index, and in no other")
  func export() async throws {
    try fixture.fill(1203)
    let client = fixture.client()
    for sort in ["", "-year"] {
      let response = await client.send("GET", "/entities/Item.csv?all=1&columns=year&sort=\(sort)")
      var text = ""
      for try await chunk in try response.stream() { text += String(decoding: chunk, as: UTF8.self) }
      let lines = text.split(separator: "\n")
      #expect(lines.count == 1204 && Set(lines).count == 1204 && lines[0] == "id,year")
    }
    #expect(await client.send("GET", "/entities/Item.csv?all=1&sort=added").status == 400)
    #expect(await client.send("GET", "/entities/Item.json?all=1").status == 400)
    #expect(await client.send("GET", "/entities/Item.csv?all=1&where=(").status == 400)
  }

  @Test("objects are named by the userInfo of the entity, or by their first text")
  func displayNames() async throws {
    let model = fixture.store.model
    try await fixture.store.write { tx in
      let shelf = try tx.insert("Shelf", ["code": .string("c1"), "label": .string(String(repeating: "é", count: 200))])
      let book = try tx.insert("Book", ["title": .string("")])
      let named = try DisplayName.read(shelf, in: model, tx)
      #expect(named.id == "Shelf/1" && named.text?.unicodeScalars.count == DisplayName.maximumLength + 1)
      #expect(try DisplayName.read(book, in: model, tx).title == "Book/1")
      #expect(DisplayName.attributes(of: "Book", in: model) == ["title"])
    }
    #expect(Excerpt.beginning(of: "ab", 2) == "ab" && Excerpt.beginning(of: "abc", 2) == "ab…")
    #expect(Excerpt.beginning(of: "ée", 2) == "ée")
  }

  @Test("an object without its first text is named by the next one")
  func nextTextIsTheName() throws {
    let model = ManagedObjectModel("Names") {
      EntityDescription("Task") {
        for name in ["asset", "code", "title"] { AttributeDescription(name, .string) }
      }
    }
    let files = try TestStore(model)
    let task = try files.store.insert("Task", ["code": .string("kegels"), "title": .string("Exercises")])
    let name = try files.store.read { tx in try DisplayName.read(task, in: model, tx) }
    #expect(name.title == "kegels")
  }

  @Test("an engine without pages and without sizes of tables shows the same numbers and pages")
  func otherEngine() async throws {
    let store = try ObjectStore.create(in: MemoryStorage(), model: GridFixture.model)
    defer { store.close() }
    try await store.write { tx in
      for number in 0..<60 {
        _ = try tx.insert(number % 3 == 2 ? "Film" : "Book", ["year": .integer(Int64(number % 4))])
      }
    }
    let client = ExplorerClient(store)
    let csv = await client.send("GET", "/", [("Accept", "text/csv")]).text
    #expect(csv.contains("Item,,true,60,0,\n") && csv.contains("Book,Item,false,40,40,\n"))
    for sort in ["", "year", "-year"] {
      let pages = try await client.pages("/entities/Item.json?limit=25&sort=\(sort)")
      #expect(pages.map(\.count) == [25, 25, 10] && Set(pages.flatMap { $0 }).count == 60)
    }
    #expect(try await client.json("/entities/Book.json")["count"] as? Int == 40)
  }

  @Test("an unknown entity is not found")
  func unknownEntity() async throws {
    let client = fixture.client()
    for path in [
      "/entities/Nope", "/entities/Nope.json", "/entities/Nope/explain", "/entities/Nope/words", "/entities/%2E%2E",
    ] {
      #expect(await client.send("GET", path).status == 404, "\(path)")
    }
  }
}
