import Foundation
import KVClone
import KVCloneTestSupport
import Testing

@testable import KVCloneExplorer

@Suite("Explorer: running clones, and their undo", .bounded)
struct CloneRunTests {
  /// The hidden items of the form that runs a clone.
  private func form(_ page: String) throws -> [(name: String, value: String)] {
    let start = try #require(page.range(of: "method=\"post\""))
    let end = try #require(page[start.upperBound...].range(of: "</form>"))
    let form = page[start.upperBound..<end.lowerBound]
    return form.matches(of: /name="([^"]*)" value="([^"]*)"/).map { (String($0.1), String($0.2)) }
  }

  @Test("the form of a preview clones with its options, and leads to the clone")
  func run() async throws {
    let (fixture, note, _) = try CloneStore.notes()
    let client = CloneClient(fixture.store, allowsWrites: true)
    let path = "/clone/Note/\(note.serial)"
    let items = try form(await client.page(path, "exclude=memos&count=2"))
    let target = try await client.follow(path, items)
    #expect(target.path == "\(path)/result")
    #expect(try fixture.count("Note") == 3 && fixture.count("Item") == 9 && fixture.count("Memo") == 2)
    let page = await client.page(target.path, target.query)
    #expect(page.contains("/objects/Note/2") && page.contains("/objects/Note/3"))
    let document = try await client.json(target.path, target.query)
    #expect(document["roots"] as? [String] == ["Note/2", "Note/3"])
    #expect(document["remaining"] as? Int == 10)
    try fixture.expectClean()
  }

  @Test("a form that is sent twice, also at the same time, clones once")
  func twice() async throws {
    let (fixture, note, _) = try CloneStore.notes()
    let client = CloneClient(fixture.store, allowsWrites: true)
    let path = "/clone/Note/\(note.serial)"
    let items = try form(await client.page(path))
    async let first = client.follow(path, items)
    async let second = client.follow(path, items)
    let targets = try await [first, second]
    #expect(targets[0] == targets[1])
    #expect(try await client.follow(path, items) == targets[0])
    #expect(try fixture.count("Note") == 2)
    let snapshots = try fixture.store.snapshots()
    #expect(snapshots.count == 1, "one automatic snapshot: \(snapshots.map(\.name))")
    #expect(snapshots.first?.isAutomatic == true)
  }

  @Test("the same key with other options is refused in place")
  func reused() async throws {
    let (fixture, note, _) = try CloneStore.notes()
    let client = CloneClient(fixture.store, allowsWrites: true)
    let path = "/clone/Note/\(note.serial)"
    _ = try await client.follow(path, [("key", "one")])
    let response = await client.post(path, [("key", "one"), ("exclude", "memos")])
    #expect(response.status == 422 && response.content.contains("role=\"alert\""))
    #expect(try fixture.count("Note") == 2)
  }

  @Test("a clone that fails writes nothing, keeps no snapshot, and shows the error on the preview")
  func failure() async throws {
    let (fixture, note, _) = try CloneStore.notes()
    let client = CloneClient(fixture.store, allowsWrites: true)
    let lines = try fixture.lines()
    let response = await client.post("/clone/Note/\(note.serial)", [("key", "k"), ("max-objects", "1")])
    #expect(response.status == 422)
    #expect(response.content.contains("nothing was written"))
    #expect(try fixture.lines() == lines)
    #expect(try fixture.store.snapshots().isEmpty)
  }

