import Foundation
import Testing

@Suite("kvclone: merges of branches")
struct MergeCommandTests {
  /// Creates a store with three notes, the branch `spring`, and changes on both: of one attribute of `Note/1`, and
  /// apart from that of different objects.
  private func conflicting() throws -> Scratch {
    let scratch = try Scratch.filled(3)
    try scratch.succeed("branch", "create", "spring")
    try scratch.succeed("set", "Note/1", "name=store", "count=1")
    try scratch.succeed("set", "Note/1", "name=branch", "total=5", "--branch", "spring")
    try scratch.succeed("delete", "Note/2", "--branch", "spring")
    try scratch.succeed("insert", "Note", "name=new", "--branch", "spring")
    return scratch
  }

  private static let conflict = "both sides changed Note/1.name"

  @Test("a plan that succeeds is a merge that succeeds, and a second one does nothing")
  func merge() throws {
    let scratch = try Scratch.filled(3)
    try scratch.succeed("branch", "create", "spring")
    try scratch.succeed("set", "Note/1", "name=x", "--branch", "spring")
    try scratch.succeed("delete", "Note/2", "--branch", "spring")
    try scratch.succeed("insert", "Note", "name=new", "--branch", "spring")
    try scratch.succeed("set", "Note/3", "name=z")
    let store = try scratch.succeed("dump").text
    let plan = try scratch.succeed("branch", "merge", "spring", "-n").text
    #expect(plan.hasPrefix("would merge spring: 1 inserted, 1 updated, 1 deleted\n"), "\(plan)")
    #expect(plan.contains("├ M Note/1\n│ └ name  \"note 1\" → \"x\"\n├ - Note/2\n└ + Note/4\n"), "\(plan)")
    let document = try scratch.succeed("branch", "merge", "spring", "-n", "--json").json()
    #expect(document["merged"] as? Bool == false && document["conflictCount"] as? Int == 0)
    #expect(document["objects"] as? [String: Int] == ["inserted": 1, "updated": 1, "deleted": 1])
    let changes = try #require(document["changes"] as? [[String: Any]])
    #expect(changes.map { $0["object"] as? String } == ["Note/1", "Note/2", "Note/4"])
    let dumped = try scratch.succeed("branch", "merge", "spring", "-n", "--dump").text
    #expect(try scratch.succeed("dump").text == store)

    let merged = try scratch.succeed("branch", "merge", "spring", "--json").json()
    #expect(merged["merged"] as? Bool == true && merged["seconds"] is Double)
    #expect(merged["objects"] as? [String: Int] == ["inserted": 1, "updated": 1, "deleted": 1])
    #expect(merged["counts"] as? [String: [String: Int]] == ["Note": ["inserted": 1, "updated": 1, "deleted": 1]])
    #expect(merged["conflicts"] as? [String] == [] && merged["errors"] as? [String] == [])
    let snapshots = try #require(merged["snapshots"] as? [String])
    #expect(snapshots.count == 2 && snapshots.allSatisfy { $0.hasPrefix("auto-") })
    #expect(try scratch.succeed("dump").text == dumped)
    #expect(try scratch.succeed("dump", "--branch", "spring").text == dumped)
    #expect(try scratch.succeed("branch", "diff", "spring", "--store", "--exit-code").text.isEmpty)
    #expect(try scratch.succeed("branch", "merge", "spring").text == "merged spring: no changes\n")
    try scratch.succeed("check")
  }

