import Foundation
import Testing

@Suite("kvclone: clone")
struct CloneCommandTests {
  private func filled() throws -> Scratch {
    let scratch = try Scratch()
    try scratch.makeStore()
    let lines = """
      {"id":"Note/1","attributes":{"name":"n","id":"E621E1F8-C36C-495A-93FC-0C247A3E6E5F"},"relationships":{"items":["Item/1","Item/2"],"summary":"Summary/1"}}
      {"id":"Item/1","attributes":{},"relationships":{"tags":["Tag/1"]}}
      {"id":"Item/2"}
      {"id":"Tag/1","attributes":{"label":"t"}}
      {"id":"Summary/1","attributes":{"text":"s"}}
      """
    try scratch.succeed("load", "-", input: lines)
    let bytes = Data(repeating: 7, count: 123_456)
    try bytes.write(to: URL(fileURLWithPath: scratch.file("image")))
    try scratch.succeed("blob", "put", "Note/1", "data", scratch.file("image"))
    return scratch
  }

  @Test("a clone tells what it did")
  func clone() throws {
    let scratch = try filled()
    let result = try scratch.succeed("clone", "Note/1", "--json").json()
    #expect(result["root"] as? String == "Note/2")
    #expect(result["roots"] as? [String] == ["Note/2"])
    #expect(result["objects"] as? Int == 4)
    #expect(result["counts"] as? [String: Int] == ["Item": 2, "Note": 1, "Summary": 1])
    #expect(result["touchedCount"] as? Int == 1)
    #expect(result["touched"] as? [String] == ["Tag/1"])
    #expect(result["blobsShared"] as? Int == 1)
    #expect(result["bytesShared"] as? Int == 123_456)
    #expect(result["bytesCopied"] as? Int == 0)
    #expect((result["bytesWritten"] as? Int ?? 0) > 0)
    #expect(result["seconds"] is Double)
    #expect(result["committed"] as? Bool == true)
    let note = try scratch.succeed("get", "Note/2", "--json").json()
    let relationships = try #require(note["relationships"] as? [String: Any])
    #expect(relationships["items"] as? [String] == ["Item/3", "Item/4"])
    #expect((note["attributes"] as? [String: Any])?["id"] as? String != "E621E1F8-C36C-495A-93FC-0C247A3E6E5F")
    try scratch.succeed("check", "--read-data")
    #expect(try scratch.succeed("clone", "Note/1").text == "Note/3\n")
  }

  @Test("a plan writes nothing, and says whether the clone would succeed")
  func dryRun() throws {
    let scratch = try filled()
    let before = try scratch.succeed("info", "--json").json()["commit"] as? Int
    let plan = try scratch.succeed("clone", "Note/1", "-n", "--json").json()
    #expect(plan["root"] == nil && plan["roots"] == nil)
    #expect(plan["committed"] as? Bool == false)
    #expect(plan["objects"] as? Int == 4)
    #expect((plan["errors"] as? [Any])?.isEmpty == true)
    let rule = try #require((plan["rules"] as? [[String: Any]])?.first)
    #expect(rule["entity"] is String && rule["property"] is String && rule["rule"] is String)
    let refused = try scratch.tool("clone", "Summary/1", "-n", "--exclude", "note", "--json")
    #expect(refused.code == 1)
    let error = try #require((try refused.json()["errors"] as? [[String: Any]])?.first)
    #expect(error["kind"] as? String == "requiredRelationshipExcluded")
    #expect(error["object"] as? String == "Summary/1")
    #expect(error["property"] as? String == "note")
    #expect(try scratch.succeed("clone", "Note/1", "-n").text.contains("4 objects"))
    #expect(try scratch.succeed("info", "--json").json()["commit"] as? Int == before)
  }

  @Test("options reach the clone")
  func options() throws {
    let scratch = try filled()
    for (arguments, objects) in [
      (["--exclude", "items"], 2), (["--exclude", "Note.items"], 2),
      (["--exclude", "items", "--passing-exclusions"], 2),
      (["--rule", "Note.items=skip"], 2), (["--blobs", "copy"], 4),
      (["--references", "keep"], 4), (["--rule-key", "exclude=leaveOut"], 4), (["--max-objects", "4"], 4),
    ] {
      let result = try scratch.run(["-s", scratch.store, "--json", "clone", "-n", "Note/1"] + arguments)
      #expect(result.code == 0, "\(arguments): \(result.errors)")
      #expect(try result.json()["objects"] as? Int == objects, "\(arguments)")
    }
    // A followed tag would be a second one with the same unique label.
    let followed = try scratch.tool("clone", "-n", "Note/1", "--rule", "Item.tags=follow", "--json")
    #expect(followed.code == 1)
    #expect(try followed.json()["objects"] as? Int == 5)
    let copied = try scratch.succeed("clone", "Note/1", "--blobs", "copy", "--json").json()
    #expect(copied["bytesCopied"] as? Int == 123_456 && copied["blobsShared"] as? Int == 0)
  }

  @Test(
    "refusals are typed, exit 1, and change nothing",
    arguments: [
      (["Note/9"], "objectNotFound"), (["Summary/1", "--exclude", "note"], "requiredRelationshipExcluded"),
      (["Note/1", "--exclude", "nonsense"], "unknownRelationship"),
      (["Note/1", "--max-objects", "3"], "limitExceeded"),
      (["Tag/1"], "uniquenessConflict"),
    ])
  func refusals(_ arguments: [String], _ kind: String) throws {
    let scratch = try filled()
    let before = try scratch.succeed("info", "--json").json()["commit"] as? Int
    let result = try scratch.run(["-s", scratch.store, "--json", "clone"] + arguments)
    #expect(result.code == 1)
    #expect(try result.error()["kind"] as? String == kind, "\(result.errors)")
    #expect(try scratch.succeed("info", "--json").json()["commit"] as? Int == before)
  }
}
