import Foundation
import Testing

@Suite("kvclone: snapshots")
struct SnapshotCommandTests {
  @Test("created, listed, compared, rolled back to, held and deleted")
  func snapshots() throws {
    let scratch = try Scratch()
    try scratch.makeStore()
    #expect(try scratch.succeed("snapshot", "list").text == "no snapshots\n")
    try scratch.succeed("insert", "Note", "name=a")
    try scratch.succeed("insert", "Note", "name=b")
    #expect(try scratch.succeed("snapshot", "create", "one").text == "created one, with 2 objects\n")
    try scratch.succeed("snapshot", "create", "two", "--expires", "2001-02-03T04:05:06Z")
    let before = try scratch.succeed("dump").text
    try scratch.succeed("set", "Note/1", "name=x")
    try scratch.succeed("delete", "Note/2")
    try scratch.succeed("insert", "Note", "name=c")
    #expect(try scratch.succeed("snapshot", "diff", "one").text == "M Note/1 name\n- Note/2\n+ Note/3\n")
    #expect(try scratch.succeed("snapshot", "diff", "one", "two", "--exit-code").text.isEmpty)
    let differing = try scratch.tool("snapshot", "diff", "one", "--exit-code", "--json")
    #expect(differing.code == 5)
    let differences = try #require(try differing.json()["differences"] as? [[String: Any]])
    #expect(differences.map { $0["updated"] as? String } == ["Note/1", nil, nil])
    let attributes = try #require(differences[0]["attributes"] as? [String: [String: Any]])
    #expect(attributes["name"]?["old"] as? String == "a" && attributes["name"]?["new"] as? String == "x")
    #expect(try scratch.succeed("dump", "--snapshot", "one").text == before)
    #expect(try scratch.succeed("info", "--json").json()["snapshots"] as? Int == 2)

    let plan = try scratch.succeed("snapshot", "rollback", "one", "-n", "--json").json()
    #expect(plan["updated"] as? Int == 1 && plan["recreated"] as? Int == 1 && plan["deleted"] as? Int == 1)
    #expect(plan["committed"] as? Bool == false && plan["automaticSnapshot"] is NSNull)
    let one = try scratch.succeed("snapshot", "rollback", "one", "--object", "Note/2", "--json").json()
    #expect(one["recreated"] as? Int == 1 && one["updated"] as? Int == 0 && one["deleted"] as? Int == 0)
    #expect(try scratch.succeed("snapshot", "diff", "one").text == "M Note/1 name\n+ Note/3\n")
    let done = try scratch.succeed("snapshot", "rollback", "one", "--json").json()
    #expect(done["updated"] as? Int == 1 && done["deleted"] as? Int == 1)
    #expect(try scratch.succeed("dump").text == before)
    let automatic = try #require(done["automaticSnapshot"] as? String)
    #expect(try scratch.succeed("snapshot", "diff", automatic).text == "M Note/1 name\n- Note/3\n")

    try scratch.succeed("snapshot", "hold", "two", "me")
    let held = try scratch.tool("snapshot", "delete", "one", "two", "--json")
    #expect(held.code == 1)
    #expect(try held.error()["kind"] as? String == "snapshotHeld")
    #expect(try scratch.succeed("snapshot", "delete", "--expired").text == "deleted 0 snapshots\n")
    try scratch.succeed("snapshot", "release", "two", "me")
    #expect(try scratch.succeed("snapshot", "delete", "--expired", "--json").json()["deleted"] as? [String] == ["two"])
    let listed = try scratch.succeed("--json", "snapshot", "list").json()
    let entries = try #require(listed["snapshots"] as? [[String: Any]])
    #expect(entries.first?["name"] as? String == "one" && entries.first?["objects"] as? Int == 2)
    #expect(entries.allSatisfy { $0["retainedBytes"] is Int && $0["holds"] is [String] && $0["expires"] is NSNull })
    #expect(entries.count == 3)
    let names = entries.compactMap { $0["name"] as? String }
    #expect(try scratch.run(["--store", scratch.store, "snapshot", "delete"] + names).code == 0)
    #expect(try scratch.succeed("check").code == 0)
  }

  @Test("wrong names and wrong usage")
  func usage() throws {
    let scratch = try Scratch()
    try scratch.makeStore()
    for (arguments, kind) in [
      (["create", "auto-x"], "invalidSnapshotName"), (["create", "a b"], "invalidSnapshotName"),
      (["delete", "none"], "snapshotNotFound"), (["diff", "none"], "snapshotNotFound"),
      (["rollback", "none"], "snapshotNotFound"), (["hold", "none", "x"], "snapshotNotFound"),
    ] {
      let refused = try scratch.run(["--store", scratch.store, "snapshot"] + arguments + ["--json"])
      #expect(refused.code == 1, "\(arguments)")
      #expect(try refused.error()["kind"] as? String == kind, "\(arguments)")
    }
    #expect(try scratch.tool("dump", "--snapshot", "none").code == 1)
    for arguments in [["create"], ["delete"], ["delete", "a", "--expired"], ["create", "a", "--expires", "soon"]] {
      #expect(try scratch.run(["--store", scratch.store, "snapshot"] + arguments).code == 64, "\(arguments)")
    }
    let readOnly = try scratch.tool("snapshot", "list", "--json").json()
    #expect((readOnly["snapshots"] as? [Any])?.isEmpty == true)
  }

  @Test("expiry as a moment, as a day and as a span")
  func expiry() throws {
    let scratch = try Scratch()
    try scratch.makeStore()
    func expires(_ name: String, _ text: String) throws -> Date? {
      let made = try scratch.succeed("snapshot", "create", name, "--expires", text, "--json").json()
      return (made["expires"] as? String).flatMap { try? Date($0, strategy: .iso8601) }
    }
    #expect(try expires("day", "2101-01-31") == expires("moment", "2101-01-31T00:00:00Z"))
    #expect(try expires("offset", "2101-01-31T01:00:00+01:00") == expires("again", "2101-01-31"))
    for (text, seconds) in [
      ("90m", 5_400.0), ("12h", 43_200), ("30d", 2_592_000), ("8w", 4_838_400), ("1y", 31_536_000),
    ] {
      let (start, date) = (Date.now, try expires("span-\(text)", text))
      let end = Date.now
      let given = try #require(date)
      // Times are printed in whole seconds.
      #expect(given >= start.addingTimeInterval(seconds - 1) && given <= end.addingTimeInterval(seconds + 1), "\(text)")
    }
    for text in [
      "0d", "d", "-1d", "2101-13-01", "2101-01", "30", "99999d", "", "2101-02-30", "2101-02-30T00:00:00Z",
      "2101-01-01T25:00:00Z", "2101-01-01T00:00:60Z", "2101-01-01T00:00:00Zjunk", "2101-01-01T00:00:00", "2101-01-01Z",
      "２101-01-01",
    ] {
      #expect(try scratch.tool("snapshot", "create", "wrong", "--expires", text).code == 64, "\(text)")
    }
  }
}
