import Foundation
import Testing

/// The units and scripts of `Tools/systemd` work.
@Suite("Tools/systemd")
struct DeploymentTests {
  private static let folder: String = {
    let root = URL(fileURLWithPath: #filePath)
      .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent().path
    return root + "/Tools/systemd"
  }()
  private static let analyzer = "/usr/bin/systemd-analyze"

  private func nightly(_ scratch: Scratch, _ arguments: String...) throws -> ToolRun {
    try scratch.runProgram(
      "/usr/bin/env", ["KVCLONE=\(Scratch.executable)", "\(Self.folder)/kvclone-nightly"] + arguments)
  }

  private func names(_ folder: String) throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: folder).sorted()
  }

  /// The names of the backups that these tests create.
  private static let old = ["20200101T000000Z", "20200102T000000Z", "20200103T000000Z"]

  /// Creates a store with a note, and a folder with three old backups of it and unrelated files.
  private func withBackups() throws -> (scratch: Scratch, backups: String) {
    let scratch = try Scratch()
    try scratch.makeStore()
    try scratch.succeed("insert", "Note", "name=a needle in a haystack")
    let backups = scratch.file("backups")
    try FileManager.default.createDirectory(atPath: backups, withIntermediateDirectories: true)
    for name in Self.old { try scratch.succeed("backup", "\(backups)/\(name)") }
    return (scratch, backups)
  }

  /// Returns the names in a folder without the lock file of the script.
  private func contents(_ folder: String) throws -> [String] {
    try names(folder).filter { $0 != ".lock" }
  }

  @Test("backups are made and kept, the newest is restored for a drill, and the exit code reports corruption")
  func nightlyJobs() throws {
    let (scratch, backups) = try withBackups()
    // Names of backups that are not backups: neither files nor stores.
    for name in ["20200101T000000Z.keep", "20190101T000000Z", "other"] {
      try FileManager.default.createDirectory(atPath: "\(backups)/\(name)", withIntermediateDirectories: true)
    }
    let made = try nightly(scratch, "backup", scratch.store, backups, "2")
    #expect(made.code == 0 && made.errors.isEmpty, "\(made.code) \(made.errors)")
    let left = try contents(backups)
    let newest = try #require(left.first { $0 > "2021" && $0 < "3" })
    #expect(left == ["20190101T000000Z", "20200101T000000Z.keep", Self.old[2], newest, "other"])
    #expect(try scratch.run(["-s", "\(backups)/\(newest)", "info", "--json"]).json()["objects"] as? Int == 1)
    let drill = try nightly(scratch, "drill", backups)
    #expect(drill.code == 0 && drill.errors.isEmpty, "\(drill.code) \(drill.errors)")
    #expect(try nightly(scratch, "check", scratch.store).code == 0)
    #expect(try contents(backups) == left)
    // One byte of a value is corrupted: the drill reports it, and removes its trial restore.
    try flipOneByte(of: "needle", in: "\(backups)/\(newest)/data.mdb")
    let rotten = try nightly(scratch, "drill", backups)
    #expect(rotten.code == 4, "\(rotten.code) \(rotten.errors)")
    #expect(try contents(backups) == left)
    #expect(try nightly(scratch, "check", "\(backups)/\(newest)").code == 4)
    try flipOneByte(of: "needle", in: scratch.store + "/data.mdb")
    #expect(try nightly(scratch, "check", scratch.store).code == 4)
    // A corrupted store is not backed up, and replaces no backup.
    let copied = try nightly(scratch, "backup", scratch.store, backups, "1")
    #expect(copied.code == 1 && !copied.errors.isEmpty, "\(copied.code) \(copied.errors)")
    #expect(try contents(backups) == left)
  }

  /// Flips a bit at the first occurrence of the text in the file, in place.
  private func flipOneByte(of text: String, in path: String) throws {
    let handle = try #require(FileHandle(forUpdatingAtPath: path))
    defer { try? handle.close() }
    let bytes = try Data(contentsOf: URL(fileURLWithPath: path))
    let place = try #require(bytes.range(of: Data(text.utf8))).lowerBound
    try handle.seek(toOffset: UInt64(place))
    try handle.write(contentsOf: [bytes[place] ^ 1])
  }

  @Test("a failed backup removes none, and wrong usage is reported")
  func refusals() throws {
    let (scratch, backups) = try withBackups()
    #expect(try nightly(scratch, "backup", scratch.file("no"), backups, "1").code == 10)
    #expect(try names(backups) == Self.old)
    #expect(try nightly(scratch, "drill", scratch.file("no")).code == 1)
    try FileManager.default.createDirectory(atPath: scratch.file("empty"), withIntermediateDirectories: true)
    let empty = try nightly(scratch, "drill", scratch.file("empty"))
    #expect(empty.code == 1 && empty.errors.contains("there is no backup"), "\(empty.errors)")
    for wrong in [
      ["backup"], ["backup", "a", "b", "0"], ["backup", "a", "b", "x"], ["drill"], ["check"], ["other"], [],
    ] {
      let run = try scratch.runProgram("\(Self.folder)/kvclone-nightly", wrong)
      #expect(run.code == 64 && run.errors.contains("usage:"), "\(wrong)")
    }
    #expect(try scratch.runProgram("\(Self.folder)/kvclone-nightly", ["--help"]).text.hasPrefix("usage:"))
  }

  @Test("with a clock that went back, a backup is made and none is removed, least of all the new one")
  func clockWentBack() throws {
    let (scratch, backups) = try withBackups()
    try FileManager.default.moveItem(atPath: "\(backups)/\(Self.old[1])", toPath: "\(backups)/29990101T000000Z")
    let run = try nightly(scratch, "backup", scratch.store, backups, "1")
    #expect(run.code == 1 && run.errors.contains("the clock went back"), "\(run.code) \(run.errors)")
    let left = try contents(backups)
    #expect(left.count == 4 && left.contains(Self.old[0]) && left.contains(Self.old[2]))
    // After the correction, the next run removes the excess backups.
    try FileManager.default.removeItem(atPath: "\(backups)/29990101T000000Z")
    #expect(try nightly(scratch, "backup", scratch.store, backups, "1").code == 0)
    #expect(try contents(backups).count == 1 && !contents(backups).contains(Self.old[2]))
  }

  @Test("two stores in one folder do not remove each other's backups, and one that cannot be read is left")
  func foreignBackups() throws {
    let (scratch, backups) = try withBackups()
    let second = try scratch.run(
      ["-s", scratch.file("second"), "init", "--model", scratch.file("Notes.xcdatamodeld")])
    #expect(second.code == 0, "\(second.errors)")
    let other = try nightly(scratch, "backup", scratch.file("second"), backups, "1")
    #expect(other.code == 1 && other.errors.contains("another store"), "\(other.code) \(other.errors)")
    #expect(try contents(backups) == Self.old)
    let file = "\(backups)/\(Self.old[0])/data.mdb"
    try Data(repeating: 7, count: 20_000).write(to: URL(fileURLWithPath: file))
    let unreadable = try nightly(scratch, "backup", scratch.store, backups, "1")
    #expect(
      unreadable.code == 1 && unreadable.errors.contains("cannot be read") && unreadable.errors.contains(Self.old[0]),
      "\(unreadable.code) \(unreadable.errors)")
    #expect(try contents(backups).count == 4)
  }

  @Test("what killed runs have left is removed, and one that is ended leaves nothing")
  func killedRuns() throws {
    let (scratch, backups) = try withBackups()
    // Killed before the backup was renamed, while an old one was removed, and in a drill.
    try FileManager.default.moveItem(atPath: "\(backups)/\(Self.old[0])", toPath: "\(backups)/.next")
    try FileManager.default.moveItem(atPath: "\(backups)/\(Self.old[1])", toPath: "\(backups)/.old")
    try FileManager.default.createDirectory(
      atPath: "\(backups)/.drill-abcdef/store", withIntermediateDirectories: true)
    #expect(try nightly(scratch, "drill", backups).code == 0)
    #expect(try contents(backups) == [Self.old[2]])
    try scratch.succeed("backup", "\(backups)/.next")
    #expect(try nightly(scratch, "backup", scratch.store, backups, "2").code == 0)
    let left = try contents(backups)
    #expect(left.count == 2 && left.first == Self.old[2])
    // A program that replaces kvclone and restores until it is stopped.
    try scratch.write(
      """
      #!/bin/sh
      case "$*" in *restore*) while [ ! -e '\(scratch.file("go"))' ]; do sleep 0.01; done ;; esac
      exec '\(Scratch.executable)' "$@"

      """, to: "slow")
    try FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: scratch.file("slow"))
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    // The threads of a Swift program block signals, and child processes would inherit this.
    process.arguments = [
      "--default-signal", "KVCLONE=\(scratch.file("slow"))", "\(Self.folder)/kvclone-nightly", "drill", backups,
    ]
    process.standardOutput = FileHandle.nullDevice
    process.standardError = FileHandle.nullDevice
    try process.run()
    while process.isRunning, try !names(backups).contains(where: { $0.hasPrefix(".drill-") }) {
      Thread.sleep(forTimeInterval: 0.01)
    }
    process.terminate()
    try scratch.write("", to: "go")
    process.waitUntilExit()
    #expect(process.terminationReason == .exit && process.terminationStatus == 143)
    #expect(try contents(backups) == left)
    // The lock was released with the process.
    #expect(try nightly(scratch, "drill", backups).code == 0)
  }

  @Test(
    "systemd finds nothing wrong with the units",
    .enabled(if: FileManager.default.isExecutableFile(atPath: analyzer), "there is no systemd-analyze"))
  func units() throws {
    let scratch = try Scratch()
    let units = try names(Self.folder).filter { $0.hasSuffix(".service") || $0.hasSuffix(".timer") }
    #expect(units.count == 7)
    var paths: [String] = []
    for unit in units {
      // Replaces the installed path by the path in the source tree.
      let text = try String(contentsOfFile: "\(Self.folder)/\(unit)", encoding: .utf8)
        .replacing("/usr/local/bin/kvclone-nightly", with: "\(Self.folder)/kvclone-nightly")
        .replacing("/usr/local/bin/kvclone-inbox", with: Scratch.executable)
      #expect(!text.contains("/usr/local"))
      // An instance of each template, as systemd starts it.
      let name = unit.replacing("@.", with: "@notes.")
      try scratch.write(text, to: unit)
      paths.append(scratch.file(name))
      if name != unit {
        try FileManager.default.createSymbolicLink(atPath: scratch.file(name), withDestinationPath: unit)
      }
    }
    let result = try scratch.runProgram(Self.analyzer, ["verify", "--man=no", "--recursive-errors=no"] + paths)
    #expect(result.code == 0 && result.errors.isEmpty, "\(result.code) \(result.errors)")
  }
}
