import Foundation
import Testing

/// `kvclone backup`, `restore` and `compact`.
@Suite("kvclone: backup, restore, compact")
struct BackupCommandTests {
  private func names(_ scratch: Scratch) throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: scratch.path).filter { $0 != "Notes.xcdatamodeld" }.sorted()
  }

  @Test("a backup is a store, and restored it dumps the same")
  func roundTrip() throws {
    let scratch = try Scratch.filled()
    let dump = try scratch.succeed("dump").text
    let commit = try scratch.succeed("info", "--json").json()["commit"] as? Int
    let made = try scratch.succeed("backup", scratch.file("b"), "--json").json()
    #expect(made["path"] as? String == scratch.file("b"))
    #expect(made["commit"] as? Int == commit)
    #expect(made["reflink"] as? Bool == false)
    #expect(made["seconds"] is Double)
    #expect(try made["bytes"] as? Int == scratch.read("b/data.mdb").count)
    #expect(try scratch.run(["-s", scratch.file("b"), "check", "--read-data"]).code == 0)
    let plain = try scratch.run(["restore", scratch.file("b"), "--to", scratch.file("r")])
    #expect(plain.code == 0 && plain.text.hasPrefix("restored to "), "\(plain.errors)")
    #expect(try scratch.run(["-s", scratch.file("r"), "dump"]).text == dump)
    try scratch.succeed("delete", "Note/1", "Note/2")
    let compacted = try scratch.succeed("compact", "-o", scratch.file("c"), "--json").json()
    #expect(compacted["reflink"] as? Bool == false)
    #expect(try scratch.run(["-s", scratch.file("c"), "dump"]).text == scratch.succeed("dump").text)
    let shared = try scratch.succeed("backup", "--reflink", scratch.file("s"), "--json").json()
    #expect(shared["reflink"] as? Bool == true || shared["copyReason"] as? String == "fileSystem")
    #expect(try scratch.run(["-s", scratch.file("s"), "check"]).code == 0)
    try scratch.succeed("backup", scratch.file("e"), "--verify", "everything", "--quiet")
    #expect(try names(scratch) == ["b", "c", "e", "r", "s", "store"])
  }

  @Test("wrong usage, existing destinations, missing and damaged sources")
  func refusals() throws {
    let scratch = try Scratch.filled()
    try scratch.succeed("backup", scratch.file("b"))
    #expect(try scratch.tool("backup").code == 64)
    #expect(try scratch.tool("backup", "").code == 64)
    #expect(try scratch.tool("backup", scratch.file("c"), "--reflink", "--verify", "none").code == 64)
    #expect(try scratch.tool("compact").code == 64)
    #expect(try scratch.run(["restore", scratch.file("b")]).code == 64)
    #expect(try scratch.tool("restore", scratch.file("b"), "--to", scratch.file("c")).code == 64)
    let existing = try scratch.tool("backup", scratch.file("b"), "--json")
    #expect(existing.code == 1)
    #expect(try existing.error()["kind"] as? String == "storeExists")
    #expect(try scratch.run(["restore", scratch.file("b"), "--to", scratch.store]).code == 1)
    #expect(try scratch.run(["restore", scratch.file("no"), "--to", scratch.file("c")]).code == 10)
    var bytes = try scratch.read("b/data.mdb")
    bytes[bytes.count - 100] ^= 1
    try bytes.write(to: URL(fileURLWithPath: scratch.file("b/data.mdb")))
    try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: scratch.file("b/data.mdb"))
    let damaged = try scratch.run(["restore", scratch.file("b"), "--to", scratch.file("c"), "--json"])
    #expect(damaged.code == 1)
    #expect(try damaged.error()["kind"] as? String == "damaged")
    #expect(try names(scratch) == ["b", "store"])
  }

  @Test("increments since snapshots, and a chain of them restored")
  func increments() throws {
    let scratch = try Scratch.filled()
    try scratch.succeed("snapshot", "create", "mon")
    try scratch.succeed("snapshot", "hold", "mon", "backup")
    try scratch.succeed("backup", scratch.file("full"))
    try scratch.succeed("delete", "Note/1", "Note/2")
    try scratch.succeed("snapshot", "create", "tue")
    let made = try scratch.succeed("backup", scratch.file("tue"), "--since", "mon", "--json").json()
    #expect(made["since"] as? String == "mon")
    #expect((made["entries"] as? Int ?? 0) > 0)
    #expect(made["reflink"] as? Bool == false)
    #expect(try made["commit"] as? Int == scratch.succeed("info", "--json").json()["commit"] as? Int)
    #expect(try made["bytes"] as? Int == scratch.read("tue/data.mdb").count)
    try scratch.succeed("load", "-", input: #"{"id":"Note/1","attributes":{"name":"late"}}"# + "\n")
    let plain = try scratch.succeed("backup", scratch.file("wed"), "--since", "tue")
    #expect(plain.text.hasPrefix("backed up the changes since tue to "), "\(plain.text)")
    let sources = ["full", "tue", "wed"].map(scratch.file)
    let restored = try scratch.run(["restore"] + sources + ["--to", scratch.file("r"), "--json"])
    #expect(restored.code == 0, "\(restored.errors)")
    #expect((try restored.json()["entries"] as? Int ?? 0) > 0)
    #expect(try scratch.run(["-s", scratch.file("r"), "dump"]).text == scratch.succeed("dump").text)
    #expect(try scratch.run(["-s", scratch.file("r"), "check", "--read-data"]).code == 0)
    let lists = try [scratch.store, scratch.file("r")].map { try scratch.run(["-s", $0, "snapshot", "list"]).text }
    #expect(lists[0] == lists[1] && lists[0].contains("tue"))
    for wrong in [["tue"], ["full", "wed"], ["full", "tue", "full"], ["full", "wed", "tue"]] {
      let run = try scratch.run(["restore"] + wrong.map(scratch.file) + ["--to", scratch.file("x"), "--json"])
      #expect(run.code == 1)
      #expect(try run.error()["kind"] as? String == "brokenChain", "\(wrong)")
    }
    let opened = try scratch.run(["-s", scratch.file("tue"), "info", "--json"])
    #expect(try opened.code == 1 && opened.error()["kind"] as? String == "incrementalBackup")
    #expect(try scratch.tool("backup", scratch.file("x"), "--since", "mon", "--reflink").code == 64)
    #expect(try scratch.tool("backup", scratch.file("x"), "--since", "").code == 64)
    #expect(try scratch.run(["restore", "--to", scratch.file("x")]).code == 64)
    let missing = try scratch.tool("backup", scratch.file("x"), "--since", "nothing", "--json")
    #expect(try missing.error()["kind"] as? String == "snapshotNotFound")
    #expect(try names(scratch) == ["full", "r", "store", "tue", "wed"])
  }

  @Test("an interrupt ends it (130), and nothing is left")
  func interrupt() throws {
    let scratch = try Scratch.filled()
    // Large enough that a signal arrives before the end.
    let blob = Data((0..<4_000_000).map { UInt8(truncatingIfNeeded: $0 &* 31 >> 3) })
    try blob.write(to: URL(fileURLWithPath: scratch.file("blob")))
    for number in 1...30 { try scratch.succeed("blob", "put", "Note/\(number)", "data", scratch.file("blob")) }
    try FileManager.default.removeItem(atPath: scratch.file("blob"))
    try scratch.succeed("backup", scratch.file("b"))
    for command in [["-s", scratch.store, "backup", "c"], ["restore", "b", "--to", "c"]] {
      let process = scratch.process(command)
      let errors = Pipe()
      process.standardError = errors
      process.standardOutput = FileHandle.nullDevice
      try process.run()
      // The temporary directory shows that the command is running.
      while process.isRunning, try names(scratch).count < 3 {}
      process.interrupt()
      let text = String(decoding: errors.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
      process.waitUntilExit()
      #expect(process.terminationReason == .exit && process.terminationStatus == 130, "\(command): \(text)")
      #expect(text == "kvclone: interrupted; no partial changes remain\n")
      #expect(try names(scratch) == ["b", "store"])
    }
    try scratch.succeed("check")
  }
}

/// `Tools/reflink` runs without errors; its measurements are for runs with other sizes.
@Suite struct ReflinkTests {
  private static let buildDirectory = (Scratch.executable as NSString).deletingLastPathComponent
  private static let isPossible: Bool = {
    let manager = FileManager.default
    return geteuid() == 0
      && ["mkfs.xfs", "mkfs.btrfs"].allSatisfy { manager.isExecutableFile(atPath: "/usr/sbin/\($0)") }
  }()

  @Test(.enabled(if: isPossible, "needs a superuser, xfsprogs and btrfs-progs"))
  func snapshotsUnderAWriterAreSoundReflinks() throws {
    let root = URL(fileURLWithPath: #filePath)
      .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent().path
    let run = try Scratch().runProgram(
      root + "/Tools/reflink",
      ["--build-dir", Self.buildDirectory, "--count", "3", "--megabytes", "8", "--limit", "1000000"])
    #expect(run.code == 0, "\(run.text) \(run.errors)")
    #expect(run.text.hasPrefix("skipped:") || run.text.contains("| xfs |") && run.text.contains("| btrfs |"))
  }
}
