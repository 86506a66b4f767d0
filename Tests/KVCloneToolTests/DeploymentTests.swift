import Foundation
import Testing

/// What `Tools/systemd` has for operators works.
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

  @Test("backups are made and kept, the newest is restored for a drill, and damage is told by the exit code")
  func nightlyJobs() throws {
    let scratch = try Scratch()
    try scratch.makeStore()
    try scratch.succeed("insert", "Note", "name=a")
    let backups = scratch.file("backups")
    let old = ["20200101T000000Z", "20200102T000000Z", "20200103T000000Z"]
    for name in old + ["20200101T000000Z.keep", "other"] {
      try FileManager.default.createDirectory(atPath: "\(backups)/\(name)", withIntermediateDirectories: true)
    }
    let made = try nightly(scratch, "backup", scratch.store, backups, "2")
    #expect(made.code == 0, "\(made.errors)")
    let left = try names(backups)
    #expect(
      left.count == 4 && left.contains(old[2]) && left.contains("other") && left.contains("20200101T000000Z.keep"))
    let newest = try #require(left.first { $0.hasPrefix("2") && !$0.hasPrefix("2020") })
    #expect(try scratch.run(["-s", "\(backups)/\(newest)", "info", "--json"]).json()["objects"] as? Int == 1)
    let drill = try nightly(scratch, "drill", backups)
    #expect(drill.code == 0 && drill.errors.isEmpty, "\(drill.code) \(drill.errors)")
    #expect(try nightly(scratch, "check", scratch.store).code == 0)
    #expect(try names(backups) == left)
    // A backup that has rotted: the drill tells, and leaves nothing of what it tried.
    let file = URL(fileURLWithPath: "\(backups)/\(newest)/data.mdb")
    var bytes = try Data(contentsOf: file)
    for offset in stride(from: 8_192, to: bytes.count, by: 512) { bytes[offset] ^= 0xFF }
    try bytes.write(to: file)
    try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file.path)
    let rotten = try nightly(scratch, "drill", backups)
    #expect(rotten.code == 1, "\(rotten.code) \(rotten.errors)")
    #expect(try names(backups) == left)
    let check = try nightly(scratch, "check", "\(backups)/\(newest)")
    #expect(check.code == 4 || check.code == 1, "\(check.code) \(check.errors)")
  }

  @Test("a failed backup removes none, and wrong usage is told")
  func refusals() throws {
    let scratch = try Scratch()
    let backups = scratch.file("backups")
    try FileManager.default.createDirectory(atPath: backups + "/20200101T000000Z", withIntermediateDirectories: true)
    #expect(try nightly(scratch, "backup", scratch.file("no"), backups, "1").code == 10)
    #expect(try names(backups) == ["20200101T000000Z"])
    #expect(try nightly(scratch, "drill", scratch.path).code == 1)
    for wrong in [
      ["backup"], ["backup", "a", "b", "0"], ["backup", "a", "b", "x"], ["drill"], ["check"], ["other"], [],
    ] {
      let run = try scratch.runProgram("\(Self.folder)/kvclone-nightly", wrong)
      #expect(run.code == 64 && run.errors.contains("usage:"), "\(wrong)")
    }
    #expect(try scratch.runProgram("\(Self.folder)/kvclone-nightly", ["--help"]).text.hasPrefix("usage:"))
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
      // What is installed elsewhere stands for itself.
      let text = try String(contentsOfFile: "\(Self.folder)/\(unit)", encoding: .utf8)
        .replacing("/usr/local/bin/kvclone-nightly", with: "\(Self.folder)/kvclone-nightly")
        .replacing("/usr/local/bin/kvclone-inbox", with: Scratch.executable)
      #expect(!text.contains("/usr/local"))
      // An instance of each template, as it will be started.
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
