import Foundation
import Testing

@Suite("kvclone: history and watch")
struct HistoryCommandTests {
  @Test("changes are listed after a token, and purged before one")
  func history() throws {
    let scratch = try Scratch()
    try scratch.makeStore()
    let off = try scratch.tool("history")
    #expect(off.code == 1 && off.errors.contains("--on"))
    let start = try #require(try scratch.succeed("history", "--on", "--json").json()["token"] as? String)
    try scratch.succeed("insert", "Note", "name=a")
    try scratch.succeed("set", "Note/1", "name=b", "count=3")
    try scratch.succeed("clone", "Note/1")
    try scratch.succeed("delete", "Note/1")
    let json = try scratch.succeed("history", "--objects", "--json").json()
    let transactions = try #require(json["transactions"] as? [[String: Any]])
    #expect(transactions.map { $0["operation"] as? String } == ["", "", "clone", ""])
    #expect(transactions.map { $0["insertedCount"] as? Int } == [1, 0, 1, 0])
    let changes = transactions.map { ($0["changes"] as? [[String: Any]])?.first ?? [:] }
    #expect(changes[1]["updated"] as? String == "Note/1")
    #expect(Set(changes[1]["properties"] as? [String] ?? []) == ["count", "name"])
    #expect(changes[2]["inserted"] as? String == "Note/2" && changes[3]["deleted"] as? String == "Note/1")
    let tokens = transactions.compactMap { $0["token"] as? String }
    #expect(json["token"] as? String == tokens.last)

    let lines = try scratch.succeed("history", "--after", tokens[1], "--limit", "1", "--objects").text
    #expect(lines.hasPrefix(tokens[2]) && lines.contains(" +1 M0 -0 clone\n+ Note/2\n"))
    #expect(try scratch.succeed("history", "--after", start, "--limit", "0").text.isEmpty)
    #expect(try scratch.succeed("history", "--purge-before", tokens[1]).text == "purged 2 transactions\n")
    let expired = try scratch.tool("history", "--after", start, "--json")
    #expect(expired.code == 1)
    #expect(try expired.error()["kind"] as? String == "historyExpired")
    #expect(
      try scratch.succeed("history", "--purge-before", "2001-02-03T04:05:06Z", "--json").json()["purged"] as? Int == 0)
    #expect(try scratch.succeed("history", "--purge-before", "2999-01-01T00:00:00Z").text == "purged 2 transactions\n")
    // A date in the tool's output format.
    try scratch.succeed("insert", "Note")
    let later = try scratch.succeed("history", "--json").json()
    let date = try #require((later["transactions"] as? [[String: Any]])?.first?["date"] as? String)
    #expect(try scratch.succeed("history", "--purge-before", date).text == "purged 0 transactions\n")
    try scratch.succeed("history", "--off")
    #expect(try scratch.tool("history", "--limit", "1").code == 1)
    #expect(try scratch.succeed("check").code == 0)
  }

  @Test("wrong usage is refused")
  func usage() throws {
    let scratch = try Scratch()
    try scratch.makeStore()
    for arguments in [
      ["history", "--limit", "-1"], ["history", "--after", "yesterday"], ["history", "--purge-before", "soon"],
      ["history", "--purge-before", "2027-02-30"], ["history", "--purge-before", "2027-02-30T00:00:00Z"],
      ["history", "--purge-before", "2027-01-01T25:00:00Z"], ["history", "--purge-before", "2027-01-01T00:00:00Zjunk"],
      ["history", "--purge-before", "2027-01-01T00:00:00"],
      ["history", "--on", "--off"], ["watch", "--limit", "0"], ["history", "--off", "--objects"],
      ["history", "--purge-before", "2999-01-01T00:00:00Z", "--limit", "1"],
    ] {
      #expect(try scratch.run(["--store", scratch.store] + arguments).code == 64, "\(arguments)")
    }
    #expect(try scratch.tool("watch").code == 1)
  }

  @Test("watch prints other processes' commits until it is interrupted")
  func watch() throws {
    let scratch = try Scratch()
    try scratch.makeStore()
    try scratch.succeed("history", "--on")
    let process = scratch.process(["--store", scratch.store, "watch", "--objects"])
    let (output, errors) = (Pipe(), Pipe())
    process.standardOutput = output
    process.standardError = errors
    try process.run()
    // The command prints a line when it begins to watch.
    #expect(String(decoding: errors.fileHandleForReading.availableData, as: UTF8.self).hasPrefix("watching after "))
    for number in 1...3 {
      try scratch.succeed("insert", "Note")
      var text = ""
      while !text.hasSuffix("+ Note/\(number)\n") {
        let more = output.fileHandleForReading.availableData
        guard !more.isEmpty else { break }
        text += String(decoding: more, as: UTF8.self)
      }
      #expect(text.contains(" +1 M0 -0\n+ Note/\(number)\n"))
    }
    process.interrupt()
    process.waitUntilExit()
    #expect(process.terminationStatus == 130)
    let ended = try scratch.succeed("history", "--limit", "1", "--json").json()
    let token = try #require((ended["transactions"] as? [[String: Any]])?.first?["token"] as? String)
    let lines = try scratch.succeed("watch", "--after", token, "--limit", "2", "--json").text.split(separator: "\n")
    #expect(lines.count == 2 && lines.allSatisfy { $0.contains("\"insertedCount\":1") })
  }
}
