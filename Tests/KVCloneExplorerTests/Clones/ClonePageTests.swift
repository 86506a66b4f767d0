import Foundation
import KVClone
import KVCloneTestSupport
import Testing

@testable import KVCloneExplorer

@Suite("Explorer: clone previews", .bounded)
struct ClonePageTests {
  /// The objects in the tree of a JSON document.
  private func objects(_ document: [String: Any]) -> Set<String> {
    Set((document["tree"] as? [[String: Any]] ?? []).compactMap { $0["object"] as? String })
  }

  /// The links of an object in a JSON document, as `object outcome`.
  private func links(_ document: [String: Any], _ object: String, _ relationship: String) -> [String] {
    let node = (document["tree"] as? [[String: Any]])?.first { $0["object"] as? String == object }
    let edge = (node?["edges"] as? [[String: Any]])?.first { $0["relationship"] as? String == relationship }
    return (edge?["links"] as? [[String: String]] ?? []).map { "\($0["object"] ?? "") \($0["outcome"] ?? "")" }
  }

  @Test("the JSON document has the fields of the tool's plan, the tree and the links gained")
  func document() async throws {
    let (fixture, note, _) = try CloneStore.notes()
    let document = try await CloneClient(fixture.store).json("/clone/Note/\(note.serial)")
    let plan = try fixture.store.planClone([note])
    #expect(document["objects"] as? Int == plan.objectCount)
    #expect(document["counts"] as? [String: Int] == plan.counts)
    #expect(document["bytesShared"] as? Int == 5000)
    #expect(document["bytesWritten"] as? Int == Int(plan.bytesWritten))
    #expect(document["committed"] as? Bool == false)
    #expect(document["errorCount"] as? Int == 0)
    #expect((document["branches"] as? [Any])?.count == plan.branches.count)
    #expect(document["touched"] as? [String] == ["ToOneTag/1"])
    let gains = try #require(document["gains"] as? [[String: Any]])
    #expect(gains.count == 1 && gains[0]["object"] as? String == "ToOneTag/1" && gains[0]["links"] as? Int == 3)
    #expect(objects(document).count == 7)
    #expect(links(document, "Item/1", "toOneTag") == ["ToOneTag/1 shared"])
    #expect(links(document, "Item/1", "note") == ["Note/1 repeated"])
    #expect(links(document, "Note/1", "items") == ["Item/1 cloned", "Item/2 cloned", "Item/3 cloned"])
  }

  @Test("the CSV has a row for each link of the tree")
  func rows() async throws {
    let (fixture, note, _) = try CloneStore.notes(items: 1)
    let text = await CloneClient(fixture.store).page("/clone/Note/\(note.serial).csv")
    let lines = text.split(separator: "\n")
    #expect(lines.first == "from,relationship,to,action,outcome,rule,order")
    #expect(lines.contains { $0.hasPrefix("Note/1,items,Item/1,follow,cloned,") })
    #expect(lines.contains { $0.hasPrefix("Item/1,toOneTag,ToOneTag/1,share,shared,") })
  }

