import Foundation
import Testing

@Suite("kvclone: clone --into")
struct CloneIntoCommandTests {
  private let scratch: Scratch
  private var other: String { scratch.file("other") }

  init() throws {
    scratch = try Scratch()
    try scratch.makeStore()
    let lines = """
      {"id":"Note/1","attributes":{"name":"n"},"relationships":{"items":["Item/1","Item/2"]}}
      {"id":"Item/1","attributes":{},"relationships":{"tags":["Tag/1"]}}
      {"id":"Item/2"}
      {"id":"Tag/1","attributes":{"label":"t"}}
      """
    try scratch.succeed("load", "-", input: lines)
    let bytes = Data(repeating: 7, count: 123_456)
    try bytes.write(to: URL(fileURLWithPath: scratch.file("image")))
    try scratch.succeed("blob", "put", "Note/1", "data", scratch.file("image"))
    let made = try scratch.run(["-s", scratch.file("other"), "init", "--model", scratch.file("Notes.xcdatamodeld")])
    #expect(made.code == 0, "\(made.errors)")
  }

  private func commit(_ store: String) throws -> Int? {
    try scratch.run(["-s", store, "info", "--json"]).json()["commit"] as? Int
  }

  @Test("objects are cloned into the other store; the source store stays unchanged")
  func into() throws {
    let before = try commit(scratch.store)
    let plan = try scratch.tool("clone", "Note/1", "--into", other, "-n", "--json")
    #expect(plan.code == 1)
    let errors = try plan.json()["errors"] as? [[String: Any]]
    #expect(errors?.first?["kind"] as? String == "outsideObjectUnmatched")
    #expect(errors?.first?["object"] as? String == "Tag/1" && errors?.first?["property"] as? String == "tags")
    let tag = try scratch.run(["-s", other, "insert", "Tag", "label=t", "--json"])
    #expect(tag.code == 0, "\(tag.errors)")
    let result = try scratch.succeed("clone", "Note/1", "--into", other, "--json").json()
    #expect(result["root"] as? String == "Note/1" && result["objects"] as? Int == 3)
    #expect(result["touched"] as? [String] == ["Tag/1"])
    #expect(result["bytesCopied"] as? Int == 123_456 && result["bytesShared"] as? Int == 0)
    let image = try scratch.run(["-s", other, "blob", "get", "Note/1", "data"])
    #expect(image.output == Data(repeating: 7, count: 123_456))
    for store in [scratch.store, other] {
      #expect(try scratch.run(["-s", store, "check", "--read-data"]).code == 0)
    }
    #expect(try commit(scratch.store) == before)
  }

  @Test(
    "links to what is not cloned are the caller's choice",
    arguments: [("match-or-empty", 0), ("empty", 0), ("refuse", 1)])
  func outside(_ policy: String, _ code: Int) throws {
    let result = try scratch.tool("clone", "Note/1", "--into", other, "--outside", policy, "--json")
    #expect(Int(result.code) == code, "\(result.errors)")
    if code == 1 { #expect(try result.error()["kind"] as? String == "outsideObjectUnmatched") }
  }

  @Test("the error names the option that decides about links to outside objects")
  func errorNamesOption() throws {
    for arguments in [[], ["-n"], ["--outside", "refuse"]] {
      let run = try scratch.run(["-s", scratch.store, "clone", "Note/1", "--into", other] + arguments)
      #expect(run.code == 1 && (run.errors + run.text).contains("--outside match-or-empty"), "\(run.errors)\(run.text)")
    }
  }

  @Test("the other store has to be there, and another one, and fit")
  func refusals() throws {
    let missing = try scratch.tool("clone", "Note/1", "--into", scratch.file("nowhere"), "--json")
    #expect(missing.code == 1)
    #expect(try missing.error()["kind"] as? String == "invalidDestination")
    #expect(missing.errors.contains(scratch.file("nowhere")) && !missing.errors.contains("no store"))
    let itself = try scratch.tool("clone", "Note/1", "--into", scratch.store, "--json")
    #expect(itself.code == 1)
    #expect(try itself.error()["kind"] as? String == "invalidConfiguration")
    #expect(try scratch.tool("clone", "Note/1", "--outside", "empty").code == 64)
    #expect(try scratch.tool("clone", "Note/1", "--into", "").code == 64)
    try TestModel.write(
      to: scratch.file("Less.xcdatamodeld"),
      contents: TestModel.contents.replacingOccurrences(of: "name=\"ratio\"", with: "name=\"share\""))
    let less = scratch.file("less")
    #expect(try scratch.run(["-s", less, "init", "--model", scratch.file("Less.xcdatamodeld")]).code == 0)
    let unfit = try scratch.tool("clone", "Note/1", "--into", less, "--outside", "empty", "--json")
    #expect(unfit.code == 1)
    #expect(try unfit.error()["kind"] as? String == "incompatibleModel")
    #expect(try unfit.error()["property"] as? String == "ratio")
  }
}
