import Dispatch
import Foundation
import Synchronization

/// Runs fault classes on all processors and reports the results.
final class Campaign: Sendable {
  static var classes: [any FaultClass.Type] {
    [
      KillFaults.self, RandomKillFaults.self, ErrorFaults.self, ReadFaults.self, FullDiskFaults.self,
      PowerLossFaults.self, LostSyncFaults.self, BackupFaults.self, MapFaults.self, FlippedBitFaults.self,
      HostileFileFaults.self, ProcessFaults.self, SoakFaults.self, SelfTestFaults.self,
    ]
  }

  let options: Options
  let isQuick: Bool
  let seed: UInt64
  /// The directory for all files of the campaign; it is removed with the campaign.
  let scratch: String
  private let shim: String
  private let lanes: Int
  /// Contexts by their directories.
  private let contexts = Mutex<[String: TrialContext]>([:])
  private let timings = Mutex<[String: RunTiming]>([:])
  /// Subjects by the directories of their contexts and their shapes.
  private let subjects = Mutex<[String: DamageSubject]>([:])

  init(_ options: Options) throws {
    self.options = options
    isQuick = options.isQuick
    Standstill.shared.watch()
    seed = try options.workload().seed
    shim = try options.text("--shim")
    scratch = try options.text("--scratch")
    lanes = try options.number("--jobs", from: 1) ?? min(ProcessInfo.processInfo.activeProcessorCount, 8)
    // Writing to a verifier that has crashed must not end the campaign.
    signal(SIGPIPE, SIG_IGN)
  }

  /// Returns the context of the workload with this seed, or with a later seed.
  ///
  /// - Parameter withLog: whether the workload always uses a write-ahead log.
  func context(offset: Int = 0, withLog: Bool = false) throws -> TrialContext {
    let base = try options.workload()
    return try context(
      of: Workload(
        seed: base.seed + UInt64(offset), commitCount: base.commitCount, usesCommitLog: withLog || base.usesCommitLog))
  }

  /// Returns all elements, or in quick mode one of every `part`; the seed selects which.
  func sample<T>(_ all: [T], oneOf part: Int) -> [T] {
    if !isQuick { return all }
    let first = Int(seed % UInt64(part))
    return stride(from: first, to: all.count, by: part).map { all[$0] }
  }

  /// The context of the short workload that makes copies.
  func contextWithCopies() throws -> TrialContext {
    let base = try options.workload()
    return try context(
      of: Workload(
        seed: base.seed, commitCount: Workload.countWithCopies, usesCommitLog: base.usesCommitLog, makesCopies: true))
  }

  /// The durations of a workload's parts.
  func timing(of context: TrialContext) throws -> RunTiming {
    if let known = timings.withLock({ $0[context.directory] }) { return known }
    let timing = try RunTiming(context)
    timings.withLock { $0[context.directory] = timing }
    return timing
  }

  /// The intact store of a shape, from which corrupted copies are made.
  func subject(_ context: TrialContext, _ shape: DamageSubject.Shape) throws -> DamageSubject {
    let key = "\(context.directory) \(shape)"
    if let known = subjects.withLock({ $0[key] }) { return known }
    let subject = try DamageSubject(context, shape)
    subjects.withLock { $0[key] = subject }
    return subject
  }

  private func context(of workload: Workload) throws -> TrialContext {
    let directory =
      "\(scratch)/workload-\(workload.seed)\(workload.makesCopies ? "-copies" : "")\(workload.usesCommitLog ? "-log" : "")"
    if let known = contexts.withLock({ $0[directory] }) { return known }
    let executable = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
    let context = try TrialContext(
      workload: workload, executable: executable, shim: shim, directory: directory)
    contexts.withLock { $0[directory] = context }
    return context
  }

