import Foundation
import Testing

/// `kvclone export`, and the import of its output.
@Suite("kvclone: export")
struct ExportCommandTests {
  private static let lines = """
    {"id":"Item/1","attributes":{"name":"i","rank":3},"relationships":{"note":"Note/1","tags":["Tag/1"]}}
    {"id":"Note/1","attributes":{"created":"2021-11-15T08:10:00.25Z","name":"é","price":"1.5"}}
    {"id":"Summary/1","relationships":{"note":"Note/1"}}
    {"id":"Tag/1","attributes":{"label":"a"}}

    """

  private func filled() throws -> Scratch {
    let scratch = try Scratch()
    try scratch.makeStore()
    try scratch.succeed("load", "-", input: Self.lines)
    return scratch
  }

  private func names(_ scratch: Scratch) throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: scratch.path).filter { $0 != "Notes.xcdatamodeld" }.sorted()
  }

  /// Returns the output without the store's UUID.
  private func objects(_ text: String) -> Substring { text.drop { $0 != "\n" } }

  @Test("what README.txt says loads it again")
  func roundTrip() throws {
    let scratch = try filled()
    let image = Data((0..<2_000_003).map { UInt8(truncatingIfNeeded: $0 &* 7 ^ $0 >> 9) })
    try image.write(to: URL(fileURLWithPath: scratch.file("in.bin")))
    try scratch.succeed("blob", "put", "Note/1", "data", scratch.file("in.bin"))
    let made = try scratch.succeed("export", scratch.file("e"), "--json").json()
    let info = try scratch.succeed("info", "--json").json()
    #expect(made["path"] as? String == scratch.file("e") && made["model"] as? String == "Notes.xcdatamodeld")
    #expect(made["modelHash"] as? String == info["modelHash"] as? String)
    #expect(made["modelVersion"] as? String == "Notes" && made["objects"] as? Int == 4)
    #expect(made["counts"] as? [String: Int] == ["Item": 1, "Note": 1, "Summary": 1, "Tag": 1])
    #expect(made["blobs"] as? Int == 1 && made["blobBytes"] as? Int == image.count)
    #expect((made["bytes"] as? Int ?? 0) > image.count && made["seconds"] is Double)
    let readme = String(decoding: try scratch.read("e/README.txt"), as: UTF8.self)
    let commands = readme.split(separator: "\n").map { $0.drop(while: \.isWhitespace) }.filter {
      $0.hasPrefix("kvclone ")
    }
    #expect(commands.count == 3)
    for command in commands {
      let words = command.split(separator: " ").dropFirst().map { String($0.replacing("'", with: "")) }
      let process = scratch.process(words)
      process.currentDirectoryURL = URL(fileURLWithPath: scratch.file("e"))
      process.standardOutput = FileHandle.nullDevice
      try process.run()
      process.waitUntilExit()
      #expect(process.terminationStatus == 0, "\(command)")
    }
    let copy = scratch.file("e/NEW.kvclone")
    #expect(try objects(scratch.run(["-s", copy, "dump"]).text) == objects(scratch.succeed("dump").text))
    #expect(try scratch.run(["-s", copy, "blob", "get", "Note/1", "data"]).output == image)
    #expect(try scratch.run(["-s", copy, "check", "--read-data"]).code == 0)
    let again = try scratch.run(["-s", copy, "info", "--json"]).json()
    #expect(again["model"] as? String == "Notes" && again["modelHash"] as? String == info["modelHash"] as? String)
    let plain = try scratch.succeed("export", scratch.file("f"))
    #expect(plain.text.hasPrefix("exported to \(scratch.file("f")): 4 objects, 1 blob, "), "\(plain.text)")
    #expect(try scratch.succeed("export", scratch.file("g"), "--quiet").text.isEmpty)
  }

  @Test("a snapshot is exported unchanged")
  func snapshot() throws {
    let scratch = try filled()
    let before = try scratch.succeed("dump").text
    try scratch.succeed("snapshot", "create", "s")
    try scratch.succeed("delete", "Tag/1")
    let made = try scratch.succeed("export", scratch.file("e"), "--snapshot", "s", "--json").json()
    #expect(made["snapshot"] as? String == "s" && made["objects"] as? Int == 4)
    #expect(String(decoding: try scratch.read("e/objects.ndjson"), as: UTF8.self) == before)
  }

  @Test("wrong usage, existing destinations, no store, and nothing left")
  func refusals() throws {
    let scratch = try filled()
    #expect(try scratch.tool("export").code == 64)
    #expect(try scratch.tool("export", "").code == 64)
    #expect(try scratch.tool("export", "x", "--snapshot", "").code == 64)
    #expect(try scratch.run(["-s", scratch.file("no"), "export", "x"]).code == 10)
    let existing = try scratch.tool("export", scratch.store, "--json")
    #expect(try existing.code == 1 && existing.error()["kind"] as? String == "fileExists")
    let missing = try scratch.tool("export", "x", "--snapshot", "no", "--json")
    #expect(try missing.code == 1 && missing.error()["kind"] as? String == "snapshotNotFound")
    #expect(try scratch.tool("export", scratch.file("no/x")).code == 1)
    #expect(try names(scratch) == ["store"])
  }

  @Test("an interrupt ends it (130), and nothing is left")
  func interrupt() throws {
    let scratch = try filled()
    // Large enough that a signal arrives before the end.
    let blob = Data((0..<4_000_000).map { UInt8(truncatingIfNeeded: $0 &* 31 >> 3) })
    try blob.write(to: URL(fileURLWithPath: scratch.file("blob")))
    for number in 1...30 {
      if number > 1 { try scratch.succeed("insert", "Note") }
      try scratch.succeed("blob", "put", "Note/\(number)", "data", scratch.file("blob"))
    }
    try FileManager.default.removeItem(atPath: scratch.file("blob"))
    let process = scratch.process(["-s", scratch.store, "export", "e"])
    let errors = Pipe()
    process.standardError = errors
    process.standardOutput = FileHandle.nullDevice
    try process.run()
    // The temporary folder shows that the command is running.
    while process.isRunning, try names(scratch).count < 2 {}
    process.interrupt()
    let text = String(decoding: errors.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    #expect(process.terminationReason == .exit && process.terminationStatus == 130, "\(text)")
    #expect(text == "kvclone: interrupted; no partial changes remain\n")
    #expect(try names(scratch) == ["store"])
    try scratch.succeed("check")
  }
}
