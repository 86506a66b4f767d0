import Foundation
import KVClone
import KVCloneOperations
import KVCloneTestSupport
import Testing

@testable import KVCloneExplorer

/// The page of an object shows each value exactly, and everything that leads to the object.
@Suite(.bounded) struct ObjectPageTests {
  @Test("Values of all types are exact")
  func exactValues() async throws {
    let fixture = try ObjectFixture()
    let key = try #require(UUID(uuidString: "6F9619FF-8B86-D011-B42D-00CF4FC964FF"))
    let id = try await fixture.insert(
      "Thing",
      [
        "title": "Values", "amount": .decimal(try #require(Decimal(string: "12345678901234567890.123456789"))),
        "ratio": .double(0.1 + 0.7), "small": .integer(-32768), "large": .integer(.max), "single": .float(0.1),
        "flag": .boolean(true), "created": .date(Date(timeIntervalSinceReferenceDate: 0.25)), "key": .uuid(key),
        "address": .uri("javascript:alert(1)"), "archive": .transformable(Data([1, 2, 3])),
        "place": .composite(["latitude": .double(47.5), "label": "Home"]),
      ])
    let page = try await fixture.get(try await fixture.path(id))
    #expect(page.status == 200)
    for text in [
      "12345678901234567890.123456789", "0.7999999999999999", "-32768", "9223372036854775807", ">0.1<", "true",
      "2001-01-01T00:00:00.25Z", "0.25 s since 2001-01-01", "6F9619FF-8B86-D011-B42D-00CF4FC964FF",
      "javascript:alert(1)", "Transformable by Archiver", "47.5", "Home", "latitude", "Integer 16",
    ] {
      #expect(page.text.contains(text), "\(text) is missing")
    }
    #expect(page.text.contains("01 02 03"))
    #expect(!page.text.contains("href=\"javascript:"))
  }

  @Test("Types, defaults, bounds, derived and transient attributes are marked")
  func model() async throws {
    let fixture = try ObjectFixture()
    let page = try await fixture.get(try await fixture.path(try await fixture.insert("Thing", ["title": "x"])))
    for text in [
      "required", "default untitled", "1 to 20000000 characters", "0.5 to 2.5", "derived", "parts.@count", "transient",
      "in memory only", "ordered to-many, to Part", "delete rule Cascade", "inverse whole",
    ] {
      #expect(page.text.contains(text), "\(text) is missing")
    }
  }

  @Test("Relationships appear in both directions, with names and in order")
  func bothDirections() async throws {
    let fixture = try ObjectFixture()
    let (thing, part) = try await fixture.store.write { tx in
      let thing = try tx.insert("Thing", ["title": "Whole"])
      var parts: [ObjectID] = []
      for name in ["first", "second", "third"] { parts.append(try tx.insert("Part", ["name": .string(name)])) }
      try tx.setMembers(thing, "parts", parts.reversed())
      for name in ["A", "B"] {
        let bookmark = try tx.insert("Bookmark", ["name": .string("Bookmark \(name)")])
        try tx.setToOne(bookmark, "target", thing)
      }
      return (thing, parts[0])
    }
    let page = try await fixture.get(try await fixture.path(thing))
    let order = ["third", "second", "first"].map { page.text.range(of: ">\($0)<")?.lowerBound }
    #expect(order.allSatisfy { $0 != nil } && order.compactMap { $0 } == order.compactMap { $0 }.sorted())
    #expect(
      page.text.contains("Bookmark.target") && page.text.contains("Bookmark A") && page.text.contains("Bookmark B"))
    let other = try await fixture.get(try await fixture.path(part))
    #expect(other.text.contains("Whole") && other.text.contains("/objects/Thing/1\""))
    #expect(other.text.contains("has an inverse"))
    let json = try await fixture.get(try await fixture.path(thing, ".json")).json()
    let incoming = try #require((json["incoming"] as? [[String: Any]])?.first)
    #expect(incoming["relationship"] as? String == "Bookmark.target")
    #expect(incoming["objects"] as? [String] == ["Bookmark/1", "Bookmark/2"])
    #expect((json["relationships"] as? [String: Any])?["parts"] as? [String] == ["Part/3", "Part/2", "Part/1"])
  }

