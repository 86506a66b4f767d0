import Foundation
import KVCloneTestSupport
import Testing

@Suite("kvclone: load and dump")
struct TransferCommandTests {
  private static let full = """
    {"id":"Item/1","attributes":{"name":"i","rank":3},"relationships":{"note":"Note/1","tags":["Tag/1","Tag/2"]}}
    {"id":"Item/2","attributes":{"name":"unnamed"},"relationships":{"note":"Note/1"}}
    {"id":"Note/1","attributes":{"count":-32768,"created":"2021-11-15T08:10:00.25Z","data":{"base64":"AP8="},"flag":false,"id":"E621E1F8-C36C-495A-93FC-0C247A3E6E5F","link":"x:y","name":"é😀\\n","price":"12345678901234567890.5","ratio":-0,"size":0.1,"total":9223372036854775807},"relationships":{"items":["Item/2","Item/1"],"summary":"Summary/1"}}
    {"id":"Summary/1","attributes":{},"relationships":{"note":"Note/1"}}
    {"id":"Tag/1","attributes":{"label":"a"},"relationships":{"items":["Item/1"]}}
    {"id":"Tag/2","attributes":{"label":"b"},"relationships":{"items":["Item/1"]}}

    """

  @Test("a dump loads into an equal store, which dumps equal text")
  func roundTrip() throws {
    let scratch = try Scratch()
    try scratch.makeStore()
    let loaded = try scratch.succeed("load", "-", "--json", input: Self.full).json()
    #expect(loaded["objects"] as? Int == 6)
    #expect(loaded["counts"] as? [String: Int] == ["Item": 2, "Note": 1, "Summary": 1, "Tag": 2])
    #expect((loaded["ids"] as? [String: String])?["Note/1"]?.hasPrefix("Note/") == true)
    let dump = try scratch.succeed("dump").text
    let lines = dump.split(separator: "\n", maxSplits: 1)
    let header = try #require(try JSONSerialization.jsonObject(with: Data(lines[0].utf8)) as? [String: Any])
    #expect(header["kvclone"] as? Int == 1)
    #expect(header["model"] as? String == "Notes")
    #expect(header["modelHash"] is String && header["store"] is String)
    try scratch.write(dump, to: "dump.ndjson")
    let second = try Scratch()
    try second.makeStore()
    try second.succeed("load", scratch.file("dump.ndjson"), "--strict")
    let again = try second.succeed("dump").text.split(separator: "\n", maxSplits: 1)
    #expect(again[1] == lines[1])
    try second.succeed("check")
    // Ids in the text are labels: objects of one entity may appear in any order.
    #expect(dump.contains(#""items":["Item/2","Item/1"]"#))
    #expect(dump.contains(#""ratio":-0,"#) && dump.contains("é😀"))
  }

  @Test("forward and backward references, one side or both, and an ordered side that decides")
  func references() throws {
    let scratch = try Scratch()
    try scratch.makeStore()
    let lines = """
      {"id":"Item/10","relationships":{"note":"Note/5","tags":["Tag/1"]}}
      {"id":"Item/20","relationships":{"note":"Note/5"}}
      {"id":"Note/5","relationships":{"items":["Item/20","Item/10"]}}
      {"id":"Item/30","relationships":{"note":"Note/6"}}
      {"id":"Note/6"}
      {"id":"Item/40","relationships":{"note":"Note/6"}}
      {"id":"Tag/1","attributes":{"label":"a"}}
      """
    try scratch.succeed("load", input: lines)
    let dump = try scratch.succeed("dump", "Note").text
    #expect(dump.contains(#""items":["Item/3","Item/1"]"#) || dump.contains(#""items":["Item/2","Item/1"]"#))
    #expect(dump.split(separator: "\n").count == 3)
    let more = """
      {"id":"Item/1","relationships":{"note":"@Note/3","tags":["@Tag/1"]}}
      """
    let stored = try scratch.tool("load", input: more)
    #expect([0, 1].contains(stored.code))
    try scratch.succeed("check")
  }

