import Foundation
import Testing

@Suite("kvclone: objects")
struct ObjectCommandTests {
  @Test("insert, get, set and delete")
  func lifecycle() throws {
    let scratch = try Scratch()
    try scratch.makeStore()
    let inserted = try scratch.succeed(
      "insert", "Note", "name=a \"b\" = c", "count=-5", "ratio=0.1", "flag=true", "price=12.50", "total:=7",
      "created=2021-11-15T08:10:00.25Z", "link=x:y", "id=e621e1f8-c36c-495a-93fc-0c247a3e6e5f",
      #"data:={"base64":"AP8="}"#, "size=NaN", "--json")
    #expect(try inserted.json() as? [String: String] == ["id": "Note/1"])
    let note = try scratch.succeed("get", "Note/1", "--json").json()
    #expect(note["id"] as? String == "Note/1")
    let attributes = try #require(note["attributes"] as? [String: Any])
    #expect(attributes["name"] as? String == "a \"b\" = c")
    #expect(attributes["count"] as? Int == -5)
    #expect(attributes["ratio"] as? Double == 0.1)
    #expect(attributes["flag"] as? Bool == true)
    #expect(attributes["price"] as? String == "12.5")
    #expect(attributes["total"] as? Int == 7)
    #expect(attributes["created"] as? String == "2021-11-15T08:10:00.25Z")
    #expect(attributes["id"] as? String == "E621E1F8-C36C-495A-93FC-0C247A3E6E5F")
    #expect(attributes["data"] as? [String: String] == ["base64": "AP8="])
    #expect(attributes["size"] as? String == "NaN")
    #expect(note["relationships"] as? [String: [String]] == [:])
    try scratch.succeed("set", "Note/1", "name:=null", "count=6")
    let changed = try scratch.succeed("get", "Note/1", "--json").json()
    // Written as null, because a missing name would be loaded as the default.
    let name = (changed["attributes"] as? [String: Any])?["name"]
    #expect(name == nil || name is NSNull)
    #expect((changed["attributes"] as? [String: Any])?["count"] as? Int == 6)
    #expect(try scratch.succeed("get", "Note/1").text.contains("count"))
    #expect(try scratch.succeed("delete", "Note/1", "--json").json()["deleted"] as? Int == 1)
    let gone = try scratch.tool("get", "Note/1", "--json")
    #expect(gone.code == 1)
    #expect(try gone.error()["kind"] as? String == "objectNotFound")
    #expect(try gone.error()["object"] as? String == "Note/1")
  }

  @Test("defaults apply to omitted properties, and null sets nil")
  func defaults() throws {
    let scratch = try Scratch()
    try scratch.makeStore()
    try scratch.succeed("insert", "Note")
    try scratch.succeed("insert", "Note", "name:=null")
    let list = try scratch.succeed("ls", "Note", "--json").json()
    let names = try #require(list["objects"] as? [[String: Any]]).map {
      ($0["attributes"] as? [String: String])?["name"]
    }
    #expect(names == ["unnamed", nil])
  }

