import Foundation
import KVClone
import KVCloneDemo
import KVCloneTestSupport
import Testing

@testable import KVCloneExplorer

/// The model, its entities, versions and migration plans.
@Suite(.bounded) struct ModelPageTests {
  private static func model(_ version: String, _ attributes: [AttributeDescription], extra: Bool = false)
    -> ManagedObjectModel
  {
    ManagedObjectModel("Notes", version: version) {
      EntityDescription("Base", abstract: true, userInfo: ["owner": "team"]) {
        AttributeDescription("created", .date, optional: false, default: .date(Date(timeIntervalSinceReferenceDate: 0)))
      }
      EntityDescription(
        "Note", parent: "Base", unique: [["code"]],
        indexes: [
          FetchIndexDescription("byTitle", [.init("title")]),
          FetchIndexDescription("partial", [.init("code")], partialPredicate: "code > 3"),
        ]
      ) {
        AttributeDescription("title", .string, min: .integer(1), max: .integer(80), regularExpression: "[A-Z].*")
        AttributeDescription("code", .integer64, userInfo: ["exclude": ""])
        AttributeDescription("itemCount", .integer64, derivation: "items.@count")
        for attribute in attributes { attribute }
        RelationshipDescription("items", toMany: "Item", inverse: "note", ordered: true, deleteRule: .cascade)
      }
      EntityDescription("Item") { RelationshipDescription("note", toOne: "Note", inverse: "items") }
      if extra { EntityDescription("Extra") { AttributeDescription("text", .string) } }
    }
  }

  private static let first = model("Notes", [AttributeDescription("size", .integer32)])
  private static let second = model("Notes 2", [AttributeDescription("size", .integer64)], extra: true)
  private static let third = model("Notes 3", [AttributeDescription("size", .uuid)])

  private func json(_ client: ExplorerClient, _ path: String) async throws -> [String: Any] {
    let response = await client.send("GET", path)
    #expect(response.status == 200, "\(response.text.prefix(300))")
    return try #require(try JSONSerialization.jsonObject(with: Data(response.text.utf8)) as? [String: Any])
  }

  @Test func theDiagramLinksToEntitiesPropertiesAndObjects() async throws {
    let fixture = try TestStore(Self.first)
    try fixture.store.insert("Note", ["title": "A"])
    let html = await ExplorerClient(fixture.store).send("GET", "/model").text
    let note = "/model/entities/Note"
    for link in [note, "\(note)#property-title", "/entities/Note", "/model/versions", "/model/migration"] {
      #expect(html.contains("href=\"\(link)\""), "\(link)")
    }
    #expect(html.contains("data-panzoom") && html.contains("role=\"group\"") && html.contains("aria-labelledby"))
    #expect(html.contains(">1 object</text>") && html.contains(">abstract</text>"))
    #expect(!html.contains("<style") && !html.contains(" style="))
  }

  @Test func diagramsOfTheLatestModelsAreKept() async throws {
    let fixture = try TestStore(Self.first)
    let cache = ModelDiagramCache.of(fixture.store)
    let client = ExplorerClient(fixture.store)
    let page = await client.page("/model")
    #expect(cache.count == 1)
    let repeated = await client.page("/model")
    #expect(repeated == page && cache.count == 1)
    // Models that store the same data, with other rules.
    for number in 0..<9 {
      let model = Self.model("Notes", [AttributeDescription("size", .integer32, userInfo: ["n": "\(number)"])])
      #expect(model.modelHash == Self.first.modelHash)
      #expect(ModelDiagramSVG(cache.diagram(model)).text == ModelDiagramSVG(ModelDiagram(model)).text)
    }
    #expect(cache.count == 4)
  }