  @Test(
    "every option changes the plan and the tree as it changes the clone",
    arguments: [
      "exclude=items", "exclude=note&passing=1", "exclude=Item.toOneTag", "rule=Note.items%3Dreference",
      "rule=Item.toOneTag%3Dfollow", "rule=Note.memos%3Dskip", "count=3", "references=keep&rule=Note.memos%3Dreference",
      "blobs=copy", "provenance=1", "key-followParent=unused",
    ])
  func options(query: String) async throws {
    let (fixture, note, _) = try CloneStore.notes()
    let client = CloneClient(fixture.store)
    let form = try CloneForm(try #require(QueryItems(query)))
    #expect(QueryItems(query)?.items.count == form.items.count, "each item is an option that differs")
    let document = try await client.json("/clone/Note/\(note.serial)", query)
    let standard = try await client.json("/clone/Note/\(note.serial)")
    let differs = ["tree", "bytesWritten", "bytesCopied", "objects", "rules", "branches", "errors"].contains { name in
      "\(document[name] ?? "")" != "\(standard[name] ?? "")"
    }
    #expect(differs)
    guard document["errorCount"] as? Int == 0 else {
      await #expect(throws: CloneError.self) { try await fixture.store.clone([note], options: form.options) }
      return
    }
    let result = try await fixture.store.clone([note], options: form.options)
    #expect(document["objects"] as? Int == result.objectCount)
    #expect(document["bytesWritten"] as? Int == Int(result.bytesWritten))
    #expect(document["bytesCopied"] as? Int == Int(result.bytesCopied))
    #expect(objects(document).count * form.options.count == result.objectCount)
  }

  @Test(
    "limits, unknown names and conflicts are errors in place",
    arguments: [
      ("max-objects=2", "limitExceeded"), ("max-depth=0", "limitExceeded"), ("max-bytes=10", "limitExceeded"),
      ("exclude=nothing", "unknownRelationship"), ("rule=Nothing.x%3Dskip", "unknownEntity"),
      ("key-exclude=same&key-rebuild=same", "invalidConfiguration"),
    ])
  func errors(query: String, kind: String) async throws {
    let (fixture, note, _) = try CloneStore.notes()
    let client = CloneClient(fixture.store, allowsWrites: true)
    let document = try await client.json("/clone/Note/\(note.serial)", query)
    #expect((document["errors"] as? [[String: Any]])?.first?["kind"] as? String == kind)
    let page = await client.page("/clone/Note/\(note.serial)", query)
    #expect(page.contains(kind) && page.contains("role=\"alert\""))
    #expect(!page.contains("method=\"post\""), "a clone that would fail has no button")
  }

  @Test("an error is shown at its object in the tree")
  func errorAtObject() async throws {
    let model = ManagedObjectModel("Unique") {
      EntityDescription("Box") {
        RelationshipDescription("labels", toMany: "Label", inverse: "box", inverseEntity: "Label")
      }
      EntityDescription("Label", unique: [["code"]]) {
        AttributeDescription("code", .string)
        RelationshipDescription("box", toOne: "Box", inverse: "labels", inverseEntity: "Box")
      }
    }
    let fixture = try CloneStore(model)
    let box = try fixture.insert("Box")
    try fixture.insert("Label", ["code": .string("<b>")], ["box": [box]])
    let page = await CloneClient(fixture.store).page("/clone/Box/\(box.serial)")
    #expect(page.contains("uniquenessConflict"))
    #expect(page.contains("&lt;b&gt;") && !page.contains("<b>"))
    let tree = try #require(page.range(of: "class=\"tree\""))
    #expect(page[tree.upperBound...].contains("uniquenessConflict"))
  }

  @Test(
    "malformed options are refused",
    arguments: ["count=0", "count=x", "count=99999999", "blobs=burn", "rule=a", "max-depth=-1", "rule.Note.items=x"])
  func malformed(query: String) async throws {
    let (fixture, note, _) = try CloneStore.notes(items: 1)
    #expect(await CloneClient(fixture.store).get("/clone/Note/\(note.serial)", query).status == 400)
  }

  @Test("a missing object, a wrong name and a missing snapshot are not found")
  func missing() async throws {
    let (fixture, note, _) = try CloneStore.notes(items: 1)
    let client = CloneClient(fixture.store)
    #expect(await client.get("/clone/Note/999").status == 404)
    #expect(await client.get("/clone/Nothing/1").status == 404)
    #expect(await client.get("/clone/Note/\(note.serial)", "at=nothing").status == 404)
    #expect(await client.get("/clone/Note/\(note.serial)", "open=Item/999").status == 404)
  }

  @Test("an object that is not part of the clone is not in its tree")
  func outside() async throws {
    let (fixture, note, _) = try CloneStore.notes(items: 1)
    let page = await CloneClient(fixture.store).page("/clone/Note/\(note.serial)", "open=ToOneTag/1")
    #expect(page.contains("does not contain this object"))
  }

  @Test("the form leads to the URL of its options, and shows them")
  func form() async throws {
    let (fixture, note, _) = try CloneStore.notes(items: 1)
    let client = CloneClient(fixture.store)
    let query =
      "form=1&from=&exclude=memos&rule.Item.toOneTag=follow&rule.Note.items=&count=2&references=remap&max-depth="
    let response = await client.get("/clone/Note/\(note.serial)", query)
    #expect(response.status == 303)
    let target = URLParts(try #require(response.headers.first { $0.name == "Location" }?.value))
    #expect(target.query == "exclude=memos&rule=Item.toOneTag%3Dfollow&count=2")
    let page = await client.page(target.path, target.query)
    #expect(page.contains("name=\"exclude\" value=\"memos\" checked"))
    #expect(page.contains("name=\"count\" type=\"number\" value=\"2\""))
  }

  @Test("a clone from a snapshot shows the objects of the snapshot, and links that are no longer possible")
  func snapshot() async throws {
    let (fixture, note, tag) = try CloneStore.notes()
    try await fixture.store.createSnapshot(named: "before")
    _ = try await fixture.store.write { tx in try tx.delete([note, tag]) }
    let client = CloneClient(fixture.store)
    let document = try await client.json("/clone/Note/\(note.serial)", "at=before")
    #expect(objects(document).count == 7)
    #expect(links(document, "Item/1", "toOneTag") == ["ToOneTag/1 missing"])
    let page = await client.page("/clone/Note/\(note.serial)", "at=before")
    #expect(page.contains("no longer exists") && page.contains("at=before"))
  }

  @Test("a plan that takes too long is stopped with a remedy, and still answers")
  func slow() async throws {
    let (fixture, note, _) = try CloneStore.notes(items: 1)
    let preview = try ClonePreview.of(
      [note], in: fixture.store, from: nil, options: CloneOptions(), window: CloneTree.Window(),
      deadline: .now - .seconds(1))
    #expect(preview.plan == nil && preview.tree.isStopped)
    let content = ClonePreviewContent(
      root: DisplayName(entity: "Note", serial: note.serial), path: [], form: CloneForm(), preview: preview, names: [:],
      top: nil, list: nil, snapshots: [], affected: [])
    let json = JSONWriter.object { ClonePage(content).write(to: &$0) }
    #expect(json.contains("\"complete\":false"))
  }

  @Test("a read-only explorer shows no form that writes, and refuses clones")
  func readOnly() async throws {
    let (fixture, note, _) = try CloneStore.notes(items: 1)
    let client = CloneClient(fixture.store)
    let (lines, path) = (try fixture.lines(), "/clone/Note/\(note.serial)")
    #expect(await !client.page(path).contains("method=\"post\""))
    #expect(await client.post(path, [("key", "k")]).status == 403)
    #expect(await client.post("\(path)/undo", [("key", "k")]).status == 403)
    #expect(try fixture.lines() == lines)
  }
}
