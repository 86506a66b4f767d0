import Foundation
import Testing

/// Progress with and without a terminal, and interrupts, which leave no partial changes.
@Suite("kvclone: progress")
struct ProgressTests {
  private static let need: Comment = "needs tmux"

  @Test(
    "a bar fits its terminal, has a rate and the time left, and goes at the end",
    .enabled(if: TerminalSession.isPossible, need), arguments: [100, 44])
  func bar(_ columns: Int) throws {
    let scratch = try Scratch()
    try scratch.makeStore()
    // Enough notes to exceed the delay of the progress bar.
    try scratch.write(Scratch.notes(400_000), to: "notes.ndjson")
    let terminal = try TerminalSession(columns: columns, in: scratch)
    try terminal.type("kvclone -s store load notes.ndjson")
    #expect(try terminal.end() == 0)
    let bars = try terminal.bars().filter { $0.hasPrefix("load ") }
    #expect(!bars.isEmpty)
    for bar in bars {
      #expect(bar.count < columns, "\(bar)")
      #expect(bar.contains(/\s\d+ %  [0-9.]+ [kM]?B\/s  .* left$/), "\(bar)")
      #expect(bar.contains(/[█░]{6,30}/) || columns < 50, "\(bar)")
    }
    let screen = try terminal.screen()
    #expect(screen.contains { $0.hasPrefix("loaded 400000 objects in ") }, "\(screen)")
    // A wrapped line would have left a remainder on the screen.
    #expect(!screen.contains { $0.contains(" left") || $0.contains("%") }, "\(screen)")
    try terminal.type("kvclone -s store load notes.ndjson --quiet")
    #expect(try terminal.end() == 0)
    #expect(try terminal.bars().filter { $0.hasPrefix("load ") } == bars)
    try scratch.succeed("check")
  }

  @Test("plain lines without a terminal, and none with --quiet or --no-progress")
  func lines() throws {
    let scratch = try Scratch()
    try scratch.makeStore()
    for (options, isShown) in [(["--verbose"], true), (["--verbose", "--quiet"], false), (["--no-progress"], false)] {
      let load = scratch.process(["-s", scratch.store, "load", "-"] + options)
      let (input, errors) = (Pipe(), scratch.file("errors"))
      _ = FileManager.default.createFile(atPath: errors, contents: nil)
      load.standardInput = input
      load.standardOutput = FileHandle.nullDevice
      load.standardError = FileHandle(forWritingAtPath: errors)
      try load.run()
      var text = ""
      // Until a line appears, or a few times if none is expected.
      for turn in 0..<10_000 where text.isEmpty && (isShown || turn < 10) {
        try input.fileHandleForWriting.write(contentsOf: lines(turn))
        Thread.sleep(forTimeInterval: 0.02)
        text = String(decoding: try scratch.read("errors"), as: UTF8.self)
      }
      try input.fileHandleForWriting.close()
      load.waitUntilExit()
      #expect(load.terminationStatus == 0)
      #expect(!text.contains("\u{1B}") && !text.contains("\r"))
      #expect(text.isEmpty != isShown, "\(options): \(text)")
      // Input from a pipe is spooled first.
      if isShown { #expect(text.contains(/^load: spooling input: [0-9.]+ k?B, [0-9.]+ k?B\/s\n/), "\(text)") }
    }
  }

  @Test(
    "an interrupt during a load: 130, and the store has what it had", .enabled(if: TerminalSession.isPossible, need))
  func interruptedLoad() throws {
    let scratch = try Scratch.filled(3)
    #expect(mkfifo(scratch.file("slow"), 0o600) == 0)
    // Kept open at both ends, so that the load's input never ends.
    let slow = try #require(FileHandle(forUpdatingAtPath: scratch.file("slow")))
    let terminal = try TerminalSession(columns: 60, in: scratch)
    try terminal.type("kvclone -s store load - < slow")
    var number = 0
    try terminal.wait("a bar") {
      number += 1
      try slow.write(contentsOf: lines(number))
      return try terminal.bars().contains { $0.hasPrefix("load: spooling input ") && $0.contains("B/s") }
    }
    try terminal.interrupt()
    #expect(try terminal.end() == 130)
    // The terminal may show the key before the message.
    #expect(try terminal.screen().contains { $0.hasSuffix("kvclone: interrupted; no partial changes remain") })
    try expectUnchanged(scratch, objects: 3)
  }

  @Test("an interrupt during a clone: 130, and nothing is cloned", .enabled(if: TerminalSession.isPossible, need))
  func interruptedClone() throws {
    let scratch = try Scratch.filled(3)
    let terminal = try TerminalSession(columns: 60, in: scratch)
    try terminal.type("kvclone -s store clone Note/1 Note/2 --count 2000000")
    try terminal.wait("a bar") { try terminal.bars().contains { $0.hasPrefix("clone: ") && $0.contains("objects/s") } }
    try terminal.interrupt()
    #expect(try terminal.end() == 130)
    let bars = try terminal.bars()
    #expect(bars.allSatisfy { $0.count < 60 }, "\(bars)")
    // The terminal may show the key before the message.
    #expect(try terminal.screen().contains { $0.hasSuffix("kvclone: interrupted; no partial changes remain") })
    try expectUnchanged(scratch, objects: 3)
  }

  @Test("an interrupt during a backup: 130, and no copy is there", .enabled(if: TerminalSession.isPossible, need))
  func interruptedBackup() throws {
    let scratch = try Scratch.filled(30)
    let blob = Data((0..<4_000_000).map { UInt8(truncatingIfNeeded: $0 &* 31 >> 3) })
    try blob.write(to: URL(fileURLWithPath: scratch.file("blob")))
    for number in 1...30 { try scratch.succeed("blob", "put", "Note/\(number)", "data", scratch.file("blob")) }
    let before = try FileManager.default.contentsOfDirectory(atPath: scratch.path).sorted()
    let terminal = try TerminalSession(columns: 60, in: scratch)
    try terminal.type("kvclone -s store backup copy")
    // The temporary directory shows that the command is running.
    try terminal.wait("a copy") {
      try FileManager.default.contentsOfDirectory(atPath: scratch.path).contains { $0.contains("copy") }
    }
    try terminal.interrupt()
    #expect(try terminal.end() == 130)
    // The terminal may show the key before the message.
    #expect(try terminal.screen().contains { $0.hasSuffix("kvclone: interrupted; no partial changes remain") })
    let after = try FileManager.default.contentsOfDirectory(atPath: scratch.path)
      .filter { !$0.hasPrefix("code.") && !$0.hasPrefix("terminal.") }
    #expect(after.sorted() == before)
    try expectUnchanged(scratch, objects: 30)
  }

  /// Returns some hundred notes, different in each turn: a load reports its progress about every thousand lines.
  private func lines(_ turn: Int) -> Data {
    Data((0..<500).map { "{\"id\":\"Note/\(turn * 500 + $0)\"}\n" }.joined().utf8)
  }

  private func expectUnchanged(_ scratch: Scratch, objects: Int, _ location: SourceLocation = #_sourceLocation) throws {
    #expect(
      try scratch.succeed("info", "--json").json()["objects"] as? Int == objects, sourceLocation: location)
    try scratch.succeed("check", "--read-data")
    try scratch.succeed("insert", "Note")
  }
}
