import Foundation
import KVClone
import KVCloneTestSupport
import Testing

@testable import KVCloneExplorer

/// The list of branches, and pages that show a branch.
@Suite("Explorer: branches", .bounded) struct BranchPageTests {
  @Test("the list shows base, expiry, changes and bytes in all formats")
  func list() async throws {
    let library = try BranchLibrary()
    let client = ExplorerClient(library.store) { $0.allowsWrites = true }
    let page = await client.page("/branches")
    #expect(page.contains("/branches/spring/publish") && page.contains("aria-current=\"page\">Branches"))
    #expect(page.contains("data-key=\"b\"") && page.contains("data-key=\"d\""))
    let json = try await client.json("/branches")
    let branch = try #require((json["branches"] as? [[String: Any]])?.first)
    #expect(json["count"] as? Int == 1 && branch["name"] as? String == "spring")
    #expect(try branch["changedObjects"] as? Int == library.store.branches.list().first?.changedObjectCount)
    #expect(branch["bytes"] as? Int ?? 0 > 0 && branch["retainedBytes"] is Int)
    #expect(branch["expires"] is NSNull && branch["base"] is NSNull)
    let csv = await client.page("/branches.csv")
    #expect(csv.hasPrefix("name,base,created,expires,commit,changedObjects,bytes,retainedBytes\nspring,,"))
    #expect(try await client.json("/branches/spring")["name"] as? String == "spring")
    #expect(await client.page("/branches/spring").contains("/rollback/%40base?branch=spring"))
  }

  @Test("a long list has pages")
  func paging() async throws {
    let files = try TestStore(snapshotModel)
    for name in ["a.json", "b", "c"] { try await files.store.branches.create(name) }
    let client = ExplorerClient(files.store)
    let first = try await client.json("/branches?limit=2")
    let next = try #require(first["next"] as? String)
    let second = try await client.json("/branches?limit=2&after=\(next)")
    #expect((second["branches"] as? [[String: Any]])?.map { $0["name"] as? String } == ["c"])
    #expect(second["next"] is NSNull)
    #expect(await client.send("GET", "/branches?after=x").status == 400)
    // A name like a format has its own page.
    let link = try #require(await client.page("/branches").firstMatch(of: /href="(\/branches\/a[^"\/]*)"/)).1
    #expect(await client.page(String(link)).contains("<h1>a.json</h1>"))
  }

  @Test("a query of a branch does not use an index that came after its base")
  func youngerIndex() async throws {
    let files = try TestStore(snapshotModel)
    try await files.store.write { tx in try tx.insert("Tag", ["name": .string("a")]) }
    try await files.store.branches.create("draft")
    var entities = snapshotModel.entities
    let place = try #require(entities.firstIndex { $0.name == "Tag" })
    entities[place].indexes.append(FetchIndexDescription("byName", [.init("name")]))
    try files.reopen(model: ManagedObjectModel(name: snapshotModel.name, entities: entities))
    let client = ExplorerClient(files.store)
    let path = "/entities/Tag.json?where=\(PercentEncoding.encode("name == 'a'"))"
    for target in [path, path + "&branch=draft"] {
      #expect((try await client.json(target)["objects"] as? [Any])?.count == 1, "\(target)")
    }
  }

  @Test("a form creates a branch from the present or a snapshot, with an expiry")
  func create() async throws {
    let library = try BranchLibrary()
    let client = ExplorerClient(library.store) { $0.allowsWrites = true }
    let created = await client.post("/branches", "name=summer&from=first&expires=2030-01-02T03%3A04")
    #expect(created.status == 303 && created.header("Location") == "/branches/summer")
    let json = try await client.json("/branches/summer")
    #expect(json["base"] as? String == "first" && json["expires"] as? String == "2030-01-02T03:04:00Z")
    #expect(await client.post("/branches", "name=autumn&from=&expires=").status == 303)
    #expect(await client.post("/branches", "name=autumn").status == 409)
    let hostile = await client.post("/branches", "name=%3Cscript%3E")
    #expect(hostile.status == 400 && !hostile.text.contains("<script>alert"))
    #expect(await client.post("/branches", "name=winter&from=missing").status == 404)
    #expect(await client.post("/branches", "name=winter&expires=tomorrow").status == 400)
    #expect(try library.store.branches.list().map(\.name) == ["spring", "summer", "autumn"])
  }