  @Test("6 for conflicts, with the three values, in a plan and in a merge")
  func conflicts() throws {
    let scratch = try conflicting()
    let before = try scratch.succeed("dump").text
    let plan = try scratch.tool("branch", "merge", "spring", "-n")
    #expect(plan.code == 6 && plan.errors.isEmpty)
    #expect(plan.text.contains("! \(Self.conflict) (bothChanged)\n"), "\(plan.text)")
    // The values are in columns, with the last change of each side below.
    #expect(plan.text.contains(/\n[ │]+base +ours +theirs\n[ │]+"note 1" +"store" +"branch"\n[ │]+\S/), "\(plan.text)")
    #expect(plan.text.contains("--answers, --policy or --rule"))
    #expect(plan.text.contains("├ ! Note/1\n"))

    let dumped = try scratch.tool("branch", "merge", "spring", "-n", "--dump", "--json")
    #expect(dumped.code == 6 && dumped.text.contains("store") && !dumped.text.contains("conflictCount"))
    #expect(try dumped.error()["kind"] as? String == "mergeConflicts")
    let json = try scratch.tool("branch", "merge", "spring", "--dry-run", "--json")
    #expect(json.code == 6)
    let document = try json.json()
    #expect(document["merged"] as? Bool == false && document["conflictCount"] as? Int == 1)
    let conflict = try #require((document["conflicts"] as? [[String: Any]])?.first)
    #expect(conflict["kind"] as? String == "bothChanged" && conflict["object"] as? String == "Note/1")
    #expect(conflict["property"] as? String == "name" && conflict["base"] as? String == "note 1")
    #expect(conflict["ours"] as? String == "store" && conflict["theirs"] as? String == "branch")
    for side in ["oursBy", "theirsBy"] {
      #expect((conflict[side] as? [String: Any])?["commit"] is Int, "\(side)")
    }

    let refused = try scratch.tool("branch", "merge", "spring", "--json")
    #expect(refused.code == 6)
    #expect(try refused.json()["merged"] as? Bool == false && refused.json()["conflictCount"] as? Int == 1)
    let error = try refused.error()
    #expect(error["kind"] as? String == "mergeConflicts" && error["code"] as? Int == 6)
    #expect(error["object"] as? String == "Note/1" && error["property"] as? String == "name")
    let plain = try scratch.tool("branch", "merge", "spring")
    #expect(plain.code == 6 && plain.errors.hasPrefix("kvclone: \(Self.conflict)") && plain.errors.contains("--policy"))
    #expect(try scratch.succeed("dump").text == before)
    // In the other direction, the sides are exchanged.
    let update = try scratch.tool("branch", "update", "spring", "-n", "--json")
    #expect(update.code == 6)
    let other = try #require((try update.json()["conflicts"] as? [[String: Any]])?.first)
    #expect(other["ours"] as? String == "branch" && other["theirs"] as? String == "store")
    try scratch.succeed("check")
  }

  @Test(
    "conflicts are resolved by a policy or a rule",
    arguments: [
      (["--policy", "ours"], "store"), (["--policy", "theirs"], "branch"),
      (["--policy", "ours", "--rule", "Note.name=theirs"], "branch"), (["--rule", "Note=theirs"], "branch"),
      (["--rule", "Note.name=skip"], "store"),
    ])
  func rules(_ arguments: [String], _ name: String) throws {
    let scratch = try conflicting()
    let merge = ["-s", scratch.store, "branch", "merge", "spring"] + arguments
    #expect(try scratch.run(merge + ["-n"]).code == 0)
    #expect(try scratch.run(merge).code == 0)
    let note = try scratch.succeed("get", "Note/1", "--json").json()
    let attributes = try #require(note["attributes"] as? [String: Any])
    #expect(attributes["name"] as? String == name)
    #expect(attributes["count"] as? Int == 1 && attributes["total"] as? Int == 5)
    try scratch.succeed("check")
  }

  @Test("numbers are added by the rule sum")
  func sum() throws {
    let scratch = try Scratch.filled(1)
    try scratch.succeed("set", "Note/1", "total=10")
    try scratch.succeed("branch", "create", "spring")
    try scratch.succeed("set", "Note/1", "total=13")
    try scratch.succeed("set", "Note/1", "total=5", "--branch", "spring")
    #expect(try scratch.tool("branch", "merge", "spring").code == 6)
    try scratch.succeed("branch", "merge", "spring", "--rule", "Note.total=sum")
    #expect(try scratch.succeed("get", "Note/1", "--json").text.contains("\"total\":8"))
  }

