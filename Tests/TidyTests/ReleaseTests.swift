import Foundation
import Testing

/// Runs Tools/release in a small repository of its own.
struct ReleaseTests {
  @Test func aReleaseIsTaggedWithItsNotes() throws {
    let repository = try Repository()
    let rehearsal = try repository.release("0.2.0", "--dry-run")
    #expect(rehearsal.code == 0 && rehearsal.output.contains("no tag was created"), "\(rehearsal)")
    #expect(try repository.git("tag") == "")
    let result = try repository.release("0.2.0")
    #expect(result.code == 0, "\(result)")
    let notes = "# KVClone 0.2.0\n\n### Added\n\n- One thing.\n- Another thing."
    #expect(try repository.git("tag", "-l", "--format=%(contents)", "0.2.0") == notes)
    let again = try repository.release("0.2.0")
    #expect(again.code == 1 && again.output.contains("the tag 0.2.0 exists"), "\(again)")
  }

  @Test(arguments: [
    ("CHANGELOG.md", "## [0.2.0] - 2026-03-01", "## [0.2.0]", "no section"),
    ("CHANGELOG.md", "- One thing.\n- Another thing.\n", "", "lists no change"),
    ("CHANGELOG.md", "## [Unreleased]\n", "## [Unreleased]\n\n- Late.\n", "[Unreleased] of CHANGELOG.md lists changes"),
    ("CHANGELOG.md", "## [Unreleased]\n", "", "no section [Unreleased]"),
    ("Sources/KVClone/PackageVersion.swift", "0.2.0", "0.1.9", "PackageVersion.current is 0.1.9"),
    ("Tools/api", "exit 0", "exit 1", "API.txt is not up to date"),
    ("Tools/test", "exit 0", "exit 1", "the tests failed"),
    ("Tools/test", "exit 0", "touch left-over", "changed the working tree"),
  ])
  func whatIsMissingIsRefused(file: String, old: String, new: String, problem: String) throws {
    let repository = try Repository()
    try repository.replace(old, with: new, in: file)
    try repository.commit()
    let result = try repository.release("0.2.0")
    #expect(result.code == 1 && result.output.contains(problem), "\(result)")
    #expect(try repository.git("tag") == "")
  }

  @Test func changesThatAreNotCommittedAreRefused() throws {
    let repository = try Repository()
    try repository.write("x", to: "new-file")
    let result = try repository.release("0.2.0", "--dry-run")
    #expect(result.code == 1 && result.output.contains("the working tree has changes"), "\(result)")
  }

  @Test func aPatchVersionKeepsEveryDeclaration() throws {
    let repository = try Repository()
    #expect(try repository.release("0.2.0").code == 0)
    for (file, old, new) in [
      ("CHANGELOG.md", "## [0.2.0]", "## [0.2.1] - 2026-03-02\n\n- Fix.\n\n## [0.2.0]"),
      ("Sources/KVClone/PackageVersion.swift", "0.2.0", "0.2.1"), ("API.txt", "a\n", "a\nc\n"),
    ] { try repository.replace(old, with: new, in: file) }
    try repository.commit()
    #expect(try repository.release("0.2.1", "--dry-run").code == 0)
    try repository.replace("b\n", with: "", in: "API.txt")
    try repository.commit()
    let result = try repository.release("0.2.1", "--dry-run")
    #expect(result.code == 1 && result.output.contains("API.txt lost 1 lines since 0.2.0"), "\(result)")
  }

  @Test(arguments: [[], ["v0.2.0"], ["0.2"], ["0.2.0", "--skip-tests"], ["0.2.0", "--force"], ["00.2.0"]])
  func wrongUsageEndsWith64(arguments: [String]) throws {
    #expect(try Repository().release(arguments).code == 64)
  }
}

/// A repository with all that the script looks at, gone with the test. What takes minutes is replaced by scripts that succeed.
private final class Repository {
  let folder = NSTemporaryDirectory() + "/kvclone-release-" + UUID().uuidString

  init() throws {
    for name in ["Tools/lib", "Sources/KVClone"] {
      try FileManager.default.createDirectory(atPath: "\(folder)/\(name)", withIntermediateDirectories: true)
    }
    for name in ["Tools/release", "Tools/lib/setup.sh"] {
      try FileManager.default.copyItem(atPath: "\(PackageFiles.root)/\(name)", toPath: "\(folder)/\(name)")
    }
    for name in ["Tools/api", "Tools/test"] {
      try write("#!/usr/bin/env bash\nexit 0\n", to: name)
      try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: "\(folder)/\(name)")
    }
    try write("package static let current = \"0.2.0\"\n", to: "Sources/KVClone/PackageVersion.swift")
    try write("a\nb\n", to: "API.txt")
    try write(".build/\n", to: ".gitignore")
    try write(
      """
      # Changelog

      ## [Unreleased]

      ## [0.2.0] - 2026-03-01

      ### Added

      - One thing.
      - Another thing.

      ## [0.1.0] - 2026-01-01

      - First.

      """, to: "CHANGELOG.md")
    _ = try git("init", "-q")
    try commit()
  }

  deinit { try? FileManager.default.removeItem(atPath: folder) }

  func write(_ text: String, to name: String) throws {
    // Not atomically: that would drop the permission to run it.
    if let file = FileHandle(forWritingAtPath: "\(folder)/\(name)") {
      try file.truncate(atOffset: 0)
      try file.write(contentsOf: Data(text.utf8))
      try file.close()
    } else {
      try text.write(toFile: "\(folder)/\(name)", atomically: false, encoding: .utf8)
    }
  }

  func replace(_ old: String, with new: String, in name: String) throws {
    let text = try String(contentsOfFile: "\(folder)/\(name)", encoding: .utf8)
    try #require(text.contains(old))
    try write(text.replacing(old, with: new), to: name)
  }

  func commit() throws {
    _ = try git("add", "-A")
    _ = try git("commit", "-q", "-m", "all")
  }

  func git(_ arguments: String...) throws -> String {
    let options = ["-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false"]
    let result = try run(["git", "-C", folder] + options + arguments)
    #expect(result.code == 0, "\(arguments): \(result.output)")
    return result.output.trimmingCharacters(in: .newlines)
  }

  func release(_ arguments: String...) throws -> (code: Int32, output: String) { try release(arguments) }

  func release(_ arguments: [String]) throws -> (code: Int32, output: String) {
    try run(["\(folder)/Tools/release"] + arguments)
  }

  private func run(_ command: [String]) throws -> (code: Int32, output: String) {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = command
    // A tag needs an author, and neither configuration nor hooks of this machine count.
    process.environment = ProcessInfo.processInfo.environment.merging([
      "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1", "GIT_AUTHOR_NAME": "A", "GIT_COMMITTER_NAME": "A",
      "GIT_AUTHOR_EMAIL": "a@example.org", "GIT_COMMITTER_EMAIL": "a@example.org",
    ]) { $1 }
    let output = Pipe()
    process.standardOutput = output
    process.standardError = output
    process.standardInput = FileHandle.nullDevice
    try process.run()
    let data = output.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    return (process.terminationStatus, String(decoding: data, as: UTF8.self))
  }
}
