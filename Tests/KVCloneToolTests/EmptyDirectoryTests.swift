import Foundation
import Testing

/// An existing empty directory, such as a fresh volume: it contains no store, and a store can be created in it.
@Suite("kvclone: empty directories")
struct EmptyDirectoryTests {
  private let scratch: Scratch
  private let manager = FileManager.default

  init() throws {
    scratch = try Scratch()
    try TestModel.write(to: scratch.file("Notes.xcdatamodeld"))
  }

  private func makeDirectory(_ mode: Int, _ names: String...) throws {
    try? manager.removeItem(atPath: scratch.store)
    try manager.createDirectory(atPath: scratch.store, withIntermediateDirectories: false)
    for name in names {
      try manager.createDirectory(atPath: "\(scratch.store)/\(name)", withIntermediateDirectories: false)
    }
    try manager.setAttributes([.posixPermissions: mode], ofItemAtPath: scratch.store)
  }

  private var mode: Int? {
    (try? manager.attributesOfItem(atPath: scratch.store)[.posixPermissions] as? NSNumber)?.intValue
  }

  @Test("is no store for every command that reads one, and stays as it is")
  func reads() throws {
    try makeDirectory(0o755)
    for arguments in [
      ["info"], ["stat"], ["ls", "Note"], ["get", "Note/1"], ["query", "Note", "TRUEPREDICATE"], ["dump"], ["check"],
      ["readers"], ["history"], ["watch"], ["model", "show"], ["snapshot", "list"], ["repair"], ["insert", "Note"],
      ["load", "-"], ["clone", "Note/1"], ["backup", scratch.file("b")], ["compact", "-o", scratch.file("c")],
      ["salvage", "-o", scratch.file("d")], ["export", scratch.file("e")],
      ["migrate", "--model", scratch.file("Notes.xcdatamodeld")],
    ] {
      let run = try scratch.run(["-s", scratch.store, "--json"] + arguments)
      #expect(run.code == 10, "\(arguments): \(run.errors)")
      #expect(try run.error()["kind"] as? String == "noStore", "\(arguments)")
    }
    #expect(mode == 0o755)
    #expect(try manager.contentsOfDirectory(atPath: scratch.store).isEmpty)
  }

  @Test("whatever its mode, it is no store, and init uses it", arguments: [0o700, 0o755, 0o777, 0o500, 0o300, 0o000])
  func modes(_ mode: Int) throws {
    try makeDirectory(mode)
    #expect(try scratch.tool("info").code == 10)
    #expect(self.mode == mode)
    try scratch.succeed("init", "--model", scratch.file("Notes.xcdatamodeld"))
    #expect(self.mode == 0o700)
    try scratch.succeed("insert", "Note")
    try scratch.succeed("check")
    let names = try manager.contentsOfDirectory(atPath: scratch.store)
    #expect(names.contains("data.mdb") && !names.contains { $0.contains("creating") }, "\(names)")
  }

  @Test("what an ended creation left in it, and lost+found, do not count; anything else does")
  func leftovers() throws {
    try makeDirectory(0o755, "lost+found", ".data.mdb.creating-abcdef")
    #expect(try scratch.tool("info").code == 10)
    try scratch.succeed("init", "--model", scratch.file("Notes.xcdatamodeld"))
    #expect(try !manager.contentsOfDirectory(atPath: scratch.store).contains(".data.mdb.creating-abcdef"))
    try scratch.succeed("check")
    for mode in [0o700, 0o755] {
      try makeDirectory(mode, "photos")
      #expect(try scratch.tool("info").code == 10)
      let refused = try scratch.tool("init", "--model", scratch.file("Notes.xcdatamodeld"), "--json")
      #expect(try refused.code == 1 && refused.error()["kind"] as? String == "storeExists")
      #expect(self.mode == mode)
      #expect(try manager.contentsOfDirectory(atPath: scratch.store) == ["photos"])
    }
  }

  @Test("the working directory itself may be one")
  func here() throws {
    try makeDirectory(0o755)
    let process = scratch.process(["-s", ".", "-q", "init", "--model", scratch.file("Notes.xcdatamodeld")])
    process.currentDirectoryURL = URL(fileURLWithPath: scratch.store)
    try process.run()
    process.waitUntilExit()
    #expect(process.terminationStatus == 0)
    try scratch.succeed("check")
  }

  @Test("a creation that fails leaves it empty, with its mode", Sanitizer.permitsFileLimits)
  func failure() throws {
    try makeDirectory(0o755)
    let shell = #"ulimit -f 1; "$0" -q -s "$1" init --model "$2""#
    let run = try scratch.runProgram(
      "/bin/sh", ["-c", shell, Scratch.executable, scratch.store, scratch.file("Notes.xcdatamodeld")])
    #expect(run.code == 1, "\(run.errors)")
    #expect(mode == 0o755)
    #expect(try manager.contentsOfDirectory(atPath: scratch.store).isEmpty)
  }

  @Test("one of two creations at once wins, and the store is complete")
  func race() throws {
    try makeDirectory(0o755)
    let processes = (0..<4).map { _ in
      scratch.process(["-s", scratch.store, "-q", "init", "--model", scratch.file("Notes.xcdatamodeld")])
    }
    for process in processes {
      process.standardError = FileHandle.nullDevice
      try process.run()
    }
    for process in processes { process.waitUntilExit() }
    #expect(processes.count { $0.terminationStatus == 0 } == 1)
    #expect(processes.allSatisfy { [0, 1].contains($0.terminationStatus) })
    #expect(mode == 0o700)
    try scratch.succeed("check")
  }
}