  @Test("--answers reads the document of a plan with answers")
  func answers() throws {
    for (answer, name) in [
      (#""ours""#, "store"), (#""theirs""#, "branch"), (#"{"value":"both"}"#, "both"),
    ] {
      let scratch = try conflicting()
      let plan = try scratch.tool("branch", "merge", "spring", "-n", "--json").text
      // The last member of the only conflict is followed by the answer.
      let answered = plan.replacing(/("fingerprint":"[0-9a-f]+")/) { "\($0.1),\"answer\":\(answer)" }
      #expect(answered != plan)
      try scratch.write(answered, to: "answers.json")
      let merged = try scratch.succeed("branch", "merge", "spring", "--answers", "answers.json", "--json").json()
      #expect(merged["resolvedCount"] as? Int == 1)
      #expect(try scratch.succeed("get", "Note/1", "--json").text.contains("\"name\":\"\(name)\""), "\(answer)")
      try scratch.succeed("check")
    }
  }

  @Test("M12 an answer for other values is refused, and named")
  func staleAnswers() throws {
    let scratch = try conflicting()
    let plan = try scratch.tool("branch", "merge", "spring", "-n", "--json").text
    try scratch.write(
      plan.replacing(/("fingerprint":"[0-9a-f]+")/) { "\($0.1),\"answer\":\"theirs\"" }, to: "answers.json")
    try scratch.succeed("set", "Note/1", "name=later")
    let refused = try scratch.tool("branch", "merge", "spring", "--answers", "answers.json", "--json")
    #expect(refused.code == 6)
    #expect(try refused.error()["kind"] as? String == "staleAnswers")
    #expect(try refused.error()["object"] as? String == "Note/1")
    let reasons = try #require(try refused.json()["errors"] as? [[String: Any]])
    #expect(reasons.map { $0["kind"] as? String } == ["staleAnswers"])
    // The policy resolves the conflict; the answer still does not fit.
    let policy = try scratch.tool("branch", "merge", "spring", "-n", "--answers", "answers.json", "--policy", "ours")
    #expect(policy.code == 1 && policy.text.contains("would fail:\n  staleAnswers: "), "\(policy.text)")
  }

  @Test("files of --answers that cannot be used")
  func wrongAnswers() throws {
    let scratch = try conflicting()
    let place = #""kind":"bothChanged","object":"Note/1","property":"name","fingerprint":"1""#
    for text in [
      "", "{}", "7", #"["x"]"#, #"[{"answer":"ours"}]"#, "[{\(place),\"answer\":\"mine\"}]",
      "[{\(place),\"answer\":{\"value\":7}}]", "[{\(place),\"answer\":{\"other\":\"x\"}}]",
      #"[{"kind":"bothChanged","object":"Nothing/1","fingerprint":"1","answer":"ours"}]"#,
      #"[{"kind":"deletedOurs","object":"Note/1","fingerprint":"1","answer":{"value":1}}]"#,
    ] {
      try scratch.write(text, to: "answers.json")
      let run = try scratch.tool("branch", "merge", "spring", "--answers", "answers.json", "--json")
      #expect(run.code == 1, "\(text): \(run.errors)")
      #expect(try run.error()["kind"] as? String == "invalidAnswer", "\(text)")
    }
    let missing = try scratch.tool("branch", "merge", "spring", "--answers", "missing.json")
    #expect(missing.code == 1 && missing.errors.contains("missing.json cannot be read"))
  }

  @Test("1 for a result that breaks rules of the model, with all of them")
  func brokenRules() throws {
    let scratch = try Scratch()
    try scratch.makeStore()
    try scratch.succeed("insert", "Tag", "label=red")
    try scratch.succeed("insert", "Tag", "label=blue")
    try scratch.succeed("branch", "create", "spring")
    try scratch.succeed("set", "Tag/1", "label=green")
    try scratch.succeed("set", "Tag/2", "label=green", "--branch", "spring")
    let plan = try scratch.tool("branch", "merge", "spring", "-n")
    #expect(plan.code == 1 && plan.text.contains("would fail:\n"), "\(plan.text)")
    let dumped = try scratch.tool("branch", "merge", "spring", "-n", "--dump")
    #expect(dumped.code == 1 && dumped.errors.contains("spring cannot be merged: "), "\(dumped.errors)")
    #expect(dumped.errors.contains("Tag.label") || dumped.errors.contains("Tag/"), "\(dumped.errors)")
    let merge = try scratch.tool("branch", "merge", "spring", "--json")
    #expect(merge.code == 1)
    #expect(try merge.error()["kind"] as? String == "brokenRules")
    #expect(try merge.json()["errorCount"] as? Int == 1 && merge.json()["conflictCount"] as? Int == 0)
    try scratch.succeed("check")
  }

  @Test("an update takes the store's changes into the branch, and a publish after it the branch's")
  func update() throws {
    let scratch = try conflicting()
    let plan = try scratch.tool("branch", "update", "spring", "-n", "--policy", "ours", "--dump")
    #expect(plan.code == 0)
    let updated = try scratch.succeed("branch", "update", "spring", "--policy", "ours")
    #expect(
      updated.text.hasPrefix("merged the store into spring: 0 inserted, 1 updated, 0 deleted; 1 conflict resolved\n"))
    #expect(try scratch.succeed("dump", "--branch", "spring").text == plan.text)
    #expect(try scratch.succeed("get", "Note/1", "--branch", "spring", "--json").text.contains("\"count\":1"))
    // A conflict that was resolved does not come back.
    try scratch.succeed("branch", "merge", "spring")
    #expect(try scratch.succeed("dump").text == plan.text)
    try scratch.succeed("check")
  }

