import Foundation
import KVClone
import KVCloneTestSupport
import Testing

@testable import KVCloneExplorer

/// The changes of an object, its source, and its neighbours.
@Suite(.bounded) struct ObjectHistoryTests {
  @Test("Changes of the object, latest first, without those of others")
  func changes() async throws {
    let fixture = try ObjectFixture(options: .tracking(author: "Nina <b>"))
    let id = try await fixture.insert("Thing", ["title": "one"])
    for number in 0..<5 { _ = try await fixture.insert("Part", ["name": .string("\(number)")]) }
    try await fixture.store.write { tx in
      tx.operation = "rename"
      try tx.set(id, "title", "two")
    }
    try await fixture.store.write { tx in
      try tx.set(id, "place", .composite(["label": "Home"]))
      try tx.setMembers(id, "parts", [try tx.objectID(named: "Part/1")])
    }
    let json = try await fixture.get(try await fixture.path(id, "/history.json")).json()
    let changes = try #require(json["changes"] as? [[String: Any]])
    #expect(changes.map { $0["kind"] as? String } == ["updated", "updated", "inserted"])
    #expect(changes.map { $0["operation"] as? String } == ["", "rename", ""])
    #expect(changes[1]["properties"] as? [String] == ["title"])
    let latest = try #require(changes[0]["properties"] as? [String])
    #expect(latest.contains("parts") && latest.contains("place.label"))
    #expect(json["tracksHistory"] as? Bool == true)
    let page = try await fixture.get(try await fixture.path(id, "/history"))
    #expect(page.text.contains("rename") && page.text.contains("Nina &lt;b&gt;"))
  }

  @Test("Without a history, the page shows how to record one")
  func disabled() async throws {
    let fixture = try ObjectFixture()
    let id = try await fixture.insert("Thing", ["title": "one"])
    let page = try await fixture.get(try await fixture.path(id, "/history"))
    #expect(page.status == 200 && page.text.contains("kvclone history --on"))
    #expect(try await fixture.get(try await fixture.path(id)).text.contains("kvclone history --on"))
    #expect(
      try await fixture.get(try await fixture.path(id, "/history.json")).json()["tracksHistory"] as? Bool == false)
  }

  @Test("More changes than a page are found by its link")
  func manyChanges() async throws {
    let fixture = try ObjectFixture(options: .tracking())
    let id = try await fixture.insert("Thing", ["title": "0"])
    for number in 1...70 { try await fixture.store.write { tx in try tx.set(id, "small", .integer(Int64(number))) } }
    var next: String? = try await fixture.path(id, "/history.json")
    var kinds: [String] = []
    var pages = 0
    while let path = next, pages < 5 {
      let json = try await fixture.get(path).json()
      kinds += try #require(json["changes"] as? [[String: Any]]).compactMap { $0["kind"] as? String }
      next = (json["next"] as? String).map { $0.replacing("/history?", with: "/history.json?") }
      pages += 1
    }
    #expect(kinds == Array(repeating: "updated", count: 70) + ["inserted"] && pages == 2)
  }

  @Test("Any commit is a valid position in the history", arguments: ["0", "1", "18446744073709551615"])
  func anyPlace(commit: String) async throws {
    let fixture = try ObjectFixture(options: .tracking())
    let id = try await fixture.insert("Thing", ["title": "0"])
    #expect(try await fixture.get(try await fixture.path(id, "/history?before=\(commit)")).status == 200)
  }

  @Test("A clone shows its source, also after that was deleted")
  func provenance() async throws {
    let fixture = try ObjectFixture()
    let id = try await fixture.insert("Thing", ["title": "Source"])
    let clone = try await fixture.store.write { tx in
      var options = CloneOptions()
      options.recordsProvenance = true
      return try #require(try tx.clone([id], options: options).roots.first)
    }
    let page = try await fixture.get(try await fixture.path(clone))
    #expect(page.text.contains("Clone of") && page.text.contains("href=\"/objects/Thing/\(id.serial)\""))
    let json = try await fixture.get(try await fixture.path(clone, ".json")).json()
    #expect((json["provenance"] as? [String: Any])?["source"] as? String == "Thing/\(id.serial)")
    try await fixture.store.write { tx in _ = try tx.delete(id) }
    let later = try await fixture.get(try await fixture.path(clone))
    #expect(later.status == 200 && later.text.contains("deleted"))
  }

  @Test("Neighbours are the nearest objects of the root entity")
  func neighbours() async throws {
    let fixture = try ObjectFixture()
    let ids = try await fixture.store.write { tx in
      var ids: [ObjectID] = []
      for entity in ["Thing", "Thing", "Special", "Thing"] { ids.append(try tx.insert(entity, ["title": "x"])) }
      _ = try tx.delete(ids[1])
      return ids
    }
    let json = try await fixture.get(try await fixture.path(ids[2], ".json")).json()
    #expect(json["previous"] as? String == "Thing/1" && json["next"] as? String == "Thing/4")
    let first = try await fixture.get(try await fixture.path(ids[0], ".json")).json()
    #expect(first["previous"] is NSNull && first["next"] as? String == "Special/3")
    let page = try await fixture.get(try await fixture.path(ids[3]))
    #expect(page.text.contains("rel=\"prev\"") && !page.text.contains("rel=\"next\""))
  }

  @Test("The states of an object are its snapshots, and its comparisons with them")
  func snapshots() async throws {
    let fixture = try ObjectFixture()
    let id = try await fixture.insert("Thing", ["title": "then"])
    try await fixture.store.createSnapshot(named: "before")
    try await fixture.store.write { tx in try tx.set(id, "title", "now") }
    let path = try await fixture.path(id)
    let page = try await fixture.get(path)
    #expect(page.text.contains("/compare/Thing/1?from=before") && page.text.contains(">now<"))
    let past = try await fixture.get(path + "?at=before")
    #expect(past.text.contains(">then<") && past.text.contains("/objects/Thing/1/raw?at=before"))
    #expect(try await fixture.get(path + "?at=never").status == 404)
  }
}
