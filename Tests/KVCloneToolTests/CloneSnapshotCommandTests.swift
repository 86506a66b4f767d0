import Foundation
import KVClone
import Testing

@Suite("kvclone: clone --from-snapshot")
struct CloneSnapshotCommandTests {
  private let scratch: Scratch

  init() throws {
    scratch = try Scratch()
    try scratch.makeStore()
    let lines = """
      {"id":"Note/1","attributes":{"name":"n"},"relationships":{"items":["Item/1","Item/2"],"summary":"Summary/1"}}
      {"id":"Item/1","attributes":{},"relationships":{"tags":["Tag/1"]}}
      {"id":"Item/2"}
      {"id":"Tag/1","attributes":{"label":"t"}}
      {"id":"Summary/1","attributes":{"text":"s"}}
      """
    try scratch.succeed("load", "-", input: lines)
    let bytes = Data(repeating: 7, count: 123_456)
    try bytes.write(to: URL(fileURLWithPath: scratch.file("image")))
    try scratch.succeed("blob", "put", "Note/1", "data", scratch.file("image"))
    let store = try ObjectStore.open(at: scratch.store)
    defer { store.close() }
    try store.createSnapshot(named: "before")
  }

  @Test("deleted objects are restored")
  func deleted() throws {
    try scratch.succeed("delete", "Note/1", "Summary/1")
    #expect(try scratch.tool("clone", "Note/1").code == 1)
    let plan = try scratch.succeed("clone", "Note/1", "-n", "--from-snapshot", "before", "--json").json()
    #expect(plan["objects"] as? Int == 4 && plan["committed"] as? Bool == false)
    #expect((plan["errors"] as? [Any])?.isEmpty == true)
    let result = try scratch.succeed(
      "clone", "Note/1", "--from-snapshot", "before", "--provenance", "--idempotency-key", "k", "--json"
    ).json()
    #expect(result["root"] as? String == "Note/2" && result["objects"] as? Int == 4)
    #expect(result["counts"] as? [String: Int] == ["Item": 2, "Note": 1, "Summary": 1])
    #expect(result["touched"] as? [String] == ["Tag/1"])
    #expect(result["blobsShared"] as? Int == 1 && result["bytesShared"] as? Int == 123_456)
    let again = try scratch.succeed(
      "clone", "Note/1", "--from-snapshot", "before", "--provenance", "--idempotency-key", "k", "--json"
    ).json()
    #expect(again["repeated"] as? Bool == true && again["root"] as? String == "Note/2")
    let image = try scratch.succeed("blob", "get", "Note/2", "data")
    #expect(image.output == Data(repeating: 7, count: 123_456))
    try scratch.succeed("check", "--read-data")
    #expect(try scratch.succeed("clone", "Note/1", "--from-snapshot", "before").text == "Note/3\n")
  }

  @Test("obstacles are reported, and wrong usage")
  func refusals() throws {
    let missing = try scratch.tool("clone", "Note/1", "--from-snapshot", "nothing", "--json")
    #expect(missing.code == 1)
    #expect(try missing.error()["kind"] as? String == "snapshotNotFound")
    let unknown = try scratch.tool("clone", "Note/9", "--from-snapshot", "before", "--json")
    #expect(unknown.code == 1)
    #expect(try unknown.error()["kind"] as? String == "objectNotFound")
    #expect(try scratch.tool("clone", "Note/1", "--from-snapshot", "").code == 64)
    #expect(try scratch.tool("clone", "Note/1", "--from-snapshot", "before", "--into", scratch.store).code == 64)
    let taken = try scratch.tool("clone", "Tag/1", "--from-snapshot", "before", "-n", "--json")
    #expect(taken.code == 1)
    let errors = try taken.json()["errors"] as? [[String: Any]]
    #expect(errors?.first?["kind"] as? String == "uniquenessConflict")
    #expect(errors?.first?["object"] as? String == "Tag/1" && errors?.first?["property"] as? String == "label")
  }
}
