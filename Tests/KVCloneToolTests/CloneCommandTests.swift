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

  @Test("a clone reports its result")
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

  @Test("a clone with a key happens once, and says that it did")
  func idempotencyKey() throws {
    let scratch = try filled()
    let first = try scratch.succeed("clone", "Note/1", "--idempotency-key", "k", "--json").json()
    #expect(first["root"] as? String == "Note/2" && first["repeated"] == nil && first["deleted"] == nil)
    let again = try scratch.succeed("clone", "Note/1", "--idempotency-key", "k", "--json").json()
    #expect(again["repeated"] as? Bool == true && again["deleted"] as? [String] == [])
    #expect(again["roots"] as? [String] == ["Note/2"] && again["objects"] as? Int == 4)
    #expect(again["counts"] as? [String: Int] == ["Item": 2, "Note": 1, "Summary": 1])
    #expect(again["touched"] as? [String] == ["Tag/1"] && again["committed"] as? Bool == true)
    let text = try scratch.succeed("clone", "Note/1", "--idempotency-key", "k")
    #expect(text.text == "Note/2\n" && text.errors.contains("4 objects cloned then, none now"))
    let plan = try scratch.succeed("clone", "-n", "Note/1", "--idempotency-key", "k", "--json").json()
    #expect(plan["repeated"] as? Bool == true && plan["objects"] as? Int == 0)
    #expect(try scratch.succeed("clone", "-n", "Note/1", "--idempotency-key", "k").text.contains("would clone nothing"))
    let reused = try scratch.tool("clone", "Note/2", "--idempotency-key", "k", "--json")
    #expect(reused.code == 1)
    #expect(try reused.error()["kind"] as? String == "idempotencyKeyReused")
    try scratch.succeed("delete", "Note/2", "Summary/2")
    try scratch.succeed("delete", "Note/1", "Summary/1")
    let gone = try scratch.succeed("clone", "Note/1", "--idempotency-key", "k", "--json").json()
    #expect(gone["repeated"] as? Bool == true && gone["deleted"] as? [String] == ["Note/2"])
    #expect(try scratch.tool("clone", "Note/1", "--idempotency-key", "other").code == 1)
    for key in ["", String(repeating: "k", count: 256)] {
      #expect(try scratch.tool("clone", "Note/3", "--idempotency-key", key).code == 64)
    }
    try scratch.succeed("check")
  }

  @Test("clones have provenance, and a plan estimates the lock duration")
  func provenance() throws {
    let scratch = try filled()
    #expect(try scratch.succeed("clone", "Note/1", "-n", "--json").json()["lockSeconds"] is Double)
    #expect(try scratch.succeed("clone", "Note/1", "--provenance", "--json").json()["objects"] as? Int == 4)
    #expect(try scratch.tool("clone", "Note/1", "--count", "0").code == 64)
    try scratch.succeed("delete", "Item/3")
    try scratch.succeed("check", "--read-data")
  }

  @Test("an interrupt ends a clone that waits (130), and nothing is cloned")
  func interrupt() throws {
    let scratch = try filled()
    let holder = try LockHolder(scratch.store, label: "reindex")
    let refused = try scratch.tool("insert", "Item")
    #expect(refused.code == 11 && refused.errors.contains("process \(holder.pid), “reindex”, since 2"))
    let before = try scratch.succeed("info", "--json").json()["objects"] as? Int
    let clone = scratch.process(["--store", scratch.store, "clone", "Note/1", "--verbose"])
    let errors = Pipe()
    clone.standardError = errors
    clone.standardOutput = FileHandle.nullDevice
    try clone.run()
    var text = ""
    while !text.contains("clone: wait") {
      let data = errors.fileHandleForReading.availableData
      if data.isEmpty { break }
      text += String(decoding: data, as: UTF8.self)
    }
    clone.interrupt()
    clone.waitUntilExit()
    #expect(clone.terminationReason == .exit && clone.terminationStatus == 130, "\(text)")
    try holder.release()
    #expect(try scratch.succeed("info", "--json").json()["objects"] as? Int == before)
    try scratch.succeed("clone", "Note/1")
    try scratch.succeed("check")
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
    let plan = try scratch.succeed("clone", "-n", "Note/1", "--blobs", "copy").text
    #expect(plan.contains(", copy 123.5 kB, share 0 B, "), "\(plan)")
    let told = try scratch.run(["-s", scratch.store, "clone", "Note/1", "--blobs", "copy"])
    #expect(told.errors.contains(" written, 123.5 kB copied, 0 B shared, "), "\(told.errors)")
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

  @Test("several copies, and their provenance")
  func copies() throws {
    let scratch = try filled()
    let plan = try scratch.succeed("clone", "Note/1", "--count", "3", "-n", "--json").json()
    #expect(plan["objects"] as? Int == 12 && plan["lockSeconds"] is Double)
    let made = try scratch.succeed("clone", "Note/1", "--count", "3", "--provenance", "--json").json()
    #expect(made["roots"] as? [String] == ["Note/2", "Note/3", "Note/4"])
    #expect(made["root"] as? String == "Note/2" && made["objects"] as? Int == 12)
    #expect(made["counts"] as? [String: Int] == ["Item": 6, "Note": 3, "Summary": 3])
    #expect(try scratch.tool("clone", "Note/1", "--count", "0").code == 64)
    try scratch.succeed("check", "--read-data")
  }

  @Test("a plan is a tree, with the rule on each branch")
  func planTree() throws {
    let scratch = try filled()
    let text = try scratch.succeed("clone", "Note/1", "-n").text
    let lines = text.split(separator: "\n").map(String.init)
    for line in lines { #expect(line.count <= 80, "\(line)") }
    let start = try #require(lines.firstIndex(of: "Note/1"))
    func rule(_ branch: String, _ rule: String) -> Bool {
      lines[start...].contains { $0.contains(branch) && $0.hasSuffix(rule) }
    }
    #expect(rule("├ created", "rebuilt now (R16)") && rule("├ id ", "rebuilt uuid (R16)"), "\(text)")
    #expect(rule("├ items →→ Item × 2", "follow, the inverse is to-one (R7)"), "\(text)")
    #expect(rule("│ └ tags →→ Tag ", "share, the inverse is to-many (R6)"), "\(text)")
    #expect(rule("└ summary → Summary × 1", "(R7)"), "\(text)")
    #expect(rule("  └ note → Note × 1 (see above)", "(R7)"), "\(text)")
    #expect(lines.count { $0.contains("items →→") } == 1)
    // An exclusion of the root only does not apply to the same entity deeper in the graph.
    let excluded = try scratch.succeed("clone", "Note/1", "-n", "--exclude", "items").text
    #expect(excluded.contains("items →→ Item") && excluded.contains("excluded by the call (R5)"), "\(excluded)")
    #expect(!excluded.contains("items →→ Item ×"), "\(excluded)")
    let plan = try scratch.succeed("clone", "Note/1", "-n", "--json", "--exclude", "items").json()
    let branches = try #require(plan["branches"] as? [[String: Any]])
    let items = try #require(branches.first { $0["relationship"] as? String == "items" })
    #expect(items["rootAction"] as? String == "skip" && items["action"] as? String == "follow")
    #expect(
      items["rootRule"] as? String == "excluded by the call (R5)" && items["destinations"] as? [String] == ["Item"])
    let keyed = try scratch.succeed("clone", "Note/1", "-n", "--rule", "Item.tags=skip").text
    #expect(keyed.contains("skip, by the call (R7)"))
  }
}
