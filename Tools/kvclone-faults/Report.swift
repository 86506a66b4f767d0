import Foundation

/// The table of results, and the commands that repeat failed trials.
final class Report {
  struct Failure: Sendable {
    let trial: String
    let reason: String
    /// The path of the store that the trial left.
    let kept: String?
    /// Whether the trial itself failed, which is no statement about the store.
    let isOfTrial: Bool
  }

  struct Result: Sendable {
    let trials: Int
    let failures: [Failure]
    /// The number of repetitions because the machine had stalled.
    let repetitions: Int
    let duration: Duration
  }

  private struct Row {
    let number: String
    let fault: String
    let trials: String
    let result: String
    let command: String
  }

  /// The maximum number of reasons per row that are printed; further ones are counted.
  private static let toldReasons = 8

  /// The command that repeats the campaign, without the class.
  private let command: String
  private var rows: [Row] = []
  private(set) var hasFailed = false
  private(set) var trialCount = 0
  /// The number of rows without trials in a sample.
  private var omittedCount = 0
  private let start = ContinuousClock.now

  /// Whether each kind of fault must have trials, or a note with the reason for their absence.
  private let isFull: Bool

  init(command: String, isFull: Bool) {
    self.command = command
    self.isFull = isFull
  }

  func add(_ type: any FaultClass.Type, _ group: TrialGroup, _ result: Result) {
    let command = "\(command) --class \(type.name)"
    let complaint: String?
    var text: String
    if let verdict = group.verdict {
      let broken = result.failures.count { $0.isOfTrial }
      complaint =
        broken > 0
        ? "\(broken) trials tested nothing, first: \(result.failures.first { $0.isOfTrial }?.reason ?? "")"
        : result.trials == 0 ? nil : verdict(result.failures.count, result.trials)
      text = complaint ?? "found by \(result.failures.count)"
    } else {
      complaint = result.failures.isEmpty ? nil : "\(result.failures.count) failed"
      text = complaint.map { "**\($0)**" } ?? "all passed"
    }
    if result.repetitions > 0 { text += ", \(result.repetitions) repeated" }
    if result.trials == 0 { text = group.note ?? "no trial" }
    if result.trials == 0 {
      // A sample omits some kinds of faults on purpose, so they are only counted.
      guard isFull else {
        omittedCount += 1
        return
      }
      if group.note == nil {
        hasFailed = true
        StandardError.write("FAILED: \(group.title): no trial was possible\n")
      }
    }
    trialCount += result.trials
    if complaint != nil {
      hasFailed = true
      tell(group, result, command, complaint ?? "")
    }
    rows.append(
      Row(
        number: group.number ?? type.number, fault: group.title, trials: "\(result.trials)", result: text,
        command: "`\(command)`"))
    StandardError.write("\(group.title): \(result.trials) trials, \(text), \(Self.seconds(result.duration)) s\n")
  }

  private static func seconds(_ duration: Duration) -> String {
    let seconds = Double(duration.components.seconds) + Double(duration.components.attoseconds) / 1e18
    return String(format: "%.1f", seconds)
  }

  /// The summary in one line.
  var summary: String {
    let result = hasFailed ? "some FAILED" : "all passed"
    let seconds = Self.seconds(ContinuousClock.now - start)
    let count = rows.count { $0.trials != "0" }
    let omitted = omittedCount > 0 ? "; a full run (Tools/faults) has \(omittedCount) more kinds" : ""
    return "\(count) kinds of faults, \(trialCount) trials, \(result), \(seconds) s\(omitted)"
  }

  private func tell(_ group: TrialGroup, _ result: Result, _ command: String, _ complaint: String) {
    guard group.verdict == nil else { return StandardError.write("FAILED: \(complaint)\n  \(command)\n") }
    // One bug fails many trials with the same reason except for numbers, so reasons are grouped without them.
    let byReason = Dictionary(grouping: result.failures) { $0.reason.filter { !$0.isNumber } }
    let reasons = byReason.values.sorted { $0.count > $1.count }
    for failures in reasons.prefix(Self.toldReasons) {
      guard let first = failures.first else { continue }
      let others = failures.count > 1 ? " and \(failures.count - 1) more" : ""
      StandardError.write("FAILED: \(group.title), trial \(first.trial)\(others): \(first.reason)\n")
      StandardError.write("  \(command) --trial \(first.trial) --keep\n")
      if let kept = first.kept { StandardError.write("  kept: \(kept)\n") }
    }
    if reasons.count > Self.toldReasons {
      StandardError.write("  and \(reasons.count - Self.toldReasons) more reasons\n")
    }
  }

  /// The table in Markdown.
  var table: String {
    let head = ["| | fault | trials | result | command |", "|---|---|---|---|---|"]
    let lines = rows.filter { $0.trials != "0" || $0.result != "no trial" }.map {
      "| \($0.number) | \($0.fault) | \($0.trials) | \($0.result) | \($0.command) |"
    }
    return (head + lines).joined(separator: "\n") + "\n"
  }
}
