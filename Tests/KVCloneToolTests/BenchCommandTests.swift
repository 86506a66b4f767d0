import Foundation
import KVCloneExplorer
import Testing

/// `kvclone bench`: its output, and the removal of its files.
@Suite("kvclone: bench")
struct BenchCommandTests {
  private static let small = [
    "bench", "--objects", "300", "--images", "3", "--image-bytes", "5000", "--rounds", "2", "--seed", "7",
  ]

  private func names(_ scratch: Scratch) throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: scratch.path)
  }

  @Test("every step in JSON, with its work and speed; nothing stays")
  func json() throws {
    let scratch = try Scratch()
    let run = try scratch.run(Self.small + ["--json"])
    #expect(run.code == 0, "\(run.errors)")
    let json = try run.json()
    #expect(json["objects"] as? Int == 300 && json["images"] as? Int == 3 && json["imageBytes"] as? Int == 5000)
    #expect(json["seed"] as? Int == 7 && json["rounds"] as? Int == 2 && (json["fileBytes"] as? Int ?? 0) > 15_000)
    let steps = try #require(json["steps"] as? [[String: Any]])
    let counts = Dictionary(
      uniqueKeysWithValues: steps.map { ($0["name"] as? String ?? "", $0["count"] as? Int ?? 0) })
    // 300 objects: a library, 24 tags, 3 albums, 272 photos. The tags are shared by the clone.
    #expect(
      counts == [
        "insert": 300, "images": 15_000, "read": 272, "query": 272, "scan": 544, "clone": 276, "delete": 276,
        "commits": 100, "snapshot": 1,
      ])
    for step in steps {
      let times = ["minSeconds", "medianSeconds", "maxSeconds"].map { step[$0] as? Double ?? -1 }
      #expect(times == times.sorted() && times[0] > 0, "\(step)")
      let rate = try #require(step["rate"] as? Double)
      #expect(abs(rate * times[1] - Double(step["count"] as? Int ?? 0)) < 0.5, "\(step)")
      #expect(step["unit"] is String)
    }
    #expect(try names(scratch).isEmpty)
  }

  @Test("a table of at most 80 columns; --quiet leaves out the line below it; --at says where")
  func table() throws {
    let scratch = try Scratch()
    try FileManager.default.createDirectory(atPath: scratch.file("disk"), withIntermediateDirectories: false)
    let run = try scratch.run(Self.small + ["--at", "disk", "--images", "0"])
    #expect(run.code == 0 && run.errors.isEmpty, "\(run.errors)")
    let lines = run.text.split(separator: "\n").map(String.init)
    // A heading, the steps without images, and a line with the parameters.
    #expect(lines.count == 10 && lines[0].hasPrefix("STEP") && !run.text.contains("images  "), "\(run.text)")
    #expect(lines.allSatisfy { $0.count <= 80 }, "\(run.text)")
    #expect(lines[9].contains("2 rounds with 300 objects") && lines[9].contains("seed 7"))
    #expect(try scratch.run(Self.small + ["--quiet"]).text.split(separator: "\n").count == 10)
    #expect(try names(scratch) == ["disk"])
    #expect(try FileManager.default.contentsOfDirectory(atPath: scratch.file("disk")).isEmpty)
  }

  @Test("too little room, a store, no directory, wrong numbers: nothing begins")
  func refusals() throws {
    let scratch = try Scratch()
    try scratch.makeStore()
    let before = try names(scratch).sorted()
    let room = try scratch.run(
      ["bench", "--json", "--objects", "100000000", "--images", "90000000", "--image-bytes", "1000000000"])
    #expect(room.code == 1)
    #expect(try room.error()["kind"] as? String == "diskFull")
    let inStore = try scratch.run(["bench", "--json", "--at", "store"])
    #expect(inStore.code == 1)
    #expect(try inStore.error()["kind"] as? String == "storeExists")
    let nowhere = try scratch.run(["bench", "--json", "--at", "nothing"])
    #expect(nowhere.code == 1)
    #expect(try nowhere.error()["kind"] as? String == "io")
    for wrong in [
      ["--objects", "99"], ["--objects", "many"], ["--images", "-1"], ["--objects", "100", "--images", "1000"],
      ["--rounds", "0"], ["--image-bytes", "0"], ["--at", ""], ["--store", scratch.store],
    ] {
      #expect(try scratch.run(["bench"] + wrong).code == 64, "\(wrong)")
    }
    #expect(try names(scratch).sorted() == before)
    #expect(try scratch.succeed("info", "--json").json()["objects"] as? Int == 0)
  }

  @Test("an interrupt ends it (130), and removes its files")
  func interrupt() throws {
    let scratch = try Scratch()
    let process = scratch.process(["bench", "--objects", "2000", "--images", "0", "--rounds", "1000"])
    let errors = Pipe()
    process.standardError = errors
    process.standardOutput = FileHandle.nullDevice
    try process.run()
    // The temporary directory shows that the command is running.
    while process.isRunning, try names(scratch).isEmpty {}
    process.interrupt()
    let text = String(decoding: errors.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    #expect(process.terminationReason == .exit && process.terminationStatus == 130, "\(text)")
    #expect(text == "kvclone: interrupted; no partial changes remain\n")
    #expect(try names(scratch).isEmpty)
  }
}