  @Test("JSON has the attributes and relationships of the line in a dump")
  func jsonOfDump() async throws {
    let fixture = try ObjectFixture()
    let id = try await fixture.store.write { tx in
      let id = try tx.insert(
        "Thing",
        [
          "title": "Line \u{202E}\"<&", "amount": .decimal(3), "single": .float(.nan), "flag": .boolean(false),
          "created": .date(Date(timeIntervalSinceReferenceDate: 1e300)), "image": .binary(Data([0, 255])),
          "place": .composite(["label": "Home"]), "archive": .transformable(Data()),
        ])
      try tx.setMembers(id, "friends", [try tx.insert("Special", ["title": "Friend"])])
      return id
    }
    let line = try await fixture.store.read { tx in
      var writer = ObjectLineWriter(model: ObjectFixture.model)
      writer.json.beginObject()
      try writer.writeMembers(try tx.object(id), in: tx) { _ in }
      writer.json.endObject()
      return writer.json.text
    }
    let expected = try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? NSDictionary)
    let found = try await fixture.get(try await fixture.path(id, ".json")).json() as NSDictionary
    for member in ["id", "attributes", "relationships"] {
      #expect((found[member] as? NSObject) == (expected[member] as? NSObject), "\(member) differs")
    }
  }

  @Test("CSV has a row for each property")
  func csv() async throws {
    let fixture = try ObjectFixture()
    let id = try await fixture.insert("Thing", ["title": "a,\"b\"\nc"])
    let answer = try await fixture.get(try await fixture.path(id, ".csv"))
    #expect(answer.header("Content-Type") == "text/csv; charset=utf-8")
    #expect(answer.text.hasPrefix("kind,name,type,count,value\nattribute,title,String,,\"a,\"\"b\"\"\nc\"\n"))
    #expect(answer.text.contains("relationship,parts,Part,0,\n"))
    #expect(answer.text.contains("incoming,Bookmark.target,Thing,0,\n"))
  }

  @Test("An object has one URL: names of its super-entities and its URI redirect to it")
  func otherNames() async throws {
    let fixture = try ObjectFixture()
    let id = try await fixture.insert("Special", ["title": "Special"])
    let answer = try await fixture.get("/objects/Thing/\(id.serial)/text/title.json?offset=0")
    #expect(answer.status == 303)
    #expect(answer.header("Location") == "/objects/Special/\(id.serial)/text/title.json?offset=0")
    #expect(
      try await fixture.get("/objects/Special/0\(id.serial)").header("Location") == "/objects/Special/\(id.serial)")
  }

  @Test(arguments: [
    "/objects/Thing/99", "/objects/Unknown/1", "/objects/Part/1", "/objects/Special/1", "/objects/Thing/1/members/x",
    "/objects/Thing/1/referrers/Bookmark/other", "/objects/Thing/1/text/x", "/objects/Thing/1/unknown",
    "/objects/Thing/1/text/note", "/objects/Thing/99/raw",
  ])
  func missing(path: String) async throws {
    let fixture = try ObjectFixture()
    _ = try await fixture.insert("Thing", ["title": "x"])
    #expect(try await fixture.get(path).status == 404)
  }

  @Test(arguments: [
    "/objects/Thing/0", "/objects/Thing/x", "/objects/Thing/-1", "/objects/Thing/99999999999999999999",
    "/objects/Thing/1/text/title?offset=9999", "/objects/Thing/1/text/title?offset=-1", "/objects/Thing/1/text/small",
    "/objects/Thing/1/raw?offset=x", "/objects/Thing/1/raw?offset=-1", "/objects/Thing/1/history?before=x",
    "/objects/Thing/1/members/parts?after=x", "/objects/Thing/1/members/parts?after=",
    "/objects/Thing/1/members/parts?after=1.2.3.4", "/objects/Thing/1/members/parts?after=1.9223372036854775807",
    "/objects/Thing/1/members/parts?after=1.99999999999999.1",
  ])
  func malformed(path: String) async throws {
    let fixture = try ObjectFixture()
    _ = try await fixture.insert("Thing", ["title": "x"])
    #expect(try await fixture.get(path).status == 400)
  }

  @Test(
    "Any valid position in a list has a page",
    arguments: [
      "0.0", "18446744073709551615.5", "0.0.0", "18446744073709551615.4294967295.281474976710655",
    ])
  func anyPlace(place: String) async throws {
    let fixture = try ObjectFixture()
    let id = try await fixture.thing(parts: 300, friends: 40)
    for name in ["parts", "friends"] {
      #expect(try await fixture.get(try await fixture.path(id, "/members/\(name)?after=\(place)")).status == 200)
    }
  }

  @Test("Markup, control characters and marks of direction are text, in values and in names")
  func hostileValues() async throws {
    let hostile = "<script>alert(1)</script>\u{202E}\u{1B}[31m\"'&\0"
    let fixture = try ObjectFixture()
    let id = try await fixture.store.write { tx in
      let id = try tx.insert("Thing", ["title": .string(hostile), "note": .string(hostile), "address": .uri(hostile)])
      try tx.setMembers(id, "parts", [try tx.insert("Part", ["name": .string(hostile)])])
      try tx.setToOne(try tx.insert("Bookmark", ["name": .string(hostile)]), "target", id)
      try tx.set(id, "image", .binary(Data(hostile.utf8)))
      return id
    }
    for rest in ["", "/members/parts", "/referrers/Bookmark/target", "/text/note", "/bytes/note", "/raw", "/history"] {
      let page = try await fixture.get(try await fixture.path(id, rest))
      #expect(page.status == 200)
      #expect(!page.text.contains("<script>alert") && !page.text.contains("\u{202E}") && !page.text.contains("\u{1B}"))
      #expect(!page.bytes.contains(0))
    }
  }

  @Test("A text of 10 MB is cut on the page, and in JSON")
  func longText() async throws {
    let fixture = try ObjectFixture()
    let text = String(repeating: "Zeile mit Käse 🧀\n", count: 500_000)
    let id = try await fixture.insert("Thing", ["title": .string(text)])
    let page = try await fixture.get(try await fixture.path(id))
    #expect(page.status == 200 && page.bytes.count < 100_000)
    #expect(page.text.contains("/text/title") && page.text.contains("Full text"))
    let json = try await fixture.get(try await fixture.path(id, ".json"))
    #expect(json.bytes.count < 100_000)
    let title = try #require((try json.json()["attributes"] as? [String: Any])?["title"] as? [String: Any])
    #expect(title["size"] as? Int == text.utf8.count)
    let whole = try await fixture.get(try await fixture.path(id, "/blob/title"))
    #expect(whole.bytes == Array(text.utf8))
  }

  @Test("The parts of a long text are the whole text")
  func partsOfText() async throws {
    let fixture = try ObjectFixture()
    let text = String(repeating: "Zeile mit Käse 🧀\n", count: 50_000)
    let id = try await fixture.insert("Thing", ["title": "x", "note": .string(text)])
    var next: String? = try await fixture.path(id, "/text/note.json")
    var found = ""
    var count = 0
    while let path = next, count < 100 {
      let part = try await fixture.get(path)
      #expect(part.bytes.count < 300_000)
      let json = try part.json()
      found += try #require(json["text"] as? String)
      next = (json["next"] as? String).map { $0.replacing("/text/note?", with: "/text/note.json?") }
      count += 1
    }
    #expect(found == text && count > 10)
  }

  @Test("Parts of a text show its lines with their numbers")
  func lines() async throws {
    let fixture = try ObjectFixture()
    let id = try await fixture.insert("Thing", ["title": "x", "note": "one\r\ntwo\n<three>"])
    let page = try await fixture.get(try await fixture.path(id, "/text/note"))
    #expect(page.text.contains("<li>one</li><li>two</li><li>&lt;three&gt;</li>"))
    let rest = try await fixture.get(try await fixture.path(id, "/text/note?offset=5&line=2"))
    #expect(rest.text.contains("start=\"2\"") && rest.text.contains("<li>two</li>") && !rest.text.contains("<li>one"))
  }
}