  @Test("a form without a key is refused")
  func withoutKey() async throws {
    let (fixture, note, _) = try CloneStore.notes()
    let client = CloneClient(fixture.store, allowsWrites: true)
    #expect(await client.post("/clone/Note/\(note.serial)", []).status == 400)
    #expect(
      await client.post("/clone/Note/\(note.serial)", [("key", String(repeating: "k", count: 256))]).status == 400)
    #expect(try fixture.count("Note") == 1)
  }

  @Test("undo deletes exactly the clone, and the dump equals the one before the clone")
  func undo() async throws {
    let (fixture, note, tag) = try CloneStore.notes()
    let client = CloneClient(fixture.store, allowsWrites: true)
    let path = "/clone/Note/\(note.serial)"
    let before = try fixture.lines()
    let target = try await client.follow(path, try form(await client.page(path)))
    #expect(try fixture.members(tag, "items").count == 6)
    let kept = try fixture.insert("Note", ["name": .string("inserted since")])
    let again = try await client.follow("\(path)/undo", try form(await client.page(target.path, target.query)))
    #expect(again == target)
    _ = try await fixture.store.write { tx in try tx.delete([kept]) }
    #expect(try fixture.lines() == before)
    let page = await client.page(target.path, target.query)
    #expect(page.contains("The clone no longer exists"))
    try fixture.expectClean()
    // A second click does nothing.
    _ = try await client.follow("\(path)/undo", [("key", "\(try #require(QueryItems(target.query)?["key"]))")])
    #expect(try fixture.lines() == before)
  }

  @Test("undo does not delete shared objects, whatever the delete rules")
  func undoWithCascade() async throws {
    let model = ManagedObjectModel("Cascade") {
      EntityDescription("Page") {
        RelationshipDescription(
          "style", toOne: "Style", inverse: "pages", inverseEntity: "Style", deleteRule: .cascade)
        RelationshipDescription("parts", toMany: "Part", inverse: "page", inverseEntity: "Part", deleteRule: .deny)
      }
      EntityDescription("Part") {
        RelationshipDescription("page", toOne: "Page", inverse: "parts", inverseEntity: "Page")
      }
      EntityDescription("Style") {
        RelationshipDescription("pages", toMany: "Page", inverse: "style", inverseEntity: "Page")
      }
    }
    let fixture = try CloneStore(model)
    let style = try fixture.insert("Style")
    let page = try fixture.insert("Page", [:], ["style": [style]])
    try fixture.insert("Part", [:], ["page": [page]])
    let before = try fixture.lines()
    let client = CloneClient(fixture.store, allowsWrites: true)
    let target = try await client.follow("/clone/Page/\(page.serial)", [("key", "k")])
    #expect(try fixture.count("Part") == 2)
    _ = try await client.follow("/clone/Page/\(page.serial)/undo", [("key", "k")])
    #expect(try fixture.lines() == before)
    #expect(target.path.hasSuffix("/result"))
    try fixture.expectClean()
  }

  @Test("a rollback to the automatic snapshot restores the dump")
  func rollback() async throws {
    let (fixture, note, _) = try CloneStore.notes()
    let client = CloneClient(fixture.store, allowsWrites: true)
    let before = try fixture.lines()
    let target = try await client.follow("/clone/Note/\(note.serial)", [("key", "k")])
    let name = try #require(try fixture.store.snapshots().first?.name)
    #expect(await client.page(target.path, target.query).contains("/rollback/\(name)"))
    try await fixture.store.rollback(toSnapshotNamed: name)
    #expect(try fixture.lines() == before)
  }

  @Test("when the explorer no longer knows the clone, its page leads to the rollback, which undoes it")
  func undoAfterRestart() async throws {
    let (fixture, note, _) = try CloneStore.notes()
    let client = CloneClient(fixture.store, allowsWrites: true)
    let before = try fixture.lines()
    let path = "/clone/Note/\(note.serial)"
    let target = try await client.follow(path, try form(await client.page(path)))
    let key = try #require(QueryItems(target.query)?["key"])
    #expect(CloneRecords.of(fixture.store).clones(key)?.span == 7)
    #expect(await client.page(target.path, target.query).contains("\(path)/undo"))
    let snapshot = try #require(try fixture.store.snapshots().first)
    #expect(snapshot.isAutomatic && snapshot.userInfo[CloneRun.keyName] == key)

    CloneRecords.of(fixture.store).remove(key)
    let page = await client.page(target.path, target.query)
    #expect(!page.contains("\(path)/undo") && page.contains("href=\"/rollback/\(snapshot.name)\""))
    let refused = await client.post("\(path)/undo", [("key", key)])
    #expect(refused.status == 404 && refused.content.contains("roll back to the snapshot before it"))
    #expect(await client.page("/rollback/\(snapshot.name)").contains("method=\"post\""))
    _ = try await client.follow("/rollback/\(snapshot.name)", [])
    #expect(try fixture.lines() == before)
    // The result of the rollback removed the clone, and with it its page.
    #expect([200, 404].contains(await client.get(target.path, target.query).status))
  }

  @Test("without the clone's objects and without its snapshot, the page names another way")
  func undoWithoutSnapshot() async throws {
    let (fixture, note, _) = try CloneStore.notes()
    let client = CloneClient(fixture.store, allowsWrites: true)
    let target = try await client.follow("/clone/Note/\(note.serial)", [("key", "k")])
    CloneRecords.of(fixture.store).remove("k")
    let name = try #require(try fixture.store.snapshots().first?.name)
    try await fixture.store.deleteSnapshot(named: name)
    let page = await client.page(target.path, target.query)
    #expect(page.contains("kvclone delete") && !page.contains("/rollback/"))
  }

  @Test("a clone of a single object needs no snapshot")
  func single() async throws {
    let fixture = try CloneStore(MOClonerModel.model)
    let tag = try fixture.insert("ToOneTag", ["name": .string("alone")])
    let client = CloneClient(fixture.store, allowsWrites: true)
    _ = try await client.follow("/clone/ToOneTag/\(tag.serial)", [("key", "k")])
    #expect(try fixture.count("ToOneTag") == 2)
    #expect(try fixture.store.snapshots().isEmpty)
  }

  @Test("a clone from a snapshot restores deleted objects")
  func fromSnapshot() async throws {
    let (fixture, note, _) = try CloneStore.notes()
    try await fixture.store.createSnapshot(named: "before")
    _ = try await fixture.store.write { tx in try tx.delete([note]) }
    let client = CloneClient(fixture.store, allowsWrites: true)
    let path = "/clone/Note/\(note.serial)"
    let target = try await client.follow(path, try form(await client.page(path, "at=before")), query: "at=before")
    #expect(try fixture.count("Note") == 1 && fixture.count("Item") == 3)
    #expect(await client.page(target.path, target.query).contains("/objects/Note/2\""))
  }
}
