import Foundation

/// A minimal parser of the command line.
struct Options: Sendable {
  struct Wrong: Error, CustomStringConvertible { let description: String }

  static let valueNames: Set<String> = [
    "--seed", "--class", "--rows", "--trial", "--report", "--jobs", "--scratch", "--shim", "--root", "--commits",
    "--states-file", "--planted", "--seconds", "--process",
  ]
  static let flagNames: Set<String> = [
    "--quick", "--self-test", "--keep", "--commit-log", "--copies", "--soak", "--exact-room",
  ]

  private(set) var values: [String: String] = [:]
  private(set) var flags: Set<String> = []
  /// All values of `--class`, in the given order.
  private(set) var classes: [String] = []

  init(_ arguments: [String]) throws {
    var rest = arguments[...]
    while let name = rest.popFirst() {
      if Self.flagNames.contains(name) {
        flags.insert(name)
      } else if Self.valueNames.contains(name) {
        guard let value = rest.popFirst() else { throw Wrong(description: "\(name) needs a value") }
        if name == "--class" { classes.append(value) } else { values[name] = value }
      } else {
        throw Wrong(description: "unknown argument: \(name)")
      }
    }
  }

  func text(_ name: String) throws -> String {
    guard let value = values[name] else { throw Wrong(description: "\(name) is missing") }
    return value
  }

  func number(_ name: String, from least: Int = 0) throws -> Int? {
    guard let value = values[name] else { return nil }
    guard let number = Int(value), number >= least else {
      throw Wrong(description: "\(name) needs a number from \(least)")
    }
    return number
  }

  var isQuick: Bool { flags.contains("--quick") }

  /// The digest after each commit, from 0, one per line.
  func states() throws -> [String] {
    try String(contentsOfFile: try text("--states-file"), encoding: .utf8).split(separator: "\n").map(String.init)
  }

  /// The workload that the arguments describe.
  func workload() throws -> Workload {
    Workload(
      seed: UInt64(try number("--seed") ?? 1),
      commitCount: try number("--commits", from: 1) ?? (isQuick ? Workload.quickCount : Workload.fullCount),
      usesCommitLog: flags.contains("--commit-log"), makesCopies: flags.contains("--copies"))
  }
}