  static let changes = [
    "/branches", "/branches/spring/delete", "/branches/spring/publish", "/branches/spring/update",
    "/rollback/%40base?branch=spring",
  ]

  @Test("a read-only explorer offers and accepts no change", arguments: changes)
  func readOnly(path: String) async throws {
    let library = try BranchLibrary()
    let client = ExplorerClient(library.store)
    let page = await client.page(path)
    #expect(!page.contains("method=\"post\"") && page.contains("kvclone explore --write"))
    let response = await client.post(path, "name=new&do=merge&key=k&policy=theirs")
    #expect(response.status == 403)
    #expect(try library.store.branches.list().map(\.name) == ["spring"])
    #expect(try library.title() == BranchLibrary.storeTitle)
  }

  @Test("changes come from pages of the explorer", arguments: changes)
  func origin(path: String) async throws {
    let library = try BranchLibrary()
    let client = ExplorerClient(library.store) { $0.allowsWrites = true }
    let form = (name: "Content-Type", value: "application/x-www-form-urlencoded")
    for origin in [[], [("Origin", "http://evil.example")]] as [[(name: String, value: String)]] {
      let response = await client.send("POST", path, origin + [form], body: "name=new&do=merge&key=k&policy=theirs")
      #expect(response.status == 403 && response.text.contains("not come from a page of the explorer"))
    }
    #expect(try library.store.branches.list().map(\.name) == ["spring"])
    #expect(try library.title() == BranchLibrary.storeTitle)
  }

  @Test("the deletion lists what would be lost, and deletes the branch")
  func delete() async throws {
    let library = try BranchLibrary()
    let client = ExplorerClient(library.store) { $0.allowsWrites = true }
    let json = try await client.json("/branches/spring/delete")
    #expect((json["differences"] as? [Any])?.count == 4)
    let page = await client.page("/branches/spring/delete")
    #expect(page.contains(library.object(library.inserted)) && page.contains("cannot be restored"))
    #expect(!page.contains("<script>alert"))
    let response = await client.post("/branches/spring/delete")
    #expect(response.status == 303 && response.header("Location") == "/branches")
    #expect(try library.store.branches.list().isEmpty)
    for path in ["/branches/spring", "/branches/spring/delete", "/branches/spring/publish", "/?branch=spring"] {
      let gone = await client.send("GET", "\(path)")
      #expect(gone.status == 404 && gone.text.contains("branchNotFound"), "\(path)")
    }
    #expect(await client.page("/branches").contains("no branches"))
    try checked(library.store)
  }

  // MARK: Pages of a branch

