import Foundation

/// What all trials of one workload share: its states, found by a run without faults, and how to run it.
final class TrialContext: Sendable {
  let workload: Workload
  let executable: String
  let shim: String
  /// A directory of this workload's own, in memory where the machine allows it.
  let directory: String
  let statesFile: String
  /// Each commit's content, from 0.
  let states: [String]
  /// The I/O calls of a run without faults, from call 1.
  let calls: [TracedCall]
  /// Its calls that read, from 1; they count apart.
  let reads: [TracedCall]
  /// The commits that wrote dirty pages ahead of their end; none where LMDB cannot be made to.
  let spillingCommits: Set<Int>

  struct TracedCall: Sendable {
    let operation: String
    /// The commit in whose course the call came; 0 is the creation.
    let commit: Int
    /// The copy in whose course it came, by its name.
    var copy: String?
  }

  var workloadArguments: [String] { workload.arguments }

  static var environment: [String: String] {
    var variables = ProcessInfo.processInfo.environment.filter { !$0.key.hasPrefix("KVCLONE_FAULT_") }
    // A crash is a result; its backtrace would take minutes.
    variables["SWIFT_BACKTRACE"] = "enable=no"
    return variables
  }

  /// What preloads the shim into a process: it looks at what is below `root`.
  ///
  /// - Parameter faults: the shim's variables, without their prefix.
  func shimVariables(root: String, _ faults: [String: String]) -> [String: String] {
    Self.shimVariables(shim, root: root, faults)
  }

  static func shimVariables(_ shim: String, root: String, _ faults: [String: String]) -> [String: String] {
    var variables = ["LD_PRELOAD": shim, "KVCLONE_FAULT_ROOT": root]
    for (name, value) in faults { variables["KVCLONE_FAULT_" + name] = value }
    return variables
  }

  init(workload: Workload, executable: String, shim: String, directory: String) throws {
    self.workload = workload
    self.executable = executable
    self.shim = shim
    self.directory = directory
    statesFile = directory + "/states"
    try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
    let root = directory + "/dry"
    let run = try WorkerRun(
      executable: executable, shim: shim, root: root, workload: workload,
      faults: ["TRACE": directory + "/trace"])
    guard run.ending == .exit(0) else {
      throw Finding("the workload fails without a fault (\(run.ending)): \(run.errors)")
    }
    states = run.lines.filter { $0.hasPrefix("state ") }.map { String($0.dropFirst(6)) }
    guard states.count == workload.commitCount + 1, Set(states).count == states.count else {
      throw Finding("the workload does not have one state per commit: \(states)")
    }
    try states.joined(separator: "\n").write(toFile: statesFile, atomically: false, encoding: .utf8)
    let trace = try String(contentsOfFile: directory + "/trace", encoding: .utf8)
    (calls, reads, spillingCommits) = TrialContext.parse(trace)
    try FileManager.default.removeItem(atPath: root)
  }

  /// Lines are "NUMBER OPERATION PATH", "read", "spill", and what the worker said, "ack N" and "copying NAME" among it.
  private static func parse(_ trace: String) -> ([TracedCall], reads: [TracedCall], spilling: Set<Int>) {
    var (calls, reads): ([TracedCall], [TracedCall]) = ([], [])
    var spilling: Set<Int> = []
    var commit = 0
    var copy: String?
    for line in trace.split(separator: "\n") {
      let parts = line.split(separator: " ")
      if parts.first == "ack", parts.count > 1 {
        commit = (Int(parts[1]) ?? 0) + 1
      } else if parts.first == "copying", parts.count > 1 {
        copy = String(parts[1])
      } else if parts.first == "copied" {
        copy = nil
      } else if parts == ["spill"] {
        spilling.insert(commit)
      } else if parts == ["read"] {
        reads.append(TracedCall(operation: "read", commit: commit, copy: copy))
      } else if parts.count > 1, Int(parts[0]) != nil {
        calls.append(TracedCall(operation: String(parts[1]), commit: commit, copy: copy))
      }
    }
    return (calls, reads, spilling)
  }
}

/// A run of the worker with the shim, to its end or its death.
struct WorkerRun: Sendable {
  let ending: ChildProcess.Ending
  /// What it said, see `Worker`.
  let lines: [String]
  let errors: String

  /// The last commit it acknowledged, −1 for none.
  var acknowledged: Int {
    lines.compactMap { line in line.hasPrefix("ack ") ? Int(line.dropFirst(4)) : nil }.max() ?? -1
  }

  /// The copies that it acknowledged, by their names.
  var copied: [String] { lines.compactMap { $0.hasPrefix("copied ") ? String($0.dropFirst(7)) : nil } }

  /// What is known of a run that something else has started.
  init(ending: ChildProcess.Ending, lines: [String], errors: String) {
    self.ending = ending
    self.lines = lines
    self.errors = errors
  }

  /// - Parameters:
  ///   - root: is emptied first; the store is made in it.
  ///   - faults: the shim's variables, without their prefix.
  init(
    executable: String, shim: String, root: String, workload: Workload, faults: [String: String],
    arguments: [String] = []
  ) throws {
    try Scratch.empty(root)
    var environment = TrialContext.environment
    environment.merge(
      TrialContext.shimVariables(shim, root: root, faults.merging(["ACKNOWLEDGE": "1"]) { $1 })
    ) { $1 }
    let (output, errors) = (root + ".out", root + ".err")
    ending = try ChildProcess.run(
      executable,
      ["work", "--root", root] + workload.arguments + arguments,
      environment: environment, output: output, errors: errors)
    lines = try Scratch.text(output).split(separator: "\n").map(String.init)
    self.errors = try Scratch.text(errors)
  }

  init(_ context: TrialContext, root: String, faults: [String: String], arguments: [String] = []) throws {
    try self.init(
      executable: context.executable, shim: context.shim, root: root, workload: context.workload, faults: faults,
      arguments: ["--states-file", context.statesFile] + arguments)
  }
}

extension WorkerRun {
  /// A run that nothing shall happen to.
  ///
  /// - Throws: where something did: what was planted in such a store would be found for the wrong reason.
  @discardableResult
  static func sound(_ context: TrialContext, root: String, arguments: [String] = []) throws -> WorkerRun {
    let run = try WorkerRun(context, root: root, faults: [:], arguments: arguments)
    guard run.ending == .exit(0) else { throw Finding("the workload failed (\(run.ending)): \(run.errors)") }
    return run
  }
}

/// Files of trials.
enum Scratch {
  /// An empty directory at this path, whatever was there.
  static func empty(_ path: String) throws {
    let manager = FileManager.default
    if manager.fileExists(atPath: path) { try manager.removeItem(atPath: path) }
    try manager.createDirectory(
      atPath: path, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
  }

  /// A text file of a process that may have been killed while it wrote.
  static func text(_ path: String) throws -> String {
    String(decoding: try Data(contentsOf: URL(fileURLWithPath: path)), as: UTF8.self)
  }
}
