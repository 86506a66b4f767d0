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

  @Test("if a later batch fails, what the committed ones skipped is still listed")
  func failedBatch() throws {
    let scratch = try Scratch()
    try scratch.makeStore()
    let start = #"{"id":"Item/2"}"# + "\n{\n"
    // The batch is larger than the limit of the file size.
    let data = String(repeating: "A", count: 8 << 20)
    try scratch.write(
      start + #"{"id":"Note/1","attributes":{"data":{"base64":"\#(data)"}}}"# + "\n", to: "in.ndjson")
    func run(_ option: String) throws -> ToolRun {
      let command = #"ulimit -f 2048; exec "$0" -s "$1" load in.ndjson --skip-broken --batch 2 \#(option)"#
      return try scratch.runProgram("/bin/sh", ["-c", command, Scratch.executable, scratch.store], isHere: true)
    }
    let text = try run("--quiet")
    let errors = text.errors.split(separator: "\n")
    #expect(text.code == 1 && errors.count == 2, "\(text.errors)")
    #expect(errors.first?.hasPrefix("skipped: unreadableLine: line 2: ") == true, "\(text.errors)")
    #expect(errors.last?.hasPrefix("kvclone: ") == true, "\(text.errors)")
    let json = try run("--json").error()
    #expect(json["skippedLines"] as? Int == 1 && json["skippedLinks"] as? Int == 0)
    #expect((json["skipped"] as? [[String: Any]])?.map { $0["line"] as? Int } == [2])
    // Without a committed batch, there is no list.
    let first = try scratch.tool("load", "--skip-broken", "--strict", "--json", input: "{\n").error()
    #expect(first["skipped"] == nil)
    #expect(try scratch.succeed("info", "--json").json()["objects"] as? Int == 2)
    try scratch.succeed("check")
  }
}
