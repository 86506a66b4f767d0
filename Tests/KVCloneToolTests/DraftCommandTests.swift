import Foundation
import Testing

@Suite("kvclone: drafts")
struct DraftCommandTests {
  /// Creates a store with a note with an item, and a draft of it: `Note/2` with `Item/2`.
  private func drafted() throws -> Scratch {
    let scratch = try Scratch()
    try scratch.makeStore()
    try scratch.succeed("insert", "Note", "name=a", "count=1")
    try scratch.succeed("insert", "Item", "name=item", "note=Note/1")
    let clone = try scratch.succeed("clone", "Note/1", "--keeps-base", "--expires", "2101-02-03", "--json").json()
    #expect(clone["root"] as? String == "Note/2" && clone["objects"] as? Int == 2)
    return scratch
  }

  @Test("a draft is listed, planned and merged, and its clones are gone")
  func merge() throws {
    let scratch = try drafted()
    let unchanged = try #require(
      (try scratch.succeed("merge", "--list", "--json").json()["drafts"] as? [[String: Any]])?.first)
    #expect(unchanged["roots"] as? [String] == ["Note/2"] && unchanged["sources"] as? [String] == ["Note/1"])
    #expect(unchanged["changed"] as? Bool == false && unchanged["objects"] as? Int == 2)
    #expect(unchanged["expires"] as? String == "2101-02-03T00:00:00Z" && unchanged["retainedBytes"] is Int)
    let bases = try scratch.succeed("snapshot", "list", "--all", "--json").json()["snapshots"] as? [Any]
    #expect(bases?.count == 1)
    #expect(try scratch.succeed("snapshot", "list").text == "no snapshots\n")

    try scratch.succeed("set", "Note/2", "name=b")
    try scratch.succeed("insert", "Item", "name=more", "note=Note/2")
    try scratch.succeed("set", "Note/1", "count=7")
    let lines = try scratch.succeed("merge", "--list").text.split(separator: "\n")
    #expect(lines.count == 2 && lines[0].hasPrefix("DRAFT") && lines[1].contains("yes"))
    #expect(try scratch.succeed("merge", "Note/2", "-n").text.contains("M Note/1\n"))
    let merged = try scratch.succeed("merge", "Note/2", "--json").json()
    #expect(merged["merged"] as? Bool == true && merged["snapshots"] is [String])
    let note = try scratch.succeed("get", "Note/1", "--json").json()
    let attributes = try #require(note["attributes"] as? [String: Any])
    #expect(attributes["name"] as? String == "b" && attributes["count"] as? Int == 7)
    #expect((note["relationships"] as? [String: Any])?["items"] as? [String] == ["Item/1", "Item/3"])
    #expect(try scratch.tool("get", "Note/2").code == 1)
    #expect(try scratch.succeed("merge", "--list").text == "no drafts\n")
    try scratch.succeed("check")
  }

  @Test("6 for conflicts; --keep-clone keeps the clones")
  func conflicts() throws {
    let scratch = try drafted()
    try scratch.succeed("set", "Note/1", "name=ours")
    try scratch.succeed("set", "Note/2", "name=theirs")
    let before = try scratch.succeed("dump").text
    let plan = try scratch.tool("merge", "Note/2", "-n", "--json")
    #expect(plan.code == 6)
    let conflict = try #require((try plan.json()["conflicts"] as? [[String: Any]])?.first)
    #expect(conflict["object"] as? String == "Note/1" && conflict["theirs"] as? String == "theirs")
    #expect(try scratch.tool("merge", "Note/2").code == 6)
    #expect(try scratch.succeed("dump").text == before)
    try scratch.succeed("merge", "Note/2", "--policy", "theirs", "--keep-clone")
    #expect(try scratch.succeed("get", "Note/1", "--json").text.contains("\"theirs\""))
    #expect(try scratch.succeed("get", "Note/2", "--json").text.contains("\"theirs\""))
    let again = try scratch.tool("merge", "Note/2", "--json")
    #expect(again.code == 1)
    try scratch.succeed("check")
  }

  @Test("a draft on a branch is merged there")
  func onBranch() throws {
    let scratch = try Scratch.filled(1)
    try scratch.succeed("branch", "create", "spring")
    try scratch.succeed("clone", "Note/1", "--keeps-base", "--branch", "spring")
    try scratch.succeed("set", "Note/2", "name=b", "--branch", "spring")
    try scratch.succeed("merge", "Note/2", "--branch", "spring")
    #expect(try scratch.succeed("branch", "diff", "spring").text == "M Note/1 name\n")
    #expect(try scratch.succeed("get", "Note/1").text.contains("note 1"))
    try scratch.succeed("check")
  }

  @Test("a plan names the blob of the base by its digest, also if no object has it any more")
  func blobOfBase() throws {
    let scratch = try Scratch.filled(1)
    for (name, byte) in [("base", 3), ("ours", 5), ("theirs", 7)] as [(String, UInt8)] {
      try Data(repeating: byte, count: 100_000).write(to: URL(fileURLWithPath: scratch.file(name)))
    }
    try scratch.succeed("blob", "put", "Note/1", "data", scratch.file("base"))
    try scratch.succeed("clone", "Note/1", "--keeps-base")
    try scratch.succeed("blob", "put", "Note/1", "data", scratch.file("ours"))
    try scratch.succeed("blob", "put", "Note/2", "data", scratch.file("theirs"))
    let plan = try scratch.tool("merge", "Note/2", "-n", "--json")
    #expect(plan.code == 6)
    let conflict = try #require((try plan.json()["conflicts"] as? [[String: Any]])?.first)
    let digests = ["base", "ours", "theirs"].map { (conflict[$0] as? [String: Any])?["digest"] as? String ?? "" }
    #expect(Set(digests).count == 3 && !digests.contains(""), "\(digests)")
    try scratch.succeed("merge", "Note/2", "--policy", "theirs")
    try scratch.succeed("check", "--read-data")
  }

  @Test("wrong usage")
  func usage() throws {
    let scratch = try drafted()
    for arguments in [
      ["merge"], ["merge", "Note/2", "--list"], ["merge", "--list", "--keep-clone"], ["merge", "--list", "-n"],
      ["merge", "--list", "--policy", "ours"], ["merge", "--list", "--answers", "x"],
      ["merge", "Note/2", "--dump"], ["clone", "Note/1", "--expires", "30d"],
      ["clone", "Note/1", "--keeps-base", "--from-snapshot", "x"], ["clone", "Note/1", "--keeps-base", "--into", "x"],
    ] {
      #expect(try scratch.run(["-s", scratch.store] + arguments).code == 64, "\(arguments)")
    }
    #expect(try scratch.tool("merge", "Note/99").code == 1)
    // An object that is no draft.
    #expect(try scratch.tool("merge", "Note/1", "--json").code == 1)
    #expect(try scratch.run(["-s", scratch.file("nothing"), "merge", "--list"]).code == 10)
  }
}
