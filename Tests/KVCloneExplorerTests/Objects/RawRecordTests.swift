import Foundation
import KVClone
import KVCloneCore
import KVCloneRecords
import KVCloneTestSupport
import Testing

@testable import KVCloneExplorer

/// The stored bytes of a record, readable or not.
@Suite(.bounded) struct RawRecordTests {
  @Test("Every byte of a record belongs to exactly one part, with its decoded value")
  func parts() async throws {
    let fixture = try ObjectFixture()
    let id = try await fixture.store.write { tx in
      let id = try tx.insert(
        "Thing",
        [
          "title": "Käse", "small": .integer(7), "image": .binary(Data(ObjectFixture.noise(5000))),
          "amount": .decimal(12.5), "flag": .boolean(true),
        ])
      try tx.setMembers(id, "parts", [try tx.insert("Part"), try tx.insert("Part")])
      return id
    }
    let json = try await fixture.get(try await fixture.path(id, "/raw.json")).json()
    let parts = try #require(json["parts"] as? [[String: Any]])
    var end = 0
    for part in parts {
      #expect(part["offset"] as? Int == end, "\(part)")
      end += try #require(part["bytes"] as? Int)
    }
    #expect(end == json["size"] as? Int)
    #expect((json["hex"] as? String)?.count == 2 * end)
    #expect(json["isIntact"] as? Bool == true && json["problem"] is NSNull)
    #expect(json["id"] as? String == "Thing/1" && json["table"] as? String == "objects-\(hexCode(id))")
    let values = Dictionary(
      parts.map { ($0["part"] as? String ?? "", $0["value"] as? String ?? "") }, uniquingKeysWith: { first, _ in first }
    )
    #expect(values["small"] == "7" && values["amount"] == "12.5" && values["flag"] == "true")
    #expect(values["title: bytes"] == "Käse" && values["note: end offset"] == "nil" && values["key"] == "nil")
    #expect(values["image: blob reference"] == "blob 1, 5000 bytes" && values["image: end offset"] == "a blob")
    #expect(values["parts: list"] == "2 (in the record)" && values["parts: members"] == "Part/1 Part/2")
    let blob = try #require((json["blobs"] as? [[String: Any]])?.first)
    #expect(blob["attribute"] as? String == "image" && blob["size"] as? Int == 5000 && blob["references"] as? Int == 1)
    let page = try await fixture.get(try await fixture.path(id, "/raw"))
    #expect(page.text.contains("title: bytes") && page.text.contains("valid"))
  }

  private func hexCode(_ id: ObjectID) -> String {
    let text = String(id.rootCode, radix: 16)
    return String(repeating: "0", count: 4 - text.count) + text
  }

  @Test("A large record comes in parts, with all of its bytes")
  func windows() async throws {
    let fixture = try ObjectFixture()
    let id = try await fixture.insert("Thing", ["title": "x", "note": .string(String(repeating: "abc", count: 5000))])
    var next: String? = try await fixture.path(id, "/raw.json")
    var hex = ""
    var size = 0
    while let path = next, hex.count < 100_000 {
      let json = try await fixture.get(path).json()
      hex += try #require(json["hex"] as? String)
      size = try #require(json["size"] as? Int)
      next = (json["next"] as? String).map { $0.replacing("/raw?", with: "/raw.json?") }
    }
    #expect(hex.count == 2 * size && size > 15_000)
    #expect(hex.contains("616263616263"))
  }

  @Test("A corrupted record is shown with the reason; the page of the object fails with it")
  func corrupted() async throws {
    let fixture = try ObjectFixture()
    let id = try await fixture.insert("Thing", ["title": "x"])
    let path = try await fixture.path(id)
    let table = try #require(fixture.store.schema.objectTable(rootCode: id.rootCode))
    for bytes: [UInt8] in [Array(repeating: 0xAB, count: 60), [1, 2, 3], Array(repeating: 0, count: 24)] {
      try fixture.store.overwrite(table, ShortKey.object(id).array, bytes)
      let page = try await fixture.get(path + "/raw")
      #expect(page.status == 200 && page.text.contains("wrong") && page.text.contains("corrupted"))
      let json = try await fixture.get(path + "/raw.json").json()
      #expect(json["isIntact"] as? Bool == false && json["size"] as? Int == bytes.count)
      #expect(json["hex"] as? String == Hex.text(bytes))
      #expect(try await fixture.get(path).status == 500)
    }
  }

  @Test("An object with a corrupted member shows the others")
  func corruptedMember() async throws {
    let fixture = try ObjectFixture()
    let id = try await fixture.thing(parts: 3)
    let part = try await fixture.store.read { tx in try tx.objectID(named: "Part/2") }
    let table = try #require(fixture.store.schema.objectTable(rootCode: part.rootCode))
    try fixture.store.overwrite(table, ShortKey.object(part).array, [1, 2, 3, 4])
    let page = try await fixture.get(try await fixture.path(id))
    #expect(page.status == 200 && page.text.contains("unreadable"))
    #expect(page.text.contains("Part/1<") && page.text.contains("Part/3<"))
  }

  @Test("An object with a lost blob shows its other values")
  func lostBlob() async throws {
    let fixture = try ObjectFixture()
    let id = try await fixture.insert(image: ObjectFixture.noise(5000))
    let blobs = fixture.store.schema.tables.blobs
    let chunk = ShortKey.blobChunk(1, chunk: 0).array
    try fixture.store.overwrite(blobs, chunk, [UInt8](repeating: 9, count: 5008))
    let page = try await fixture.get(try await fixture.path(id))
    #expect(page.status == 200 && page.text.contains("With an image") && page.text.contains("unreadable"))
    #expect(try await fixture.get(try await fixture.path(id, "/blob/image")).status == 500)
  }
}
