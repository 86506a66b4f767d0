import Foundation
import Testing

@Suite("kvclone: branches")
struct BranchCommandTests {
  /// Creates a store with three notes, and its branch `spring`.
  private func branched() throws -> Scratch {
    let scratch = try Scratch.filled(3)
    try scratch.succeed("branch", "create", "spring")
    return scratch
  }

  @Test("created, listed, compared and deleted")
  func branches() throws {
    let scratch = try Scratch.filled(3)
    #expect(try scratch.succeed("branch", "list").text == "no branches\n")
    #expect(try scratch.succeed("branch", "create", "spring").text == "created spring, with 3 objects\n")
    try scratch.succeed("snapshot", "create", "monday")
    let made = try scratch.succeed(
      "branch", "create", "autumn", "--from", "monday", "--expires", "2101-02-03T04:05:06Z", "--json"
    ).json()
    #expect(made["name"] as? String == "autumn" && made["base"] as? String == "monday")
    #expect(made["expires"] as? String == "2101-02-03T04:05:06Z" && made["changes"] as? Int == 0)

    let before = try scratch.succeed("dump").text
    try scratch.succeed("set", "Note/1", "name=x", "--branch", "spring")
    try scratch.succeed("delete", "Note/2", "--branch", "spring")
    try scratch.succeed("insert", "Note", "name=c", "--branch", "spring")
    #expect(try scratch.succeed("dump").text == before)
    #expect(try scratch.succeed("branch", "diff", "spring").text == "M Note/1 name\n- Note/2\n+ Note/4\n")
    #expect(try scratch.succeed("branch", "diff", "autumn", "--exit-code").text.isEmpty)
    let differing = try scratch.tool("branch", "diff", "spring", "--exit-code", "--json")
    #expect(differing.code == 5)
    let differences = try #require(try differing.json()["differences"] as? [[String: Any]])
    let attributes = try #require(differences.first?["attributes"] as? [String: [String: Any]])
    #expect(attributes["name"]?["old"] as? String == "note 1" && attributes["name"]?["new"] as? String == "x")

    // Against the store as it is now, in all forms of the option.
    try scratch.succeed("set", "Note/3", "name=z")
    let now = "M Note/1 name\n- Note/2\nM Note/3 name\n+ Note/4\n"
    for arguments in [["--store"], ["--against-store"], ["--store", "--no-color"]] {
      let run = try scratch.run(["-s", scratch.store, "branch", "diff", "spring"] + arguments)
      #expect(run.code == 0 && run.text == now, "\(arguments): \(run.errors)")
    }
    #expect(
      try scratch.run(["branch", "diff", "spring", "--store", scratch.store]).text.hasPrefix("M Note/1 name\n- "))
    #expect(try scratch.succeed("branch", "diff", "autumn", "--store").text == "M Note/3 name\n")

