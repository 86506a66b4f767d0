import Foundation
import KVClone
import KVCloneMerge
import KVCloneTestSupport
import Testing

@testable import KVCloneExplorer

/// The list of drafts, their plans, and the merges that a page runs.
@Suite("Explorer: drafts", .bounded) struct DraftPageTests {
  /// A note with a draft of it.
  private struct Draft {
    let fixture: CloneStore
    let source: ObjectID
    let clone: ObjectID
    var path: String { "/drafts/Note/\(clone.serial)" }

    init() throws {
      let (fixture, source, _) = try CloneStore.notes()
      var options = CloneOptions()
      options.keepsBase = true
      self.fixture = fixture
      self.source = source
      clone = try #require(try fixture.store.clone([source], options: options).roots.first)
    }

    func setName(_ id: ObjectID, _ name: String) throws {
      try fixture.store.write { tx in try tx.set(id, "name", .string(name)) }
    }

    func setImages() throws {
      try fixture.store.write { tx in
        try tx.set(source, "data", .binary(LibraryHistory.oldCover))
        try tx.set(clone, "data", .binary(LibraryHistory.newCover))
      }
    }

    func name(_ id: ObjectID) throws -> String? {
      try fixture.store.read { tx in
        guard case .string(let name)? = try tx.value(id, "name") else { return nil }
        return name
      }
    }

    func exists(_ id: ObjectID) throws -> Bool { try fixture.store.read { try $0.exists(id) } }
  }

  @Test("P9: the list names drafts and their sources, and links to their plans")
  func list() async throws {
    let draft = try Draft()
    let client = ExplorerClient(draft.fixture.store)
    let page = await client.page("/drafts")
    #expect(page.contains("href=\"\(draft.path)\"") && page.contains("unchanged"))
    let json = try await client.json("/drafts")
    let entry = try #require((json["drafts"] as? [[String: Any]])?.first)
    #expect(entry["roots"] as? [String] == ["Note/\(draft.clone.serial)"])
    #expect(entry["sources"] as? [String] == ["Note/\(draft.source.serial)"])
    #expect(entry["changed"] as? Bool == false && entry["expires"] is NSNull)
    try draft.setName(draft.clone, "<script>alert(1)</script>")
    let csv = await client.page("/drafts.csv")
    #expect(csv.hasPrefix("roots,sources,author,created,expires,objects,changed,retainedBytes\nNote/"))
    #expect(csv.contains(",true,"))
    #expect(await !client.page("/drafts").contains("<script>alert"))
    #expect(await client.send("GET", "/drafts?after=-1").status == 400)
  }

  @Test("without drafts, the page names the command that makes one")
  func none() async throws {
    let (fixture, _, _) = try CloneStore.notes()
    let client = ExplorerClient(fixture.store)
    #expect(await client.page("/drafts").contains("--keeps-base"))
    #expect(try await client.json("/drafts")["count"] as? Int == 0)
  }

  @Test("the page of a clone shows that it is a draft; that of its source does not")
  func object() async throws {
    let draft = try Draft()
    let client = ExplorerClient(draft.fixture.store)
    let page = await client.page("/objects/Note/\(draft.clone.serial)")
    #expect(page.contains(">draft</span>") && page.contains("href=\"\(draft.path)\""))
    #expect(try await client.json("/objects/Note/\(draft.clone.serial)")["draft"] as? Bool == true)
    #expect(try await client.json("/objects/Note/\(draft.source.serial)")["draft"] as? Bool == false)
    #expect(await client.send("GET", "/drafts/Note/\(draft.source.serial)").status == 409)
    #expect(await client.send("GET", "/drafts/Note/999999").status == 404)
    #expect(await client.send("GET", "/drafts/%3Cscript%3E/1").status == 404)
  }

  @Test("a plan has the source as ours and the clone as theirs, and a merge runs with the answer")
  func merge() async throws {
    let draft = try Draft()
    try draft.setName(draft.clone, "of the draft")
    try draft.setName(draft.source, "of the source")
    let client = ExplorerClient(draft.fixture.store) { $0.allowsWrites = true }
    let json = try await client.json(draft.path)
    let conflict = try #require((json["conflicts"] as? [[String: Any]])?.first)
    #expect(conflict["object"] as? String == "Note/\(draft.source.serial)")
    #expect(conflict["ours"] as? String == "of the source" && conflict["theirs"] as? String == "of the draft")
    let page = await client.page(draft.path)
    #expect(page.contains("ours: source") && page.contains("theirs: draft") && page.contains("name=\"keep\""))
    #expect(await client.post(draft.path, "do=merge&key=open").status == 409)
    let response = await client.post(draft.path, "do=merge&key=k&policy=theirs")
    #expect(response.status == 303, "\(response.text.prefix(500))")
    #expect(try draft.name(draft.source) == "of the draft")
    #expect(try !draft.exists(draft.clone))
    #expect(await client.page(try #require(response.header("Location"))).contains("Roll the store back"))
    try draft.fixture.expectClean()
  }

  @Test("the images of the source and of the clone are side by side")
  func images() async throws {
    let draft = try Draft()
    try draft.setImages()
    let client = ExplorerClient(draft.fixture.store)
    let page = await client.page(draft.path)
    for object in [draft.source, draft.clone] {
      #expect(page.contains("src=\"/objects/Note/\(object.serial)/blob/data\""))
    }
  }

  @Test("P7: on request, the clones stay as ordinary objects")
  func keep() async throws {
    let draft = try Draft()
    try draft.setName(draft.clone, "of the draft")
    let client = ExplorerClient(draft.fixture.store) { $0.allowsWrites = true }
    #expect(await client.post(draft.path, "do=merge&key=k&keep=1").status == 303)
    #expect(try draft.name(draft.source) == "of the draft")
    #expect(try draft.exists(draft.clone))
    #expect(try await client.json("/objects/Note/\(draft.clone.serial)")["draft"] as? Bool == false)
  }

  @Test("a read-only explorer shows the plan, and merges nothing")
  func readOnly() async throws {
    let draft = try Draft()
    try draft.setName(draft.clone, "of the draft")
    let client = ExplorerClient(draft.fixture.store)
    let page = await client.page(draft.path)
    #expect(!page.contains("method=\"post\"") && page.contains("kvclone explore --write"))
    #expect(await client.post(draft.path, "do=merge&key=k").status == 403)
    #expect(try draft.name(draft.source) == "first note")
  }
}