  @Test func theModelIsAlsoJSONAndCSV() async throws {
    let fixture = try TestStore(DemoModel.model)
    let client = ExplorerClient(fixture.store)
    let document = try await json(client, "/model.json")
    let shown = try #require(document["model"] as? [String: Any])
    #expect(
      (shown["entities"] as? [[String: Any]])?.count == 6 && document["hash"] as? String == shown["hash"] as? String)
    #expect(
      document["counts"] as? [String: Int]
        == Dictionary(uniqueKeysWithValues: DemoModel.model.entities.map { ($0.name, 0) }))
    let rows = await client.send("GET", "/model.csv").text.split(separator: "\n")
    let count = DemoModel.model.entities.reduce(0) { $0 + $1.attributes.count + $1.relationships.count }
    #expect(rows.count == count + 1)
    #expect(
      rows.contains("Album,photos,relationship,Photo,true,,,0…n,album,Cascade,\"follow, the inverse is to-one (R7)\""))
  }

  @Test func anEntityHasAllDetails() async throws {
    let fixture = try TestStore(Self.first)
    let client = ExplorerClient(fixture.store)
    let html = await client.send("GET", "/model/entities/Note").text
    for text in [
      "id=\"property-title\"", "length ≥ 1, length ≤ 80, matches [A-Z].*", "excluded, nil (R15)", "items.@count",
      "<code>code</code>", "follow, the inverse is to-one (R7)", "Cascade", "byTitle", "code &gt; 3", "owner=team",
      "inherited", "href=\"/model/entities/Item#property-note\"", "href=\"/entities/Note\"",
    ] {
      #expect(html.contains(text), "\(text)")
    }
    let document = try await json(client, "/model/entities/Note.json")
    #expect((document["properties"] as? [Any])?.count == 6 && document["parent"] as? String == "Base")
    #expect(await client.send("GET", "/model/entities/Nothing").status == 404)
  }

  @Test func everyModelTheStoreHadIsKeptWithItsDifferences() async throws {
    let fixture = try TestStore(Self.first)
    let options = MigrationOptions(takesSnapshot: false)
    try fixture.store.insert("Note", ["title": "A"])
    try await fixture.store.createSnapshot(named: "early")
    fixture.store.close()
    try fixture.migrate(to: Self.second, migration: options)
    try fixture.reopen()
    let client = ExplorerClient(fixture.store)
    let document = try await json(client, "/model/versions.json")
    let models = try #require(document["models"] as? [[String: Any]])
    #expect(models.map { $0["version"] as? String } == ["Notes", "Notes 2"])
    #expect(models.map { $0["snapshots"] as? [String] } == [["early"], []])
    let changes = try #require(document["changes"] as? [[String: Any]])
    #expect(changes.contains { $0["entity"] as? String == "Extra" && $0["kind"] as? String == "added" })
    #expect(changes.contains { $0["property"] as? String == "size" && $0["work"] as? String == "objects" })
    // Backwards, and a snapshot with its own model.
    let backwards = try await json(client, "/model/versions.json?from=2&to=1")
    #expect((backwards["changes"] as? [[String: Any]])?.contains { $0["kind"] as? String == "removed" } == true)
    #expect(await client.send("GET", "/model?at=early").text.contains("Extra") == false)
    #expect(await client.send("GET", "/model").text.contains("Extra"))
    // The lists of a snapshot are those of its model, too.
    #expect(!(await client.page("/?at=early").contains("Extra")))
    #expect(await client.page("/").contains("Extra"))
    #expect(await client.page("/entities/Note?at=early").contains("Note/1"))
    #expect(await client.send("GET", "/entities/Extra?at=early").status == 404)
    let html = await client.send("GET", "/model/versions").text
    #expect(html.contains("Note.size") && html.contains("rewritten") && html.contains("/model?at=early"))
    #expect(await client.send("GET", "/model/versions?from=7").status == 404)
  }

  @Test func aNewStoreHasOneModel() async throws {
    let fixture = try TestStore(Self.first)
    let html = await ExplorerClient(fixture.store).send("GET", "/model/versions").text
    #expect(html.contains("The store has had one model.") && html.contains(Self.first.modelHash.hex))
  }

  @Test func migrationPlansAreThoseOfTheStore() async throws {
    let fixture = try TestStore(Self.first)
    for _ in 0..<3 { try fixture.store.insert("Note", ["title": "A"]) }
    let client = ExplorerClient(fixture.store) { $0.modelVersions = [Self.first, Self.second, Self.third] }
    let planned = try await json(client, "/model/migration.json?to=Notes%202")
    #expect(planned["possible"] as? Bool == true)
    let steps = try #require(planned["steps"] as? [[String: Any]])
    #expect(steps.map { $0["kind"] as? String } == ["objects"] && steps[0]["rewritten"] as? Int == 3)
    // Integers do not become UUIDs: that needs a mapping model.
    let refused = await client.send("GET", "/model/migration?to=Notes%203").text
    #expect(refused.contains("needs a mapping model") && refused.contains("cannot be inferred"))
    #expect(refused.contains("Source of a mapping model"))
    let same = await client.send("GET", "/model/migration?to=Notes").text
    #expect(same.contains("Nothing to do"))
    #expect(await client.send("GET", "/model/migration?to=Notes%209").status == 404)
    // The plan itself, which runs the migration, has the same numbers.
    fixture.store.close()
    let plan = try fixture.planMigration(to: Self.second)
    #expect(plan.steps.map(\.rewrittenCount) == [3])
  }

  @Test func withoutVersionsThePageNamesTheOption() async throws {
    let fixture = try TestStore(Self.first)
    let response = await ExplorerClient(fixture.store).send("GET", "/model/migration")
    #expect(response.status == 200 && response.text.contains("--model"))
  }

  @Test func hostileModelsAreTexts() async throws {
    let name = "R&D\"<b>"
    let model = ManagedObjectModel(name) {
      EntityDescription(name, userInfo: [name: name]) {
        AttributeDescription(name + "x", .string, default: .string("<script>"), userInfo: [name: name])
      }
    }
    guard (try? model.validate()) != nil else { return }
    let fixture = try TestStore(model)
    let client = ExplorerClient(fixture.store)
    for path in ["/model", "/model/entities/\(PercentEncoding.encode(name))", "/model/versions", "/model/migration"] {
      let response = await client.send("GET", path)
      #expect(response.status == 200, "\(path)")
      #expect(
        !response.text.contains("<b>\"") && !response.text.contains("\"<b>") && !response.text.contains("<script>"))
    }
  }

  @Test(
    "entities with the names of pages have pages, and short paths lead to them",
    arguments: ["versions", "migration", "entities", "explain", "words"])
  func namesOfPages(_ name: String) async throws {
    let model = ManagedObjectModel("Names") { EntityDescription(name) { AttributeDescription("title", .string) } }
    let fixture = try TestStore(model)
    try fixture.store.insert(name, ["title": "A"])
    let client = ExplorerClient(fixture.store)
    let page = await client.page("/model")
    #expect(page.contains("href=\"/model/entities/\(name)\""))
    #expect(await client.page("/model/entities/\(name)").contains("Entity \(name)"))
    for path in ["/entities/\(name)", "/entities/\(name)/explain", "/objects/\(name)/1", "/graph/\(name)/1"] {
      _ = await client.page(path)
    }
    if name == "explain" {
      let short = await client.send("GET", "/model/\(name).json?a=b")
      #expect(short.status == 303 && short.header("Location") == "/model/entities/\(name).json")
    }
  }
}
