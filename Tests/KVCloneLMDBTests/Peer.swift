import Foundation
import Testing

@testable import KVCloneLMDB

/// A second process (`KVClonePeer`), which prints a line for each step of its script.
final class Peer {
  private let process = Process()
  private let output = Pipe()
  private let input = Pipe()
  private var rest = Data()

  /// The program, in the directory of the one that runs the tests.
  static let program: String = {
    let own = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? ""
    return URL(fileURLWithPath: own).deletingLastPathComponent().appendingPathComponent("KVClonePeer").path
  }()

  /// Starts `lmdb PATH STEP…`, behind the words of `wrapper` (such as "unshare --pid --fork"), with `preload` in front
  /// of the C library and `variables` for it.
  init(
    _ path: String, _ steps: [String], wrapper: [String] = [], preload: String? = nil, variables: [String: String] = [:]
  ) throws {
    let words = wrapper + [Self.program, "lmdb", path] + steps
    process.executableURL = URL(fileURLWithPath: words[0].hasPrefix("/") ? words[0] : "/usr/bin/env")
    process.arguments = words[0].hasPrefix("/") ? Array(words.dropFirst()) : words
    process.standardOutput = output
    process.standardInput = input
    if let preload {
      let preloads = [Self.environment["LD_PRELOAD"], preload].compactMap(\.self).joined(separator: ":")
      process.environment = Self.environment.merging(["LD_PRELOAD": preloads].merging(variables) { $1 }) { $1 }
    }
    try process.run()
  }

  /// The part of this process's environment that a peer with a preloaded library inherits: the same LMDB.
  private static let environment = ProcessInfo.processInfo.environment.filter { $0.key == "LD_LIBRARY_PATH" }

  var pid: Int32 { process.processIdentifier }

  /// The next line; nil at the end.
  func line() -> String? {
    while true {
      if let end = rest.firstIndex(of: 10) {
        let line = String(decoding: rest[rest.startIndex..<end], as: UTF8.self)
        rest = Data(rest[(end + 1)...])
        return line
      }
      let more = output.fileHandleForReading.availableData
      if more.isEmpty { return nil }
      rest.append(more)
    }
  }

  func lines(_ count: Int) -> [String] {
    (0..<count).compactMap { _ in line() }
  }

  /// Resumes a peer that printed "waiting".
  func resume() {
    input.fileHandleForWriting.write(Data("\n".utf8))
  }

  func kill() {
    Foundation.kill(pid, SIGKILL)
    process.waitUntilExit()
  }

  /// All remaining lines, after the process has ended.
  func finish() -> [String] {
    try? input.fileHandleForWriting.close()
    var lines: [String] = []
    while let line = line() { lines.append(line) }
    process.waitUntilExit()
    return lines
  }

  deinit {
    if process.isRunning { kill() }
  }

  // MARK: Capabilities of the machine

  static let isRoot = geteuid() == 0
  static let canUnsharePIDs = succeeds("/usr/bin/unshare", ["--fork", "--pid", "true"])
  static let canMount = isRoot && succeeds("/usr/bin/unshare", ["--mount", "mount", "-t", "tmpfs", "none", "/mnt"])

  /// Runs a program without output; true if it exits with 0.
  static func succeeds(_ program: String, _ arguments: [String]) -> Bool {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: program)
    process.arguments = arguments
    process.standardOutput = FileHandle.nullDevice
    process.standardError = FileHandle.nullDevice
    guard (try? process.run()) != nil else { return false }
    process.waitUntilExit()
    return process.terminationStatus == 0
  }

  /// Runs a shell script in a mount namespace of its own, in which its mounts are private. `$1` is the peer, `$2` the
  /// store's parent. Returns the lines it prints.
  static func script(_ text: String, root: String) throws -> [String] {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/unshare")
    process.arguments = ["--mount", "/bin/sh", "-euc", text, "sh", program, root]
    let output = Pipe()
    process.standardOutput = output
    try process.run()
    let data = output.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    return String(decoding: data, as: UTF8.self).split(separator: "\n").map(String.init)
  }
}
