import Foundation
import Testing

@Suite("kvclone: load --skip-broken")
struct LoadBrokenCommandTests {
  private static let lines = """
    {"id":"Tag/1","attributes":{"label":"a"}}
    {
    {"id":"Item/1","attributes":{"rank":101},"relationships":{"tags":["Tag/1"]}}
    {"id":"Item/2","relationships":{"note":"Note/9","tags":["Tag/1"]}}
    {"id":"Summary/1"}
    {"id":"No\\u001bbody/1"}

    """

  @Test("broken lines are listed on stderr, the rest is loaded, and the exit code is 3")
  func text() throws {
    let scratch = try Scratch()
    try scratch.makeStore()
    let run = try scratch.tool("load", "--skip-broken", input: Self.lines)
    #expect(run.code == 3, "\(run.errors)")
    let errors = run.errors.split(separator: "\n").map(String.init)
    #expect(errors.count == 5, "\(run.errors)")
    let starts = [
      "skipped: unreadableLine: line 2: ", "skipped: valueTooLarge: line 3: ", "link left out: danglingID: line 4: ",
      "skipped: requiredRelationshipMissing: line 5: ", "skipped: unknownEntity: line 6: ",
    ]
    for (line, start) in zip(errors, starts) { #expect(line.hasPrefix(start), "\(line)") }
    #expect(!run.errors.contains("101") && !run.errors.contains("\u{1B}"))
    #expect(run.text.contains("loaded 2 objects") && run.text.contains("skipped 4 lines, left out 1 link"))
    #expect(try scratch.succeed("info", "--json").json()["objects"] as? Int == 2)
    try scratch.succeed("check")
  }

  @Test("JSON has the same list, and nothing else is written")
  func json() throws {
    let scratch = try Scratch()
    try scratch.makeStore()
    let run = try scratch.tool("load", "--skip-broken", "--json", input: Self.lines)
    #expect(run.code == 3 && run.errors.isEmpty, "\(run.errors)")
    let result = try run.json()
    #expect(result["objects"] as? Int == 2)
    #expect(result["skippedLines"] as? Int == 4 && result["skippedLinks"] as? Int == 1)
    let skipped = try #require(result["skipped"] as? [[String: Any]])
    #expect(skipped.map { $0["line"] as? Int } == [2, 3, 4, 5, 6])
    #expect(skipped.map { $0["wholeObject"] as? Bool } == [true, true, false, true, true])
    #expect(skipped[1]["kind"] as? String == "valueTooLarge" && skipped[1]["object"] as? String == "Item/1")
    #expect(skipped[1]["entity"] as? String == "Item" && skipped[1]["property"] as? String == "rank")
    #expect((skipped[1]["message"] as? String)?.hasPrefix("line 3: ") == true)
    try scratch.succeed("check")
  }

  @Test("a file without broken lines: exit code 0, and an empty list")
  func clean() throws {
    let scratch = try Scratch()
    try scratch.makeStore()
    try scratch.write(Scratch.notes(20), to: "in.ndjson")
    let result = try scratch.succeed("load", scratch.file("in.ndjson"), "--skip-broken", "--json").json()
    #expect(result["objects"] as? Int == 20 && (result["skipped"] as? [Any])?.isEmpty == true)
    #expect(result["skippedLines"] as? Int == 0 && result["skippedLinks"] as? Int == 0)
    #expect(try scratch.succeed("load", scratch.file("in.ndjson"), "--json").json()["skipped"] == nil)
  }

  @Test("batches of a file; what cannot be skipped is still an error")
  func batches() throws {
    let scratch = try Scratch()
    try scratch.makeStore()
    try scratch.write(Self.lines, to: "in.ndjson")
    let run = try scratch.tool("load", scratch.file("in.ndjson"), "--skip-broken", "--batch", "2", "--quiet")
    #expect(run.code == 3 && run.text.isEmpty && run.errors.split(separator: "\n").count == 5, "\(run.errors)")
    #expect(try scratch.succeed("info", "--json").json()["objects"] as? Int == 2)
    let strict = try scratch.tool("load", scratch.file("in.ndjson"), "--skip-broken", "--strict", "--json")
    #expect(strict.code == 1)
    #expect(try strict.error()["kind"] as? String == "incompatibleHeader")
    try scratch.succeed("check")
  }
}
