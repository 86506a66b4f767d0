import Foundation
import Testing

/// Plans of the tool: exit code 0 means that the operation succeeds on the same state, and 1 lists every reason.
struct PlanCommandTests {
  private static func version(_ code: String, unique: Bool = false) -> String {
    let constraint =
      unique
      ? "<uniquenessConstraints><uniquenessConstraint><constraint value=\"name\"/></uniquenessConstraint></uniquenessConstraints>"
      : ""
    return """
      <model><entity name="Row">
        <attribute name="name" optional="YES" attributeType="String"/>
        <attribute name="code" optional="YES" attributeType="\(code)"/>\(constraint)
      </entity></model>
      """
  }

  /// Creates a store of a model with a next version that has numbers instead of strings, and unique names.
  ///
  /// - Parameter valid: whether the rows are valid in the next version, too.
  private func rows(_ count: Int, valid: Bool = false) throws -> Scratch {
    let scratch = try Scratch()
    let versions = [
      ("Rows", Self.version("String")), ("Rows 2", Self.version("Integer 16", unique: true)),
    ]
    for (name, contents) in versions {
      let folder = scratch.file("Rows.xcdatamodeld/\(name).xcdatamodel")
      try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
      try scratch.write(contents, to: "Rows.xcdatamodeld/\(name).xcdatamodel/contents")
    }
    try scratch.succeed("init", "--model", scratch.file("Rows.xcdatamodeld"), "--model-version", "Rows")
    let lines = (1...count).map {
      #"{"id":"Row/\#($0)","attributes":{"name":"n\#(valid ? $0 : $0 / 2)","code":"\#(valid ? "7" : "male")"}}"#
    }
    try scratch.succeed("load", "-", input: lines.joined(separator: "\n") + "\n")
    return scratch
  }

  @Test func aMigrationPlanListsEveryReasonAndChangesNothing() throws {
    let scratch = try rows(130)
    let arguments = ["migrate", "--model", scratch.file("Rows.xcdatamodeld"), "--to", "Rows 2"]
    let before = try scratch.succeed("info", "--json").text
    let run = try scratch.run(["--store", scratch.store] + arguments + ["--plan", "--json"])
    let plan = try run.json()
    #expect(run.code == 1 && plan["possible"] as? Bool == false)
    let errors = try #require(plan["errors"] as? [[String: Any]])
    // 130 values, and the names n1 to n64 twice.
    #expect(errors.count == 100 && plan["errorCount"] as? Int == 194)
    #expect(errors.first?["kind"] as? String == "notConvertible" && errors.first?["object"] as? String == "Row/1")
    #expect(errors.allSatisfy { $0["property"] as? String == "code" && $0["message"] is String })
    let text = try scratch.run(["--store", scratch.store] + arguments + ["--plan"])
    #expect(text.code == 1 && text.text.contains("\n  and 94 more\n"), "\(text.text.suffix(300))")
    #expect(try scratch.succeed("info", "--json").text == before)
    let real = try scratch.run(["--store", scratch.store] + arguments)
    #expect(real.code == 1)
  }

  @Test func aMigrationDoesWhatItsPlanSays() throws {
    let scratch = try rows(130, valid: true)
    let arguments = ["migrate", "--model", scratch.file("Rows.xcdatamodeld"), "--to", "Rows 2"]
    let possible = try scratch.run(["--store", scratch.store] + arguments + ["--plan", "--json"])
    let done = try scratch.run(["--store", scratch.store] + arguments + ["--json"])
    #expect(possible.code == 0 && done.code == 0, "\(possible.text) \(done.errors)")
    let (planned, result) = (try possible.json(), try done.json())
    #expect(planned["errorCount"] as? Int == 0)
    for field in ["rewritten", "moved", "created", "deleted", "bytes"] {
      #expect(planned[field] as? Int == result[field] as? Int && planned[field] != nil, "\(field)")
    }
  }

  @Test func aRollbackPlanRefusesValuesThatAreTaken() throws {
    let scratch = try rows(2)
    try scratch.succeed("set", "Row/1", "code=1", "name=A")
    try scratch.succeed("set", "Row/2", "code=2", "name=B")
    try scratch.succeed("migrate", "--model", scratch.file("Rows.xcdatamodeld"), "--to", "Rows 2")
    try scratch.succeed("snapshot", "create", "s")
    for (object, name) in [("Row/1", "C"), ("Row/2", "A"), ("Row/1", "B")] {
      try scratch.succeed("set", object, "name=\(name)")
    }
    let plan = try scratch.tool("snapshot", "rollback", "s", "--object", "Row/1", "-n", "--json")
    let errors = try #require(try plan.json()["errors"] as? [[String: Any]])
    #expect(plan.code == 1 && errors.count == 1)
    #expect(errors.first?["kind"] as? String == "uniquenessConflict")
    #expect(errors.first?["object"] as? String == "Row/1" && errors.first?["property"] as? String == "name")
    #expect(try scratch.tool("snapshot", "rollback", "s", "--object", "Row/1").code == 1)
    let both = ["snapshot", "rollback", "s", "--object", "Row/1", "--object", "Row/2", "--json"]
    let planned = try scratch.run(["--store", scratch.store] + both + ["-n"])
    let done = try scratch.run(["--store", scratch.store] + both)
    #expect(planned.code == 0 && done.code == 0)
    let (one, other) = (try planned.json(), try done.json())
    for field in ["updated", "recreated", "deleted", "replacedBytes"] {
      #expect(one[field] as? Int == other[field] as? Int && one[field] != nil, "\(field)")
    }
    #expect(one["committed"] as? Bool == false && other["committed"] as? Bool == true)
  }