  @Test(
    "every page can show the branch, and its links keep it",
    arguments: [
      "/", "/entities/Book", "/entities/Book/explain", "/objects/Book/1", "/objects/Book/1/history",
      "/objects/Book/1/raw", "/objects/Book/1/text/title", "/objects/Book/1/members/tags", "/clone/Book/1",
      "/graph/Book/1", "/time", "/compare?from=%40base&to=", "/model", "/model/entities/Book", "/model/versions",
      "/store", "/drafts",
    ])
  func pages(path: String) async throws {
    let library = try BranchLibrary()
    let client = ExplorerClient(library.store) { $0.allowsWrites = true }
    let page = await client.page(path + (path.contains("?") ? "&" : "?") + "branch=spring")
    #expect(page.contains("the branch <b>spring</b>") && page.contains("Show the store"))
    #expect(page.contains("name=\"branch\" value=\"spring\""))
    #expect(page.contains("href=\"/time?branch=spring\""))
    #expect(!page.contains("<script>alert"))
    for form in page.matches(of: /<form[^>]*method="get"[^>]*>/) { #expect(!form.0.contains("?"), "\(form.0)") }
  }

  @Test("a page of a branch shows its objects, that of its base the objects at the fork")
  func states() async throws {
    let library = try BranchLibrary()
    let client = ExplorerClient(library.store)
    let path = "/objects/\(library.object(library.shared))"
    func title(_ query: String) async throws -> String? {
      (try await client.json("\(path)?\(query)")["attributes"] as? [String: Any])?["title"] as? String
    }
    #expect(try await title("") == BranchLibrary.storeTitle)
    #expect(try await title("branch=spring") == BranchLibrary.branchTitle)
    #expect(try await title("branch=spring&at=%40base") == BranchLibrary.baseTitle)
    let base = await client.page("\(path)?branch=spring&at=%40base")
    #expect(base.contains("This is the base of the branch <b>spring</b>"))
    for (state, cover) in [("", LibraryHistory.newCover), ("&at=%40base", LibraryHistory.oldCover)] {
      let blob = await client.send("GET", "\(path)/blob/cover?branch=spring\(state)")
      #expect(try await ObjectFixture.bytes(of: blob) == Array(cover))
    }
    #expect(await client.send("GET", "/objects/\(library.object(library.deleted))?branch=spring").status == 404)
    #expect(await client.send("GET", "/objects/\(library.object(library.inserted))").status == 404)
    let hostile = await client.send("GET", "/?branch=%3Cscript%3Ealert")
    #expect(hostile.status == 404 && !hostile.text.contains("<script>alert"))
    #expect(await client.send("GET", "\(path)?at=%40base").status == 404)
  }

  @Test("counts of a branch are not those of the store")
  func counts() async throws {
    let library = try BranchLibrary()
    let client = ExplorerClient(library.store)
    _ = try library.store.insert("Tag", count: 5)
    func tags(_ query: String) async throws -> Int? {
      let entities = try await client.json("/?\(query)")["entities"] as? [[String: Any]]
      return entities?.first { $0["name"] as? String == "Tag" }?["objects"] as? Int
    }
    for _ in 0..<2 {
      #expect(try await tags("") == 6)
      #expect(try await tags("branch=spring") == 1)
    }
  }

  @Test("a snapshot that was created on the page of a branch is the branch's")
  func snapshot() async throws {
    let library = try BranchLibrary()
    let client = ExplorerClient(library.store) { $0.allowsWrites = true }
    let response = await client.post("/time?branch=spring", "name=own")
    #expect(response.header("Location") == "/time?branch=spring")
    #expect(try library.store.snapshots().map(\.name) == ["first"])
    #expect(try library.branch.snapshots().map(\.name) == ["own"])
    #expect(await client.page("/objects/Book/1?branch=spring&at=own").contains("of the branch <b>spring</b>"))
  }

  // MARK: Differences

  @Test("the differences are those from the base, or from the store")
  func differences() async throws {
    let library = try BranchLibrary()
    let client = ExplorerClient(library.store)
    func objects(_ from: String, _ to: String) async throws -> [String: String] {
      let csv = await client.page("/compare.csv?branch=spring&from=\(from)&to=\(to)")
      let rows = csv.split(separator: "\n").dropFirst().map { $0.split(separator: ",") }
      return Dictionary(rows.map { (String($0[0]), String($0[2])) }, uniquingKeysWith: { $1 })
    }
    let (shared, other) = (library.object(library.shared), library.object(library.other))
    let (inserted, deleted) = (library.object(library.inserted), library.object(library.deleted))
    let own = [shared: "updated", inserted: "inserted", deleted: "deleted", "Tag/1": "updated"]
    #expect(try await objects("%40base", "") == own)
    #expect(try await objects("%40store", "") == own.merging([other: "updated"]) { $1 })
    #expect(try await objects("", "%40base") == own.merging([inserted: "deleted", deleted: "inserted"]) { $1 })
    #expect(try await objects("%40base", "%40store") == [shared: "updated", other: "updated"])
    #expect(try await objects("%40base", "%40base") == [:])
    let json = try await client.json("/compare?branch=spring&from=%40base&to=")
    #expect(json["complete"] as? Bool == true && (json["differences"] as? [Any])?.count == 4)
    #expect(await client.send("GET", "/compare?from=%40base&to=").status == 404)
  }

  @Test("an object of a comparison has its values, images and members of both states")
  func object() async throws {
    let library = try BranchLibrary()
    let client = ExplorerClient(library.store) { $0.allowsWrites = true }
    let path = "/compare/\(library.object(library.shared))?branch=spring&from="
    let page = await client.page(path + "%40base&to=")
    #expect(page.contains("src=\"/objects/Book/1/blob/cover?at=%40base&amp;branch=spring\""))
    #expect(page.contains("src=\"/objects/Book/1/blob/cover?branch=spring\""))
    #expect(page.contains("/branches/spring/publish?object=Book%2F1"))
    #expect(page.contains("/rollback/%40base?object=Book%2F1&amp;branch=spring"))
    let store = await client.page(path + "%40store&to=")
    #expect(store.contains("src=\"/objects/Book/1/blob/cover\""))
    #expect(!store.contains("<script>alert"))
  }
}