  @Test("a blob is shown by its size and digest, which an answer can give for a side")
  func blobs() throws {
    let scratch = try Scratch.filled(1)
    for (name, factor) in [("base", 3), ("ours", 5), ("theirs", 7)] {
      try Data((0..<100_000).map { UInt8(truncatingIfNeeded: $0 &* factor) }).write(
        to: URL(fileURLWithPath: scratch.file(name)))
    }
    try scratch.succeed("blob", "put", "Note/1", "data", scratch.file("base"))
    try scratch.succeed("branch", "create", "spring")
    try scratch.succeed("blob", "put", "Note/1", "data", scratch.file("ours"))
    try scratch.succeed("blob", "put", "Note/1", "data", scratch.file("theirs"), "--branch", "spring")
    let plan = try scratch.tool("branch", "merge", "spring", "-n", "--json")
    #expect(plan.code == 6)
    let conflict = try #require((try plan.json()["conflicts"] as? [[String: Any]])?.first)
    let values = ["base", "ours", "theirs"].compactMap { conflict[$0] as? [String: Any] }
    #expect(values.map { $0["size"] as? Int } == [100_000, 100_000, 100_000])
    let digests = Set(values.compactMap { $0["digest"] as? String })
    #expect(digests.count == 3 && digests.allSatisfy { !$0.isEmpty })
    // The members of the answer have another order than those of the conflict.
    func answer(_ value: [String: Any]) throws {
      var text = String(
        decoding: try JSONSerialization.data(withJSONObject: conflict, options: .sortedKeys), as: UTF8.self)
      let digest = try #require(value["digest"] as? String)
      text.removeFirst()
      text = #"[{"answer":{"value":{"size":100000,"digest":"\#(digest)"}},\#(text)]"#
      try Data(text.utf8).write(to: URL(fileURLWithPath: scratch.file("a.json")))
    }
    try answer(values[0])
    let refused = try scratch.tool("branch", "merge", "spring", "--answers", "a.json")
    #expect(refused.code == 1 && refused.errors.contains("a value of neither side"), "\(refused.errors)")
    try answer(values[2])
    try scratch.succeed("branch", "merge", "spring", "--answers", "a.json")
    #expect(try scratch.succeed("blob", "get", "Note/1", "data").output == scratch.read("theirs"))
    try scratch.succeed("check", "--read-data")
  }

  @Test("M11 a repeated key merges once, and limits refuse")
  func keysAndLimits() throws {
    let scratch = try conflicting()
    let limited = try scratch.tool("branch", "merge", "spring", "--policy", "ours", "--max-objects", "2", "--json")
    #expect(limited.code == 1)
    #expect(try limited.error()["kind"] as? String == "limitExceeded")
    let arguments = [
      "-s", scratch.store, "branch", "merge", "spring", "--policy", "ours", "--idempotency-key", "k", "--json",
    ]
    let first = try scratch.run(arguments).json()
    let plan = try scratch.run(arguments + ["-n"]).json()
    #expect(plan["repeated"] as? Bool == true && plan["merged"] as? Bool == false)
    let dumped = try scratch.succeed(
      "branch", "merge", "spring", "-n", "--dump", "--policy", "ours", "--idempotency-key", "k")
    #expect(try dumped.text == scratch.succeed("dump").text)
    #expect(first["merged"] as? Bool == true && first["repeated"] == nil)
    let second = try scratch.run(arguments).json()
    #expect(
      second["repeated"] as? Bool == true && second["objects"] as? [String: Int] == first["objects"] as? [String: Int])
  }

  @Test("M7 a model may have another userInfo key for its rules") func ruleKey() throws {
    let scratch = try Scratch()
    let total = #"<attribute name="total" attributeType="Integer 64" optional="YES" usesScalarValueType="NO""#
    let rule = total + #"><userInfo><entry key="onConflict" value="sum"/></userInfo></attribute>"#
    #expect(TestModel.contents.contains(total + "/>"))
    try TestModel.write(
      to: scratch.file("Notes.xcdatamodeld"), contents: TestModel.contents.replacing(total + "/>", with: rule))
    try scratch.succeed("init", "--model", scratch.file("Notes.xcdatamodeld"))
    try scratch.succeed("insert", "Note", "total=10")
    try scratch.succeed("branch", "create", "spring")
    try scratch.succeed("set", "Note/1", "total=11")
    try scratch.succeed("set", "Note/1", "total=15", "--branch", "spring")
    #expect(try scratch.tool("branch", "merge", "spring").code == 6)
    #expect(try scratch.tool("branch", "merge", "spring", "--rule-key", "onConflict").code == 64)
    try scratch.succeed("branch", "merge", "spring", "--rule-key", "merge=onConflict")
    #expect(try scratch.succeed("get", "Note/1").text.contains("16"))
  }

  @Test("M8 --no-snapshot merges without automatic snapshots") func noSnapshot() throws {
    let scratch = try conflicting()
    let merged = try scratch.succeed("branch", "merge", "spring", "--policy", "ours", "--no-snapshot", "--json").json()
    #expect(merged["snapshots"] as? [String] == [])
    #expect(try scratch.succeed("snapshot", "list", "--json").json()["snapshots"] as? [String] == [])
  }
}