  /// - Returns: the exit code of the process.
  func run() throws -> Int32 {
    let names = Self.classes.map { $0.name }
    for name in options.classes where !names.contains(name) {
      throw Options.Wrong(description: "unknown class \(name); choose one of \(names.joined(separator: ", "))")
    }
    let chosen = Self.classes.filter { type in
      if options.flags.contains("--self-test") { return type == SelfTestFaults.self }
      return options.classes.isEmpty || options.classes.contains(type.name)
    }
    let isPart = options.values["--trial"] != nil || options.values["--rows"] != nil
    let report = Report(command: try command(), isFull: !isQuick && !isPart)
    StandardError.write("seed \(seed), in \(scratch)\n")
    let workers = try (0..<lanes).map { lane in
      let directory = "\(scratch)/lane-\(lane)"
      try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
      return Lane(directory: directory)
    }
    for type in chosen {
      for group in try type.groups(self) where isChosen(group) {
        let result = run(group, workers)
        // With `--trial`, groups without the trial are omitted from the report.
        if options.values["--trial"] == nil || result.trials > 0 { report.add(type, group, result) }
      }
    }
    if isPart, report.trialCount == 0 {
      let what = options.values["--trial"].map { "trial \($0)" } ?? "row with this text that has trials"
      throw Options.Wrong(description: "the chosen classes have no \(what)")
    }
    StandardError.write(report.summary + "\n")
    print(report.table)
    if let path = options.values["--report"] {
      try report.table.write(toFile: path, atomically: true, encoding: .utf8)
    }
    return report.hasFailed ? 1 : 0
  }

  private func isChosen(_ group: TrialGroup) -> Bool {
    options.values["--rows"].map { group.title.localizedCaseInsensitiveContains($0) } ?? true
  }

  private func command() throws -> String {
    let commits = try options.number("--commits").map { " --commits \($0)" } ?? ""
    let log = options.flags.contains("--commit-log") ? " --commit-log" : ""
    return "Tools/faults\(isQuick ? " --quick" : "") --seed \(seed)\(commits)\(log)"
  }

  /// Runs the trials of a group in parallel; each thread has its own lane.
  private func run(_ group: TrialGroup, _ workers: [Lane]) -> Report.Result {
    let wanted = options.values["--trial"]
    let trials = group.trials.filter { wanted == nil || $0.id == wanted }
    let next = Mutex(0)
    let failures = Mutex<[Report.Failure]>([])
    let repetitions = Mutex(0)
    let start = ContinuousClock.now
    nonisolated(unsafe) let workers = workers
    DispatchQueue.concurrentPerform(iterations: workers.count) { index in
      let lane = workers[index]
      while let trial = next.withLock({ next -> Trial? in
        defer { next += 1 }
        return next < trials.count ? trials[next] : nil
      }) {
        let (failure, count) = attempt(trial, lane)
        repetitions.withLock { $0 += count }
        guard let (reason, isOfTrial) = failure else { continue }
        // Detecting a planted bug is not a failure, so its files are not kept.
        let kept = group.verdict == nil ? keep(lane, trial) : nil
        failures.withLock {
          $0.append(Report.Failure(trial: trial.id, reason: reason, kept: kept, isOfTrial: isOfTrial))
        }
      }
    }
    return Report.Result(
      trials: trials.count, failures: failures.withLock { $0 }.sorted { $0.trial < $1.trial },
      repetitions: repetitions.withLock { $0 }, duration: ContinuousClock.now - start)
  }

  /// Runs a trial, and repeats it if the machine stalled and a process ended late.
  ///
  /// - Returns: nil or the failure, with whether the trial itself failed; and the number of repetitions.
  private func attempt(_ trial: Trial, _ lane: Lane) -> (failure: (String, Bool)?, repetitions: Int) {
    var repetitions = 0
    while true {
      let before = Standstill.shared.known
      guard let failure = Self.attempt(trial, lane) else { return (nil, repetitions) }
      let isLate = failure.0.contains(ChildProcess.Ending.late)
      if !isLate || repetitions == Standstill.attempts - 1 || Standstill.shared.total == before {
        return (failure, repetitions)
      }
      repetitions += 1
      StandardError.write("the machine stalled during trial \(trial.id); repeating it: \(failure.0)\n")
    }
  }

  private static func attempt(_ trial: Trial, _ lane: Lane) -> (String, Bool)? {
    do { return try trial.run(lane).map { ($0, false) } } catch { return ("the trial itself failed: \(error)", true) }
  }

  /// Keeps the files of a failed trial with `--keep`; returns their path.
  private func keep(_ lane: Lane, _ trial: Trial) -> String? {
    guard options.flags.contains("--keep") else { return nil }
    let place = "\(scratch)/failed-\(trial.id.replacingOccurrences(of: ":", with: "-"))"
    try? FileManager.default.removeItem(atPath: place)
    return (try? FileManager.default.copyItem(atPath: lane.root, toPath: place)) == nil ? nil : place
  }
}