    let listed = try #require(try scratch.succeed("branch", "list", "--json").json()["branches"] as? [[String: Any]])
    #expect(listed.map { $0["name"] as? String } == ["spring", "autumn"])
    #expect(listed.map { $0["changes"] as? Int } == [3, 0])
    #expect(listed.allSatisfy { $0["bytes"] is Int && $0["retainedBytes"] is Int && $0["created"] is String })
    #expect(listed.first?["base"] is NSNull && listed.first?["expires"] is NSNull)
    let lines = try scratch.succeed("branch", "list").text.split(separator: "\n")
    #expect(
      lines.count == 3 && lines[0].hasPrefix("NAME") && lines[1].hasPrefix("spring") && lines[2].contains("monday"))

    #expect(try scratch.tool("branch", "delete", "spring", "none").code == 1)
    #expect(try scratch.succeed("branch", "delete", "spring", "spring").text == "deleted 1 branch\n")
    #expect(try scratch.succeed("branch", "delete", "autumn", "--json").json()["deleted"] as? [String] == ["autumn"])
    #expect(try scratch.succeed("branch", "list", "--json").json()["branches"] as? [String] == [])
    try scratch.succeed("check")
  }

  @Test("--branch works with commands that read or write objects")
  func objectCommands() throws {
    let scratch = try branched()
    let store = try scratch.succeed("dump").text
    let inserted = try scratch.succeed("insert", "Item", "name=item", "--branch", "spring", "--json").json()
    #expect(inserted["id"] as? String == "Item/1")
    try scratch.succeed("link", "Note/1", "items", "Item/1", "--branch", "spring")
    try scratch.succeed("set", "Note/1", "name=x", "--branch=spring")
    try scratch.succeed(
      "load", "-", "--branch", "spring", input: #"{"id":"Tag/1","attributes":{"label":"red"}}"# + "\n")
    let blob = Data((0..<300_000).map { UInt8(truncatingIfNeeded: $0 &* 31 >> 3) })
    try blob.write(to: URL(fileURLWithPath: scratch.file("blob")))
    try scratch.succeed("blob", "put", "Note/1", "data", scratch.file("blob"), "--branch", "spring")
    let clone = try scratch.succeed("--branch", "spring", "clone", "Note/1", "--json").json()
    #expect(clone["root"] as? String == "Note/4" && clone["objects"] as? Int == 2)
    try scratch.succeed("delete", "Note/2", "--branch", "spring")
    try scratch.succeed("snapshot", "create", "mine", "--branch", "spring")
    try scratch.succeed("unlink", "Note/1", "items", "--branch", "spring")

    // The branch shows all of it, the store none.
    #expect(try scratch.succeed("dump").text == store)
    #expect(try scratch.tool("get", "Item/1").code == 1)
    #expect(try scratch.succeed("get", "Note/1", "--branch", "spring").text.contains("\"x\""))
    #expect(try scratch.succeed("blob", "get", "Note/1", "data", "--branch", "spring").output == blob)
    #expect(try scratch.succeed("ls", "Tag", "--branch", "spring").text.contains("Tag/1"))
    let count = try scratch.succeed("query", "Note", "name == 'x'", "--count", "--branch", "spring", "--json").json()
    #expect(count["count"] as? Int == 2)
    #expect(try scratch.succeed("info", "--branch", "spring", "--json").json()["objects"] as? Int == 6)
    #expect(try scratch.succeed("dump", "--branch", "spring").text.contains("\"red\""))
    #expect(try scratch.succeed("snapshot", "list", "--branch", "spring").text.contains("mine"))
    #expect(try scratch.succeed("snapshot", "list").text == "no snapshots\n")
    #expect(try scratch.succeed("snapshot", "diff", "mine", "--branch", "spring").text.contains("M Note/1 items"))
    try scratch.succeed("snapshot", "rollback", "mine", "--branch", "spring")
    #expect(try scratch.succeed("get", "Note/1", "--branch", "spring", "--json").text.contains("Item/1"))
    try scratch.succeed("check", "--read-data")
  }

  @Test("commands of the whole store refuse --branch")
  func wholeStore() throws {
    let scratch = try branched()
    try TestModel.write(to: scratch.file("Other.xcdatamodeld"))
    for arguments in [
      ["init", "--model", "Other.xcdatamodeld"], ["migrate", "--model", "Other.xcdatamodeld"], ["backup", "copy"],
      ["restore", "copy", "--to", "other"], ["compact", "-o", "copy"], ["import", "notes.sqlite"],
      ["salvage", "-o", "copy"], ["check"], ["repair", "--yes"], ["stat"], ["branch", "list"],
      ["branch", "merge", "spring"],
    ] {
      let run = try scratch.run(["-s", scratch.store, "--branch", "spring", "--json"] + arguments)
      #expect(run.code == 64, "\(arguments): \(run.errors)")
      #expect(try run.error()["kind"] as? String == "usage", "\(arguments)")
    }
    #expect(!FileManager.default.fileExists(atPath: scratch.file("copy")))
  }

  @Test("B11 reset to the base or a snapshot of its own, whole or some objects")
  func reset() throws {
    let scratch = try branched()
    let base = try scratch.succeed("dump").text
    try scratch.succeed("set", "Note/1", "name=x", "--branch", "spring")
    try scratch.succeed("snapshot", "create", "mine", "--branch", "spring")
    let mine = try scratch.succeed("dump", "--branch", "spring").text
    try scratch.succeed("set", "Note/1", "name=y", "--branch", "spring")
    try scratch.succeed("delete", "Note/2", "--branch", "spring")
    let one = try scratch.succeed("branch", "reset", "spring", "--object", "Note/2", "--json").json()
    #expect(one["recreated"] as? Int == 1 && one["updated"] as? Int == 0 && one["deleted"] as? Int == 0)
    #expect(try scratch.succeed("branch", "diff", "spring").text == "M Note/1 name\n")
    try scratch.succeed("branch", "reset", "spring", "--to", "mine")
    #expect(try scratch.succeed("dump", "--branch", "spring").text == mine)
    let plan = try scratch.succeed("branch", "reset", "spring", "-n", "--json").json()
    #expect(plan["updated"] as? Int == 1 && plan["committed"] as? Bool == false)
    #expect(try scratch.succeed("dump", "--branch", "spring").text == mine)
    try scratch.succeed("branch", "reset", "spring")
    #expect(try scratch.succeed("dump", "--branch", "spring").text == base)
    #expect(try scratch.succeed("branch", "diff", "spring", "--exit-code").text.isEmpty)
    #expect(try scratch.tool("branch", "reset", "spring", "--to", "none").code == 1)
    #expect(try scratch.tool("branch", "reset", "spring", "--object", "Note/99").code == 1)
    try scratch.succeed("check")
  }

  @Test("wrong names and wrong usage")
  func usage() throws {
    let scratch = try branched()
    for (arguments, kind) in [
      (["branch", "create", "spring"], "branchExists"), (["branch", "create", "a b"], "invalidBranchName"),
      (["branch", "create", "x", "--from", "none"], "snapshotNotFound"),
      (["branch", "delete", "none"], "branchNotFound"),
      (["branch", "diff", "none"], "branchNotFound"), (["branch", "merge", "none"], "branchNotFound"),
      (["branch", "update", "none"], "branchNotFound"), (["get", "Note/1", "--branch", "none"], "branchNotFound"),
      (["branch", "merge", "spring", "--only", "Note/99"], "objectNotFound"),
      (["branch", "merge", "spring", "--rule", "Nothing.x=ours"], "invalidMergeRule"),
    ] {
      let refused = try scratch.run(["-s", scratch.store] + arguments + ["--json"])
      #expect(refused.code == 1, "\(arguments): \(refused.errors)")
      #expect(try refused.error()["kind"] as? String == kind, "\(arguments)")
    }
    for arguments in [
      ["branch", "create"], ["branch", "delete"], ["branch", "diff"], ["branch", "merge"], ["branch", "update"],
      ["branch", "create", "x", "--expires", "soon"], ["branch", "merge", "spring", "--policy", "mine"],
      ["branch", "merge", "spring", "--rule", "Note.name"], ["branch", "merge", "spring", "--rule", "Note.name=min"],
      ["branch", "merge", "spring", "--rule", "Note.name=ours", "--rule", "Note.name=theirs"],
      ["branch", "merge", "spring", "--dump"], ["branch", "merge", "spring", "--answers", ""],
      ["get", "Note/1", "--branch", ""],
    ] {
      #expect(try scratch.run(["-s", scratch.store] + arguments).code == 64, "\(arguments)")
    }
    #expect(try scratch.run(["-s", scratch.file("nothing"), "branch", "list"]).code == 10)
  }
}
