import Foundation

/// Kills the process at a random time: between two calls, within one, or while it computes. The requirements are those
/// of ``KillFaults``, which targets every I/O call; this class does not know the calls.
enum RandomKillFaults: FaultClass {
  static let name = "random-kill"
  static let number = "G1"

  /// The target of the kill, one row of the table each.
  private struct Aim: Sendable {
    let id: String
    let title: String
    let count: Int
    /// Whether the workload with copies is killed.
    var isOfCopies = false
    let isAt: @Sendable (Workload.Kind?) -> Bool
  }

  private static let aims = [
    Aim(id: "anywhere", title: "at a random time", count: 300) { _ in true },
    Aim(id: "clone", title: "at a random time during a clone", count: 75) { $0 == .clone },
    Aim(id: "migration", title: "at a random time during a migration", count: 75) { $0?.isMigration == true },
    Aim(id: "snapshot", title: "at a random time while creating, deleting and rolling back to snapshots", count: 75) {
      [.snapshot, .someSnapshots, .allSnapshots, .rollback, .objectRollback].contains($0)
    },
    Aim(id: "branch", title: "at a random time while creating, changing and deleting branches", count: 75) {
      $0?.isOfBranches == true
    },
    Aim(id: "merge", title: "at a random time during a merge", count: 75) { $0?.isMerge == true || $0 == .draftMerge },
    Aim(id: "group", title: "at a random time during a group commit", count: 75) { $0 == .grouped },
    Aim(id: "copy", title: "at a random time during a backup or restore", count: 75, isOfCopies: true) { $0 == nil },
  ]
  /// The number of trials per aim in quick mode.
  private static let quickCount = 6

  static func groups(_ campaign: Campaign) throws -> [TrialGroup] {
    try aims.enumerated().map { number, aim in
      let context = aim.isOfCopies ? try campaign.contextWithCopies() : try campaign.context()
      let spans = try campaign.timing(of: context).spans.filter { span in
        // A span that is neither a commit nor a copy is the creation.
        aim.id == "anywhere" || span.isCopy == aim.isOfCopies && aim.isAt(span.commit.map(context.workload.kind))
      }
      let count = spans.isEmpty ? 0 : campaign.isQuick ? quickCount : aim.count
      return TrialGroup(
        title: "SIGKILL \(aim.title)",
        trials: (0..<count).map { trial(context, aim.id, spans, index: $0, stream: number * 10_000 + $0) })
    }
  }

  /// The number of attempts before another time is drawn because the process was too fast, and the number of such
  /// draws.
  private static let attempts = 6
  private static let draws = 8

  private static func trial(
    _ context: TrialContext, _ aim: String, _ spans: [RunTiming.Span], index: Int, stream: Int
  ) -> Trial {
    Trial(id: "\(aim):\(index)") { lane in
      var random = SeededGenerator(seed: context.workload.seed, stream: 8_000_000 + UInt64(stream))
      for _ in 0..<draws {
        // Spans are weighted by their durations.
        var place = random.below(max(1, spans.reduce(0) { $0 + $1.microseconds }))
        let span = spans.first { span in
          place -= span.microseconds
          return place < 0
        }
        guard let span else { return "the workload has no matching time span for a kill" }
        var delay = span.microseconds + place
        for _ in 0..<attempts {
          let run = try WorkerRun(context, root: lane.root, killedAfter: span.line, microseconds: delay)
          guard run.ending == .signal(SIGKILL) || run.ending == .exit(0) else {
            return "the process ended with \(run.ending): \(run.errors)"
          }
          let reason = try lane.verify(context, root: lane.root, acknowledged: run.acknowledged, copied: run.copied)
          if let reason { return "killed \(delay) µs after \(span.line ?? "its start"): \(reason)" }
          // The last line must be the start of the span, otherwise the process was faster than in the timed run.
          if run.ending == .signal(SIGKILL), aim == "anywhere" || run.lines.last == span.line { return nil }
          delay /= 2
        }
      }
      return "the kill never hit the intended operation, because the process had finished it before"
    }
  }
}

/// The durations of the parts of a run, measured between the lines of its output.
struct RunTiming: Sendable {
  /// The time from one line of output to the next.
  struct Span: Sendable {
    /// The line at the start; nil: the start of the process.
    let line: String?
    /// The commit at the end; nil: the creation, a copy, or the time after the last commit.
    let commit: Int?
    let isCopy: Bool
    let microseconds: Int
  }

  let spans: [Span]

  init(_ context: TrialContext) throws {
    let clock = ContinuousClock()
    var (last, lastLine): (ContinuousClock.Instant, String?) = (clock.now, nil)
    var spans: [Span] = []
    let run = try WorkerRun(context, root: context.directory + "/timed") { line in
      let now = clock.now
      let parts = (last.duration(to: now)).components
      let number = Acknowledgement(line: line)?.number
      spans.append(
        Span(
          line: lastLine, commit: number == 0 ? nil : number, isCopy: line.hasPrefix("copied "),
          microseconds: max(1, Int(parts.seconds) * 1_000_000 + Int(parts.attoseconds / 1_000_000_000_000))))
      (last, lastLine) = (now, line)
    }
    guard run.ending == .exit(0) else { throw Finding("the timed run ended with \(run.ending): \(run.errors)") }
    self.spans = spans
  }
}

extension WorkerRun {
  /// Runs the worker without the shim, and passes each line on as it arrives.
  init(_ context: TrialContext, root: String, _ body: (String) -> Void) throws {
    try self.init(context, root: root) { _, line in if let line { body(line) } }
  }

  /// Runs the worker, and kills it the given time after a line, or after its start.
  init(_ context: TrialContext, root: String, killedAfter line: String?, microseconds: Int) throws {
    try self.init(context, root: root) { child, said in
      guard said == line else { return }
      usleep(UInt32(microseconds))
      kill(child.id, SIGKILL)
    }
  }

  /// - Parameter body: called at the start, with nil, and for each line of output.
  private init(_ context: TrialContext, root: String, _ body: (ChildProcess, String?) -> Void) throws {
    try Scratch.empty(root)
    let (child, toChild, fromChild) = try ChildProcess.converse(
      context.executable,
      ["work", "--root", root] + context.workload.arguments + ["--states-file", context.statesFile],
      environment: TrialContext.environment, errors: root + ".err")
    defer { close(fromChild) }
    close(toChild)
    var lines: [String] = []
    var pipe = PipeLines(fromChild)
    body(child, nil)
    while let line = pipe.next() {
      lines.append(line)
      body(child, line)
    }
    self.init(ending: child.wait(), lines: lines, errors: try Scratch.text(root + ".err"))
  }
}