  @Test(
    "errors are typed, name the property, and never show the value",
    arguments: [
      (["insert", "Nobody"], "unknownEntity", nil), (["insert", "Base"], "abstractEntity", nil),
      (["insert", "Note", "nonsense=secret"], "unknownProperty", "nonsense"),
      (["insert", "Note", "count=secret"], "wrongType", "count"),
      (["insert", "Note", "count=32768"], "outOfRange", "count"),
      (["insert", "Note", "created=secret"], "wrongType", "created"),
      (["insert", "Note", "id=secret"], "wrongType", "id"), (["insert", "Note", "price=secret"], "wrongType", "price"),
      (["insert", "Note", "data=secret"], "wrongType", "data"),
      (["insert", "Note", "name:=secret"], "wrongType", "name"),
      (["insert", "Item", "rank=101"], "valueTooLarge", "rank"), (["insert", "Tag"], "requiredValueMissing", "label"),
      (["insert", "Summary", "text=secret"], "requiredRelationshipMissing", "note"),
      (["set", "Tag/1", "label:=null"], "requiredValueMissing", "label"),
      (["set", "Tag/2", "label=a"], "uniquenessConflict", "label"),
      (["set", "Tag/99", "label=b"], "objectNotFound", nil), (["set", "Tag", "label=b"], "invalidObjectName", nil),
      (["get", "Nobody/1"], "unknownEntity", nil), (["ls", "Nobody"], "unknownEntity", nil),
      (["link", "Tag/1", "nonsense", "Tag/2"], "unknownProperty", "nonsense"),
      (["link", "Tag/1", "items", "Tag/2"], "wrongDestination", "items"),
      (["link", "Tag/1", "items", "Item/9"], "objectNotFound", nil),
    ] as [([String], String, String?)])
  func refusals(_ arguments: [String], _ kind: String, _ property: String?) throws {
    let scratch = try Scratch()
    try scratch.makeStore()
    try scratch.succeed("insert", "Tag", "label=a")
    try scratch.succeed("insert", "Tag", "label=z")
    let result = try scratch.run(["-s", scratch.store, "--json"] + arguments)
    #expect(result.code == 1)
    let error = try result.error()
    #expect(error["kind"] as? String == kind, "\(result.errors)")
    if let property { #expect(error["property"] as? String == property, "\(result.errors)") }
    #expect(!result.errors.contains("secret") && result.output.isEmpty)
    #expect(try scratch.succeed("info", "--json").json()["objects"] as? Int == 2)
  }

  @Test("link and unlink keep both sides and the order")
  func links() throws {
    let scratch = try Scratch()
    try scratch.makeStore()
    try scratch.succeed("insert", "Note")
    for _ in 0..<3 { try scratch.succeed("insert", "Item") }
    try scratch.succeed("link", "Note/1", "items", "Item/1", "Item/2")
    try scratch.succeed("link", "Note/1", "items", "Item/3", "--at", "0")
    #expect(try relationships("Note/1", scratch)["items"] as? [String] == ["Item/3", "Item/1", "Item/2"])
    #expect(try relationships("Item/2", scratch)["note"] as? String == "Note/1")
    try scratch.succeed("unlink", "Note/1", "items", "Item/1")
    #expect(try relationships("Note/1", scratch)["items"] as? [String] == ["Item/3", "Item/2"])
    #expect(try relationships("Item/1", scratch).isEmpty)
    try scratch.succeed("unlink", "Note/1", "items")
    #expect(try relationships("Note/1", scratch).isEmpty)
    try scratch.succeed("insert", "Note", "items=Item/2,Item/1")
    try scratch.succeed("link", "Item/2", "note", "Note/1")
    #expect(try relationships("Note/2", scratch)["items"] as? [String] == ["Item/1"])
    try scratch.succeed("set", "Note/2", #"items:=["Item/3","Item/1"]"#)
    #expect(try relationships("Note/2", scratch)["items"] as? [String] == ["Item/3", "Item/1"])
    #expect(try scratch.succeed("delete", "Note/2", "--json").json()["deleted"] as? Int == 3)
  }

  private func relationships(_ id: String, _ scratch: Scratch) throws -> [String: Any] {
    let object = try scratch.succeed("get", id, "--json").json()
    return try #require(object["relationships"] as? [String: Any])
  }

  @Test("get with depth nests linked objects, each once; URIs are names too")
  func depth() throws {
    let scratch = try Scratch()
    try scratch.makeStore()
    try scratch.succeed("insert", "Note")
    try scratch.succeed("insert", "Tag", "label=a")
    try scratch.succeed("insert", "Item", "note=Note/1", "tags=Tag/1")
    let note = try scratch.succeed("get", "Note/1", "--depth", "2", "--json").json()
    let item = try #require((note["objects"] as? [[String: Any]])?.first)
    #expect(item["id"] as? String == "Item/1")
    let below = try #require(item["objects"] as? [[String: Any]])
    #expect(below.compactMap { $0["id"] as? String } == ["Tag/1"])
    let uuid = try #require(try scratch.succeed("info", "--json").json()["store"] as? String)
    let byURI = try scratch.succeed("get", "x-kvclone://\(uuid)/Note/p1", "--json").json()
    #expect(byURI["id"] as? String == "Note/1")
  }

  @Test("ls lists sub-entities too, and stops at its limit")
  func list() throws {
    let scratch = try Scratch()
    try scratch.makeStore()
    for entity in ["Item", "Note", "Item", "Item"] { try scratch.succeed("insert", entity) }
    let all = try scratch.succeed("ls", "Base", "--json").json()
    #expect((all["objects"] as? [[String: Any]])?.count == 3)
    #expect(try scratch.succeed("ls", "Base", "--limit", "2").text.split(separator: "\n").count == 2)
    let none = try scratch.succeed("ls", "Base", "--limit", "0", "--json").json()
    #expect((none["objects"] as? [Any])?.isEmpty == true)
  }

  @Test("blobs of any size go in and come out")
  func blobs() throws {
    let scratch = try Scratch()
    try scratch.makeStore()
    try scratch.succeed("insert", "Note")
    let nothing = try scratch.tool("blob", "get", "Note/1", "data", "--json")
    #expect(nothing.code == 1)
    #expect(try nothing.error()["kind"] as? String == "noValue")
    for count in [0, 1, 1000, 100_000, 3_000_001] {
      let bytes = Data((0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31 ^ $0 >> 8) })
      try bytes.write(to: URL(fileURLWithPath: scratch.file("in.bin")))
      let put = try scratch.succeed("blob", "put", "Note/1", "data", scratch.file("in.bin"), "--json").json()
      #expect(put["size"] as? Int == count)
      #expect(try scratch.succeed("blob", "get", "Note/1", "data").output == bytes)
      try scratch.succeed("blob", "get", "Note/1", "data", "-o", scratch.file("out.bin"))
      #expect(try scratch.read("out.bin") == bytes)
    }
    #expect(try scratch.tool("blob", "put", "Note/1", "data", scratch.file("none")).code == 1)
    #expect(try scratch.tool("blob", "put", "Note/1", "name", scratch.file("in.bin")).code == 1)
    try scratch.succeed("blob", "put", "Note/1", "data", "-", input: "from stdin")
    #expect(try scratch.succeed("blob", "get", "Note/1", "data").text == "from stdin")
    try scratch.succeed("check", "--read-data")
  }
}