  @Test("objects that the store has are linked with @")
  func storedObjects() throws {
    let scratch = try Scratch()
    try scratch.makeStore()
    try scratch.succeed("insert", "Tag", "label=a")
    try scratch.succeed("insert", "Note")
    try scratch.succeed("insert", "Item", "note=Note/1", "tags=Tag/1")
    let line = #"{"id":"Item/1","relationships":{"note":"@Note/1","tags":["@Tag/1"]}}"#
    try scratch.succeed("load", input: line)
    let note = try scratch.succeed("get", "Note/1", "--json").json()
    let items = (note["relationships"] as? [String: Any])?["items"] as? [String]
    #expect(items?.count == 2 && items?.first == "Item/1")
  }

  @Test(
    "a bad line is an error with its number, and nothing is loaded",
    arguments: [
      (["{"], 1, "unreadableLine"), (["[]"], 1, "unreadableLine"), ([#"{"id":5}"#], 1, "unreadableLine"),
      ([#"{"attributes":{}}"#], 1, "unreadableLine"), ([#"{"id":"Tag"}"#], 1, "unreadableLine"),
      ([#"{"id":"Tag/x"}"#], 1, "unreadableLine"), ([#"{"id":"Tag/1","secret":1}"#], 1, "unreadableLine"),
      ([#"{"id":"Tag/1","attributes":[]}"#], 1, "unreadableLine"),
      ([#"{"id":"Nobody/1"}"#], 1, "unknownEntity"), ([#"{"id":"Base/1"}"#], 1, "abstractEntity"),
      ([#"{"id":"Note/1"}"#, #"{"id":"Note/1"}"#], 2, "duplicateID"),
      ([#"{"id":"Note/1","attributes":{"nonsense":1}}"#], 1, "unknownProperty"),
      ([#"{"id":"Note/1","relationships":{"nonsense":null}}"#], 1, "unknownProperty"),
      ([#"{"id":"Note/1"}"#, #"{"id":"Note/2","attributes":{"count":"secret"}}"#], 2, "wrongType"),
      ([#"{"id":"Note/1","attributes":{"count":99999}}"#], 1, "outOfRange"),
      ([#"{"id":"Note/1","relationships":{"items":"Item/1"}}"#], 1, "wrongType"),
      ([#"{"id":"Item/1","relationships":{"note":["Note/1"]}}"#], 1, "wrongType"),
      ([#"{"id":"Item/1","relationships":{"note":"Tag/1"}}"#], 1, "wrongDestination"),
      ([#"{"id":"Item/1"}"#, #"{"id":"Item/2","relationships":{"note":"Note/1"}}"#], 2, "danglingID"),
      ([#"{"id":"Item/1","relationships":{"note":"@Note/1"}}"#], 1, "objectNotFound"),
      ([#"{"id":"Tag/1"}"#], 1, "requiredValueMissing"),
      ([#"{"id":"Item/1"}"#, #"{"id":"Item/2","attributes":{"rank":101}}"#], 2, "valueTooLarge"),
      (
        [#"{"id":"Tag/1","attributes":{"label":"s"}}"#, #"{"id":"Tag/2","attributes":{"label":"s"}}"#], 2,
        "uniquenessConflict"
      ),
      ([#"{"id":"Summary/1"}"#], 1, "requiredRelationshipMissing"),
      (
        [#"{"id":"Note/1","relationships":{"items":[]}}"#, #"{"id":"Item/1","relationships":{"note":"Note/1"}}"#], 2,
        "disagreement"
      ),
      (
        [#"{"id":"Note/1","relationships":{"items":["Item/1"]}}"#, #"{"id":"Item/1","relationships":{"note":null}}"#],
        1, "disagreement"
      ),
      ([#"{"id":"Note/1","relationships":{"items":["Item/1","Item/1"]}}"#, #"{"id":"Item/1"}"#], 1, "disagreement"),
      (
        [
          #"{"id":"Item/1"}"#, #"{"id":"Note/1","relationships":{"items":["Item/1"]}}"#,
          #"{"id":"Note/2","relationships":{"items":["Item/1"]}}"#,
        ], 3, "disagreement"
      ),
    ] as [([String], Int, String)])
  func refusals(_ lines: [String], _ line: Int, _ kind: String) throws {
    let scratch = try Scratch()
    try scratch.makeStore()
    let result = try scratch.tool("load", "--json", input: lines.joined(separator: "\n"))
    #expect(result.code == 1)
    let error = try result.error()
    #expect(error["kind"] as? String == kind, "\(result.errors)")
    #expect(error["line"] as? Int == line, "\(result.errors)")
    #expect((error["message"] as? String)?.hasPrefix("line \(line): ") == true, "\(result.errors)")
    #expect(!result.errors.contains("secret"))
    #expect(try scratch.succeed("info", "--json").json()["objects"] as? Int == 0)
    try scratch.succeed("check")
  }

  @Test("batches that were committed stay, and the error says how many objects they have")
  func batches() throws {
    let scratch = try Scratch()
    try scratch.makeStore()
    let lines = (1...5).map { #"{"id":"Item/\#($0)"}"# } + [#"{"id":"Item/6","attributes":{"rank":"x"}}"#]
    let result = try scratch.tool("load", "--batch", "2", "--json", input: lines.joined(separator: "\n"))
    #expect(result.code == 1)
    #expect(try result.error()["line"] as? Int == 6)
    #expect((try result.error()["message"] as? String)?.contains("4 objects") == true)
    #expect(try scratch.succeed("info", "--json").json()["objects"] as? Int == 4)
    let backward = [
      #"{"id":"Note/1"}"#, #"{"id":"Item/1","relationships":{"note":"Note/1"}}"#,
      #"{"id":"Item/2","relationships":{"note":"Note/1"}}"#,
    ]
    try scratch.succeed("load", "--batch", "1", input: backward.joined(separator: "\n"))
    let note = try scratch.succeed("get", "Note/1", "--json").json()
    let items = (note["relationships"] as? [String: Any])?["items"] as? [String]
    #expect(items?.count == 2)
    let forward = [#"{"id":"Item/1","relationships":{"note":"Note/1"}}"#, #"{"id":"Note/1"}"#]
    let refused = try scratch.tool("load", "--batch", "1", "--json", input: forward.joined(separator: "\n"))
    #expect(try refused.error()["kind"] as? String == "danglingID")
    #expect((try refused.error()["message"] as? String)?.contains("--batch") == true)
  }

  @Test("--strict requires a header of this model")
  func strict() throws {
    let scratch = try Scratch()
    try scratch.makeStore()
    let headless = try scratch.tool("load", "--strict", "--json", input: #"{"id":"Item/1"}"#)
    #expect(try headless.error()["kind"] as? String == "incompatibleHeader")
    let other = "{\"kvclone\":1,\"modelHash\":\"00\"}\n{\"id\":\"Item/1\"}\n"
    #expect(try scratch.tool("load", "--strict", input: other).code == 1)
    try scratch.succeed("load", input: other)
    #expect(try scratch.tool("load", input: "{\"kvclone\":2}\n").code == 1)
  }

  @Test("blobs go into files and come back, from the text's directory only")
  func blobFiles() throws {
    let scratch = try Scratch()
    try scratch.makeStore()
    try scratch.succeed("insert", "Note")
    let bytes = Data((0..<2_000_003).map { UInt8(truncatingIfNeeded: $0 &* 7 ^ $0 >> 9) })
    try bytes.write(to: URL(fileURLWithPath: scratch.file("in.bin")))
    try scratch.succeed("blob", "put", "Note/1", "data", scratch.file("in.bin"))
    let inline = try scratch.succeed("dump").text
    #expect(inline.contains(bytes.base64EncodedString()))
    let dump = try scratch.succeed("dump", "--blobs", scratch.file("blobs")).text
    #expect(dump.contains(#"{"file":"blobs/"#) && dump.contains(#""size":2000003}"#), "\(dump)")
    try scratch.write(dump, to: "dump.ndjson")
    for input in [dump, inline] {
      try scratch.write(input, to: "dump.ndjson")
      let second = try Scratch()
      try second.makeStore()
      try second.succeed("load", scratch.file("dump.ndjson"))
      #expect(try second.succeed("blob", "get", "Note/1", "data").output == bytes)
    }
    try FileManager.default.createSymbolicLink(atPath: scratch.file("way-out"), withDestinationPath: "/etc")
    for file in ["/etc/hostname", "../x", "blobs/../in.bin", "way-out/hostname", "blobs", "nothing", "", "./in.bin"] {
      let line = #"{"id":"Note/1","attributes":{"data":{"file":"\#(file)"}}}"#
      let result = try scratch.tool("load", "--json", input: line)
      #expect(result.code == 1, "\(file)")
      #expect(try result.error()["kind"] as? String == "invalidFile", "\(file)")
    }
    let wrongSize = #"{"id":"Note/1","attributes":{"data":{"file":"in.bin","size":5}}}"#
    #expect(try scratch.tool("load", input: wrongSize).code == 1)
  }

  @Test("--from dumps what a clone would copy, ready to load next to it")
  func from() throws {
    let scratch = try Scratch()
    try scratch.makeStore()
    try scratch.succeed("load", input: Self.full)
    let dump = try scratch.succeed("dump", "--from", "Note/1").text
    #expect(dump.split(separator: "\n").count == 1 + 4)
    #expect(dump.contains(#""tags":["@Tag/1","@Tag/2"]"#), "\(dump)")
    try scratch.succeed("load", input: dump)
    #expect(
      try scratch.succeed("info", "--json").json()["counts"] as? [String: Int] == [
        "Item": 4, "Note": 2, "Summary": 2, "Tag": 2,
      ])
    #expect(try scratch.tool("dump", "--from", "Note/99").code == 1)
    #expect(try scratch.tool("dump", "Nobody").code == 1)
  }

  /// Whether the process holds the opening lock of the store: a write lock on a byte far beyond the end of `lock.mdb`.
  private static func isOpening(_ process: Int32, _ store: String) throws -> Bool {
    try ProcessLocks.lines(of: process, on: store + "/lock.mdb").contains { $0.contains(" \(UInt64(1) << 62) ") }
  }

  @Test("a load of a file holds the store (11); an interrupt ends it (130) with nothing half done")
  func busyAndInterrupt() throws {
    let scratch = try Scratch()
    try scratch.makeStore()
    // A file is read while the lock is held. It has enough lines for the test to observe the open transaction.
    try scratch.write(Scratch.notes(200_000), to: "notes.ndjson")
    let load = scratch.process(["--store", scratch.store, "load", scratch.file("notes.ndjson")])
    load.standardOutput = FileHandle.nullDevice
    load.standardError = FileHandle.nullDevice
    try load.run()
    // Inserts succeed until the load has begun its transaction.
    var inserted = 0
    var code: Int32 = 0
    while inserted < 1000, load.isRunning {
      kill(load.processIdentifier, SIGSTOP)
      // A process that is stopped while it opens the store would block all others. The signal needs a moment.
      usleep(2000)
      if try Self.isOpening(load.processIdentifier, scratch.store) {
        kill(load.processIdentifier, SIGCONT)
        continue
      }
      code = try scratch.tool("insert", "Item").code
      if code == 0 { inserted += 1 }
      if code == 11 { break }
      kill(load.processIdentifier, SIGCONT)
      // Time to read the lines ahead, which needs no lock.
      usleep(5000)
    }
    #expect(code == 11)
    #expect(try scratch.succeed("info", "--json").json()["objects"] as? Int == inserted)
    kill(load.processIdentifier, SIGCONT)
    load.interrupt()
    load.waitUntilExit()
    #expect(load.terminationReason == .exit)
    #expect(load.terminationStatus == 130)
    try scratch.succeed("insert", "Item")
    #expect(try scratch.succeed("info", "--json").json()["objects"] as? Int == inserted + 1)
    try scratch.succeed("check")
  }
}
