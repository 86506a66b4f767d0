import Foundation
import Testing

/// An argument that is repeated in one command counts once.
@Suite("kvclone: repeated names")
struct RepeatedNameTests {
  private let scratch: Scratch

  init() throws {
    scratch = try Scratch()
    try scratch.makeStore()
    let lines = """
      {"id":"Note/1","attributes":{"name":"a"},"relationships":{"items":["Item/1"]}}
      {"id":"Item/1"}
      {"id":"Item/2"}
      {"id":"Item/3"}
      """
    try scratch.succeed("load", "-", input: lines)
  }

  private func uri(_ entity: String, _ serial: Int) throws -> String {
    let store = try #require(scratch.succeed("info", "--json").json()["store"] as? String)
    return "x-kvclone://\(store)/\(entity)/p\(serial)"
  }

  private func members(_ id: String, _ relationship: String) throws -> [String] {
    let object = try scratch.succeed("get", id, "--json").json()
    let value = (object["relationships"] as? [String: Any])?[relationship]
    return value as? [String] ?? (value as? String).map { [$0] } ?? []
  }

  @Test("snapshot delete counts snapshots, and all or none go")
  func snapshots() throws {
    for name in ["a", "b", "c"] { try scratch.succeed("snapshot", "create", name) }
    #expect(try scratch.succeed("snapshot", "delete", "a", "a").text == "deleted 1 snapshot\n")
    #expect(
      try scratch.succeed("snapshot", "delete", "b", "c", "b", "--json").json()["deleted"] as? [String] == ["b", "c"])
    try scratch.succeed("snapshot", "create", "d")
    for _ in 0..<2 { try scratch.succeed("snapshot", "hold", "d", "tag") }
    #expect(try scratch.tool("snapshot", "delete", "d", "d").code == 1)
    try scratch.succeed("snapshot", "release", "d", "tag")
    // Releasing a missing hold is an error, as for any missing object.
    #expect(try scratch.tool("snapshot", "release", "d", "tag").code == 1)
    try scratch.succeed("check")
  }

  @Test("delete, link and unlink, by whatever name")
  func objects() throws {
    let (first, second) = (try uri("Item", 2), try uri("Item", 3))
    try scratch.succeed("link", "Note/1", "items", "Item/2", "Item/2", first, "--at", "0")
    #expect(try members("Note/1", "items") == ["Item/2", "Item/1"])
    // To-one: one object, even if its name is repeated.
    try scratch.succeed("link", "Item/3", "note", "Note/1", "Note/1")
    #expect(try members("Note/1", "items") == ["Item/2", "Item/1", "Item/3"])
    try scratch.succeed("unlink", "Note/1", "items", "Item/2", first, "Item/2")
    #expect(try members("Note/1", "items") == ["Item/1", "Item/3"])
    try scratch.succeed("set", "Note/1", "items=Item/3,\(second),Item/1")
    #expect(try members("Note/1", "items") == ["Item/3", "Item/1"])
    let item = try scratch.succeed("insert", "Item", "note=Note/1,Note/1").text
    #expect(try members("Note/1", "items").count == 3, "\(item)")
    #expect(try scratch.succeed("delete", "Item/3", second, "Item/3", "Item/2").text == "deleted 2 objects\n")
    try scratch.succeed("check")
  }

  @Test("clone makes one clone, and lists one root; a rule said twice is one, two different ones are refused")
  func clone() throws {
    let result = try scratch.succeed("clone", "Note/1", "Note/1", try uri("Note", 1), "--json").json()
    #expect(result["roots"] as? [String] == ["Note/2"] && result["objects"] as? Int == 2)
    let plan = try scratch.succeed(
      "clone", "-n", "Note/1", "Note/1", "--exclude", "items", "--exclude", "items", "--json")
    #expect(try plan.json()["objects"] as? Int == 1)
    let rule = ["--rule", "Note.items=skip"]
    let clone = ["-s", scratch.store, "clone", "-n", "Note/1"] + rule
    #expect(try scratch.run(clone + rule).code == 0)
    let contradiction = try scratch.run(clone + ["--rule", "Note.items=follow"])
    #expect(contradiction.code == 64 && contradiction.errors.contains("Note.items"), "\(contradiction.errors)")
  }

  @Test("dump and rollback")
  func others() throws {
    let once = try scratch.succeed("dump", "Item").text
    #expect(try scratch.succeed("dump", "Item", "Item").text == once)
    let root = try scratch.succeed("dump", "--from", "Note/1").text
    #expect(try scratch.succeed("dump", "--from", "Note/1", "--from", try uri("Note", 1)).text == root)
    try scratch.succeed("snapshot", "create", "a")
    try scratch.succeed("set", "Note/1", "name=b")
    let back = ["rollback", "a", "--object", "Note/1", "--object", "Note/1"]
    let result = try scratch.run(["-s", scratch.store, "snapshot"] + back + ["--json"]).json()
    #expect(result["updated"] as? Int == 1)
    #expect(try scratch.succeed("get", "Note/1").text.contains("\"a\""))
    // Backups are restored in the given order, so a repeated one is an error.
    try scratch.succeed("backup", scratch.file("b"))
    #expect(try scratch.run(["restore", scratch.file("b"), scratch.file("b"), "--to", scratch.file("r")]).code == 1)
  }

  @Test("several missing objects are listed in one error", arguments: [["clone", "-n"], ["clone"], ["delete"]])
  func missing(_ command: [String]) throws {
    let scratch = try Scratch.filled(1)
    let run = try scratch.run(["--store", scratch.store] + command + ["Note/7", "Note/1", "Note/8", "--json"])
    #expect(try run.code == 1 && run.error()["kind"] as? String == "objectNotFound")
    #expect(run.errors.contains("Note/7, Note/8"), "\(run.errors)")
    try scratch.succeed("get", "Note/1")
  }
}
