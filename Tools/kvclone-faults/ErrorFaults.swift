import Foundation

/// Each I/O call in turn fails, once or persistently, or writes too little.
///
/// Requirements: no signal; an error of a matching kind before any acknowledgement; the state before the failed commit
/// is intact, unless the error reports an unknown outcome; the same process repeats the commit after the fault is
/// cleared, and performs several more commits.
enum ErrorFaults: FaultClass {
  static let name = "error"
  static let number = "G4"

  struct Variant: Sendable {
    let name: String
    let title: String
    let faults: [String: String]
    let allowedKinds: Set<String>
    var onlyWrites = false

    /// The shim's variables for call `number`. Consecutive failures are two to four calls long; the number of the call
    /// and the seed of the workload select the length.
    func variables(_ number: Int, seed: UInt64 = 0) -> [String: String] {
      let row = 2 + (number + Int(seed % 3)) % 3
      return faults.mapValues {
        $0.replacingOccurrences(of: "CALL", with: "\(number)").replacingOccurrences(of: "ROW", with: "\(row)")
      }
    }
  }

  /// The error of a failed meta page write, which can leave the outcome of the commit unknown.
  private static let kindOfDecision = "commitUnknown"

  static let variants: [Variant] = {
    var variants: [Variant] = []
    for (name, code, kind) in [("EIO", EIO, "io"), ("ENOSPC", ENOSPC, "diskFull"), ("EDQUOT", EDQUOT, "diskFull")] {
      // An exhausted quota stays exhausted, so it has only the persistent variant.
      if code != EDQUOT {
        variants.append(
          Variant(
            name: name, title: "one \(name), at each I/O call", faults: ["FAIL": "CALL:\(code)"],
            allowedKinds: [kind, kindOfDecision]))
      }
      variants.append(
        Variant(
          name: "\(name)-sticky", title: "persistent \(name), from each I/O call on",
          faults: ["FAIL": "CALL:\(code):sticky"],
          allowedKinds: [kind, kindOfDecision]))
    }
    // Long enough for the recovery from a failed commit to fail too, and short enough for the next attempt to succeed.
    variants.append(
      Variant(
        name: "EIO-row", title: "2 to 4 consecutive EIO, from each I/O call on",
        faults: ["FAIL": "CALL:\(EIO):ROW"], allowedKinds: ["io", kindOfDecision]))
    variants.append(
      Variant(
        name: "short", title: "short write, at each write call", faults: ["FAIL": "CALL:\(EIO)", "SHORT": "1"],
        allowedKinds: [kindOfDecision, "io", "diskFull"], onlyWrites: true))
    return variants
  }()

  /// Operations that may fail without a report. Failed removals are cleaned up later; lock labels are informational;
  /// the first upload opens the side file of uploads again; and reads of a page that may be in the middle of a write
  /// are repeated.
  private static let quietOperations: Set<String> = ["unlink", "label", "stagers", "read"]

  static func groups(_ campaign: Campaign) throws -> [TrialGroup] {
    let context = try campaign.context()
    // Quick mode injects one variant into an eighth of the calls, selected by the seed; the full mode injects all
    // variants into all calls.
    let groups = variants.enumerated().map { index, variant in
      let calls = context.calls.indices.filter { call in
        let isWrite = ["write", "meta", "label"].contains(context.calls[call].operation)
        let isChosen = !campaign.isQuick || (call + Int(context.workload.seed)) % (8 * variants.count) == 8 * index
        return isChosen && (isWrite || !variant.onlyWrites)
      }
      return TrialGroup(title: variant.title, trials: calls.map { trial(context, variant, call: $0 + 1) })
    }
    return try groups + (context.workload.usesCommitLog ? [] : groupCommitsWithLog(campaign))
  }

  /// Trials with a write-ahead log, in which the commit of a group makes other calls.
  private static func groupCommitsWithLog(_ campaign: Campaign) throws -> [TrialGroup] {
    let context = try campaign.context(withLog: true)
    let calls = context.calls.indices.filter { context.kind(ofCall: $0) == .grouped }
    return variants.filter { ["EIO", "EIO-sticky"].contains($0.name) }.map { variant in
      TrialGroup(
        title: "\(variant.title) of a group commit, with a write-ahead log",
        trials: campaign.sample(calls, oneOf: 8).map { call in
          Trial(id: "log-\(variant.name):\(call + 1)", run: trial(context, variant, call: call + 1).run)
        })
    }
  }