extension ObjectFixture {
  /// Inserts a `Thing` with members in chunks.
  func thing(parts: Int, friends: Int = 0, bookmarks: Int = 0) async throws -> ObjectID {
    try await store.write { tx in
      let thing = try tx.insert("Thing", ["title": "Whole"])
      var members: [ObjectID] = []
      for number in 0..<parts { members.append(try tx.insert("Part", ["name": .string("Part \(number)")])) }
      try tx.setMembers(thing, "parts", members.reversed())
      members = []
      for number in 0..<friends { members.append(try tx.insert("Thing", ["title": .string("Friend \(number)")])) }
      try tx.setMembers(thing, "friends", members)
      for number in 0..<bookmarks {
        let bookmark = try tx.insert("Bookmark", ["name": .string("Bookmark \(number)")])
        try tx.setToOne(bookmark, "target", thing)
      }
      return thing
    }
  }
}

/// Names of a model can contain anything except spaces, control characters, and a few separators.
@Suite(.bounded) struct HostileNameTests {
  private static let names = ["<b>&\"'", "a\\b", "~", "x?y#%+", "\u{202E}evil", "späße"]

  private static let model = ManagedObjectModel("Names") {
    EntityDescription("En<i>tity\u{202E}") {
      for name in names { AttributeDescription(name, .binary) }
      RelationshipDescription("to<u>many", toMany: "En<i>tity\u{202E}")
    }
  }

  @Test("Pages of hostile names have links that lead to their values, and no markup")
  func names() async throws {
    let fixture = try ObjectFixture(Self.model)
    let entity = "En<i>tity\u{202E}"
    let id = try await fixture.store.write { tx in
      let id = try tx.insert(
        entity, Dictionary(uniqueKeysWithValues: Self.names.map { ($0, .binary(Data($0.utf8))) }))
      try tx.setMembers(id, "to<u>many", [id])
      return id
    }
    let start = "/objects/\(PathSegment.encode(entity))/\(id.serial)"
    let page = try await fixture.get(start)
    #expect(page.status == 200)
    for mark in ["<b>&\"", "<i>", "<u>", "\u{202E}"] { #expect(!page.text.contains(mark), "\(mark)") }
    for name in Self.names {
      let path = "\(start)/blob/\(PathSegment.encode(name))"
      #expect(page.text.contains("href=\"\(path)?download=1\""), "\(name)")
      let answer = try await fixture.get(path + "?download=1")
      #expect(answer.status == 200 && answer.text == name)
      let file = try #require(answer.header("Content-Disposition"))
      #expect(file.wholeMatch(of: /attachment; filename="[A-Za-z0-9.-]+"/) != nil, "\(file)")
    }
    let members = "\(start)/members/\(PathSegment.encode("to<u>many"))"
    #expect(try await fixture.get(members).status == 200)
    let referrers = "\(start)/referrers/\(PathSegment.encode(entity))/\(PathSegment.encode("to<u>many"))"
    #expect(try await fixture.get(referrers).status == 200)
  }
}
