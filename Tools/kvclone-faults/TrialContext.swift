import Foundation

/// The shared context of all trials of one workload: its states and calls, determined by a run without faults, and the
/// means to run it.
final class TrialContext: Sendable {
  let workload: Workload
  let executable: String
  let shim: String
  /// The directory of this workload, in memory if the machine allows it.
  let directory: String
  let statesFile: String
  /// The content after each commit, from 0.
  let states: [String]
  /// The I/O calls of a run without faults, from call 1.
  let calls: [TracedCall]
  /// Its reading calls, numbered separately from 1.
  let reads: [TracedCall]
  /// The commits that spilled dirty pages; empty if this LMDB cannot be made to spill.
  let spillingCommits: Set<Int>

  struct TracedCall: Sendable, Equatable, CustomStringConvertible {
    let operation: String
    /// The path below the root, without the random parts of names; empty if the call uses a descriptor.
    var path = ""
    /// The commit during which the call was made, the first one of a group; 0 is the creation.
    var commit: Int
    /// The name of the copy during which the call was made.
    var copy: String?

    /// Whether two runs made the same call. The last writes of a group can fail in a transaction of their own, which
    /// labels the write lock and reads while the callers of the earlier ones acknowledge them: before some of them, or
    /// after.
    func isSame(as other: TracedCall) -> Bool {
      var other = other
      if operation == "label" || operation == "read" { other.commit = commit }
      return self == other
    }

    var description: String {
      "\(operation)\(path.isEmpty ? "" : " of \(path)") in \(copy.map { "the \($0)" } ?? "commit \(commit)")"
    }
  }

  var workloadArguments: [String] { workload.arguments }

  static var environment: [String: String] {
    var variables = ProcessInfo.processInfo.environment.filter { !$0.key.hasPrefix("KVCLONE_FAULT_") }
    // A crash is a result; its backtrace would take minutes.
    variables["SWIFT_BACKTRACE"] = "enable=no"
    return variables
  }

  /// The environment variables that preload the shim to watch `root`.
  ///
  /// - Parameter faults: the shim's variables, without their prefix.
  func shimVariables(root: String, _ faults: [String: String]) -> [String: String] {
    Self.shimVariables(shim, root: root, faults)
  }

  static func shimVariables(_ shim: String, root: String, _ faults: [String: String]) -> [String: String] {
    // Keeps what the tool itself preloads, such as the annotations for the thread sanitizer.
    let preloads = [ProcessInfo.processInfo.environment["LD_PRELOAD"], shim].compactMap(\.self)
    var variables = ["LD_PRELOAD": preloads.joined(separator: ":"), "KVCLONE_FAULT_ROOT": root]
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
    func run(_ faults: [String: String], _ arguments: [String]) throws -> WorkerRun {
      let run = try WorkerRun(
        executable: executable, shim: shim, root: root, workload: workload, faults: faults, arguments: arguments)
      if run.ending == .exit(0) { return run }
      throw Finding("the workload fails without a fault (\(run.ending)): \(run.errors)")
    }
    // One write per commit, to determine the content after each.
    states = try run([:], []).lines.filter { $0.hasPrefix("state ") }.map { String($0.dropFirst(6)) }
    guard states.count == workload.commitCount + 1, Set(states).count == states.count else {
      throw Finding("the workload does not have one state per commit: \(states)")
    }
    try states.joined(separator: "\n").write(toFile: statesFile, atomically: false, encoding: .utf8)
    // In the mode of the trials, and several times: a trial is identified by the number of a call, so the calls must be
    // the same on every run.
    let (trace, statesFile) = (directory + "/trace", statesFile)
    let traces = try (0..<Self.traceCount).map { _ in
      _ = try run(["TRACE": trace], ["--states-file", statesFile])
      return TrialContext.parse(try String(contentsOfFile: trace, encoding: .utf8), workload)
    }
    for trace in traces.dropFirst() {
      try Self.compare(traces[0].calls, trace.calls, "call")
      try Self.compare(traces[0].reads, trace.reads, "read")
    }
    (calls, reads, spillingCommits) = traces[0]
    try FileManager.default.removeItem(atPath: root)
  }

  private static let traceCount = 3

  /// Throws if two runs differ.
  private static func compare(_ first: [TracedCall], _ other: [TracedCall], _ what: String) throws {
    let difference = zip(first, other).enumerated().first { !$1.0.isSame(as: $1.1) }?.offset
    guard let index = difference ?? (first.count == other.count ? nil : min(first.count, other.count)) else { return }
    func text(_ calls: [TracedCall]) -> String { index < calls.count ? calls[index].description : "none" }
    throw Finding(
      "two runs of the workload without a fault differ, so the numbers of calls do not identify trials: \(what) "
        + "\(index + 1) is \(text(first)) in one and \(text(other)) in the other; \(first.count) and "
        + "\(other.count) in all")
  }