  /// The number of steps that the worker performs after the faulty one.
  private static let stepsAfter = 6

  static func trial(_ context: TrialContext, _ variant: Variant, call: Int, arguments: [String] = []) -> Trial {
    trial(context, variant, call: call, of: context.calls, arguments: arguments)
  }

  /// - Parameter calls: the calls that `call` indexes: those that change files, or those that read.
  static func trial(
    _ context: TrialContext, _ variant: Variant, call: Int, of calls: [TrialContext.TracedCall],
    arguments: [String] = []
  ) -> Trial {
    let last = context.workload.end(stepsAfter, stepsAfter: calls[call - 1].commit)
    let arguments = ["--commits", "\(last)"] + arguments
    return Trial(id: "\(variant.name):\(call)") { lane in
      let run = try WorkerRun(
        context, root: lane.root, faults: variant.variables(call, seed: context.workload.seed),
        arguments: arguments)
      guard run.lines.contains(where: { $0.hasPrefix("fault ") }) else {
        throw Finding("the fault was not injected; the process ended with \(run.ending): \(run.errors)")
      }
      if let reason = complaint(run, variant, context, last) { return reason }
      return try lane.verify(context, root: lane.root, acknowledged: run.acknowledged, copied: run.copied)
    }
  }

  /// Returns an explanation if the process handled the fault wrongly.
  private static func complaint(_ run: WorkerRun, _ variant: Variant, _ context: TrialContext, _ last: Int)
    -> String?
  {
    let lastWords = run.errors.split(separator: "\n").last.map(String.init) ?? ""
    guard run.ending == .exit(0) else { return "the process ended with \(run.ending): \(lastWords)" }
    var unreported: Substring?
    var isUnknown = false
    // A second creation, or a second copy, first removes the remains of the first attempt. Remains that it cannot open
    // stay for the next attempt.
    var maySweep = false
    var isCopying = false
    var (number, acknowledged) = (0, -1)
    for line in run.lines {
      let parts = line.split(separator: " ")
      switch parts.first {
      case "fault":
        let isQuiet = quietOperations.contains(String(parts[1])) || maySweep && parts[1] == "open"
        // If writing to the log fails, the commit syncs the data file; if that fails at the end, the next opening syncs
        // it. Then there is no error to report; the content and `LostSyncFaults` show that no commit was lost. A copy
        // continues after a short write.
        let isMended = context.workload.usesCommitLog || isCopying && variant.onlyWrites
        if !isQuiet, !isMended { unreported = parts[1] }
      case "copying":
        isCopying = true
        maySweep = true
      case "ack", "done", "copied":
        isCopying = false
        maySweep = false
        if let known = Acknowledgement(line: line) { acknowledged = max(acknowledged, known.number) }
        if let unreported { return "\(line), although \(unreported) had failed without a report" }
      case "error":
        unreported = nil
        let kind = String(parts[2])
        let isSame = number == Int(parts[1])
        number = Int(parts[1]) ?? 0
        maySweep = number == 0 || isCopying
        // A migration during opening can succeed although the rest of the opening fails.
        let isOpening = context.workload.kind(number) == .automaticMigration
        isUnknown = kind == kindOfDecision || isOpening || isSame && isUnknown
        let isLeftover = kind == "storeExists" && maySweep
        if !isLeftover && !variant.allowedKinds.contains(kind) {
          return "\(variant.name) was reported as \(kind): \(lastWords)"
        }
      case "state":
        // Of a group, the first writes may be durable.
        let end = context.workload.lastUnderWay(after: acknowledged)
        guard context.states[max(0, acknowledged)...end].contains(String(parts[1])) else {
          return "after the error of commit \(number), the content is not that of a commit that was under way"
        }
        if !isUnknown, acknowledged >= 0, String(parts[1]) != context.states[acknowledged] {
          return "commit \(acknowledged + 1) is durable, although its error reported the opposite: \(lastWords)"
        }
      default: break
      }
    }
    if run.lines.last != "done \(last)" { return "the process stopped early: \(lastWords)" }
    return run.disorder(context.workload)
  }
}