  @Test func aClonePlanRefusesMoreThanAFileCanHold() throws {
    let scratch = try rows(1)
    for count in ["99999999999", "281474976710656", "9223372036854775807"] {
      let plan = try scratch.tool("clone", "Row/1", "--count", count, "-n", "--json")
      let errorCount = try plan.json()["errorCount"] as? Int
      #expect(plan.code == 1 && errorCount == 1, "\(count)")
      let clone = try scratch.tool("clone", "Row/1", "--count", count)
      #expect(clone.code == 1, "\(count)")
    }
    #expect(try scratch.succeed("info", "--json").json()["objects"] as? Int == 1)
  }

  private static let canMount =
    getuid() == 0 && Programs.has("unshare")
    && (try? Scratch().runProgram(
      "/usr/bin/env", ["unshare", "--mount", "mount", "-t", "tmpfs", "none", "/mnt"]))?.code == 0

  /// Counts around the one that fills the disk, each in a separate store.
  @Test(.enabled(if: canMount, "mounting needs root"))
  func plansAgreeWithWhatAFullDiskLetsThrough() throws {
    let scratch = try rows(4)
    let script = """
      set -e; mkdir disk; mount -t tmpfs -o size=1600k none disk
      for count in 10 18000 19000 19300 19600 20000 60000; do
        cp -r store disk/s
        p=0; kvclone -q -s disk/s clone Row/1 --count $count -n >/dev/null || p=$?
        r=0; kvclone -q -s disk/s clone Row/1 --count $count >/dev/null 2>&1 || r=$?
        echo "clone $count $p $r"; kvclone -q -s disk/s check >/dev/null; rm -r disk/s
      done
      for size in 100 500 700; do
        cp -r store disk/s
        kvclone -q -s disk/s clone Row/1 --count 3000 >/dev/null
        kvclone -q -s disk/s snapshot create s >/dev/null
        kvclone -q -s disk/s query Row TRUEPREDICATE --format ids >ids
        head -n $((size * 3)) ids | tail -n +2 | xargs kvclone -q -s disk/s delete >/dev/null || true
        dd if=/dev/zero of=disk/filler bs=1024 count=$((size / 2)) 2>/dev/null || true
        p=0; kvclone -q -s disk/s snapshot rollback s -n >/dev/null || p=$?
        r=0; kvclone -q -s disk/s snapshot rollback s >/dev/null 2>&1 || r=$?
        echo "rollback $size $p $r"; kvclone -q -s disk/s check >/dev/null; rm -r disk/s disk/filler
      done
      """
    let run = try scratch.runProgram(
      "/usr/bin/env", ["unshare", "--mount", "--propagation", "private", "bash", "-c", script], isHere: true)
    #expect(run.code == 0, "\(run.text) \(run.errors)")
    var codes: Set<String> = []
    for line in run.text.split(separator: "\n") {
      let parts = line.split(separator: " ")
      try #require(parts.count == 4)
      // A plan may reject an operation that would just fit, but never accept one that fails.
      if parts[2] == "0" { #expect(parts[3] == "0", "\(line)") }
      codes.insert(String(parts[2]))
    }
    #expect(codes == ["0", "1"], "\(run.text)")
  }
}

/// Plans of imports check the destination of the new store.
extension ImportCommandTests {
  @Test("a plan of an import fails wherever the import would, for its destination")
  func destinations() throws {
    let (scratch, path) = try place()
    let model = scratch.file("Fixture.xcdatamodeld")
    try FileManager.default.createDirectory(atPath: scratch.file("empty"), withIntermediateDirectories: true)
    try scratch.write("text", to: "file")
    try FileManager.default.createSymbolicLink(atPath: scratch.file("dangling"), withDestinationPath: "nowhere")
    let names = ["empty", "file", "dangling", "missing/store", "file/store", String(repeating: "n", count: 300), "new"]
    for name in names {
      let store = scratch.file(name)
      let before = try FileManager.default.contentsOfDirectory(atPath: scratch.path).sorted()
      let plan = try scratch.run(["--store", store, "import", "--plan", "--json", "--model", model, path])
      #expect(try FileManager.default.contentsOfDirectory(atPath: scratch.path).sorted() == before, "\(name)")
      let made = try scratch.run(["--store", store, "import", "--json", "--model", model, path])
      #expect(plan.code == made.code && plan.code == (name == "new" ? 0 : 1), "\(name): \(plan.errors) \(made.errors)")
      if plan.code == 1 {
        let kinds = (try plan.error()["kind"] as? String, try made.error()["kind"] as? String)
        #expect(kinds.0 == kinds.1 && kinds.0 != nil, "\(name)")
      } else {
        let fields = ["objects", "links", "bytes", "fileBytes", "externalFiles", "skippedCount"]
        let (one, other) = (try plan.json(), try made.json())
        for field in fields { #expect(one[field] as? Int == other[field] as? Int, "\(field)") }
      }
    }
  }
}