  /// The kind of the commit during which a call was made, by its index in `calls`; nil: the creation.
  func kind(ofCall index: Int) -> Workload.Kind? {
    calls[index].commit == 0 ? nil : workload.kind(calls[index].commit)
  }

  /// Parses lines: "NUMBER OPERATION PATH", "read", "spill", and output of the worker such as "ack N" and "copying
  /// NAME".
  private static func parse(_ trace: String, _ workload: Workload) -> (
    calls: [TracedCall], reads: [TracedCall], spilling: Set<Int>
  ) {
    var (calls, reads): ([TracedCall], [TracedCall]) = ([], [])
    var spilling: Set<Int> = []
    var (acknowledged, commit) = (-1, 0)
    var copy: String?
    for line in trace.split(separator: "\n") {
      let parts = line.split(separator: " ")
      if let known = Acknowledgement(line: line) {
        acknowledged = max(acknowledged, known.number)
        commit = workload.step(of: acknowledged + 1).lowerBound
      } else if parts.first == "copying", parts.count > 1 {
        copy = String(parts[1])
      } else if parts.first == "copied" {
        copy = nil
      } else if parts == ["spill"] {
        spilling.insert(commit)
      } else if parts == ["read"] {
        reads.append(TracedCall(operation: "read", commit: commit, copy: copy))
      } else if parts.count > 1, Int(parts[0]) != nil {
        calls.append(TracedCall(operation: String(parts[1]), path: path(of: parts), commit: commit, copy: copy))
      }
    }
    return (calls, reads, spilling)
  }

  /// The random part of a hidden name follows a dash.
  private static func path(of parts: [Substring]) -> String {
    guard parts.count > 2 else { return "" }
    let names = parts[2].split(separator: "/").map { $0.hasPrefix(".") ? $0.prefix { $0 != "-" } : $0 }
    return names.joined(separator: "/")
  }
}

/// A run of the worker with the shim, until it exits or is killed.
struct WorkerRun: Sendable {
  let ending: ChildProcess.Ending
  /// The lines of its output, see `Worker`.
  let lines: [String]
  let errors: String

  /// The last acknowledged commit, −1 for none.
  var acknowledged: Int {
    acknowledgements.map(\.number).max() ?? -1
  }

  private var acknowledgements: [Acknowledgement] { lines.compactMap(Acknowledgement.init(line:)) }

  /// Returns an explanation if the commit numbers that the worker received are out of order.
  func disorder(_ workload: Workload) -> String? {
    let isDisturbed = lines.contains { $0.hasPrefix("error ") || $0.hasPrefix("fault ") }
    return Acknowledgement.disorder(of: acknowledgements, groups: workload.groups, isDisturbed: isDisturbed)
  }

  /// The names of the acknowledged copies.
  var copied: [String] { lines.compactMap { $0.hasPrefix("copied ") ? String($0.dropFirst(7)) : nil } }

  /// Holds the results of a run that another caller has started.
  init(ending: ChildProcess.Ending, lines: [String], errors: String) {
    self.ending = ending
    self.lines = lines
    self.errors = errors
  }

  /// - Parameters:
  ///   - root: the directory in which the store is created; it is emptied first.
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
  /// Runs the worker without faults.
  ///
  /// - Throws: ``Finding`` if the run fails, because a planted bug in its store would be detected for the wrong reason.
  @discardableResult
  static func sound(_ context: TrialContext, root: String, arguments: [String] = []) throws -> WorkerRun {
    let run = try WorkerRun(context, root: root, faults: [:], arguments: arguments)
    guard run.ending == .exit(0) else { throw Finding("the workload failed (\(run.ending)): \(run.errors)") }
    return run
  }
}

/// Temporary files of trials.
enum Scratch {
  /// Creates an empty directory at this path, and removes what was there.
  static func empty(_ path: String) throws {
    let manager = FileManager.default
    if manager.fileExists(atPath: path) { try manager.removeItem(atPath: path) }
    try manager.createDirectory(
      atPath: path, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
  }

  /// Reads a text file of a process that may have been killed during a write.
  static func text(_ path: String) throws -> String {
    String(decoding: try Data(contentsOf: URL(fileURLWithPath: path)), as: UTF8.self)
  }
}
