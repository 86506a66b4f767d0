/// A target of the project, and the measured figure.
package struct Target {
  package enum Verdict: String {
    case met
    case missed = "**missed**"
    /// The target was not measured in this run.
    case unknown = "not measured"
  }

  package var title: String
  package var limit: String
  package var figure: String
  package var verdict: Verdict

  package init(title: String, limit: String, figure: String, verdict: Verdict) {
    (self.title, self.limit, self.figure, self.verdict) = (title, limit, figure, verdict)
  }

  /// A target for the ratio of two durations in seconds.
  package static func ratio(_ title: String, _ seconds: Double, to base: Double, atMost limit: Double) -> Target {
    let ratio = seconds / max(base, 1e-9)
    return Target(
      title: title, limit: "≤ \(Plot.compact(limit)) ×",
      figure: "\(duration(seconds)) / \(duration(base)): \(fixed(ratio, 2)) ×", verdict: ratio <= limit ? .met : .missed
    )
  }

  /// A target for a duration in seconds.
  package static func time(_ title: String, _ seconds: Double, atMost limit: Double) -> Target {
    Target(
      title: title, limit: "≤ \(duration(limit))", figure: duration(seconds),
      verdict: seconds <= limit ? .met : .missed)
  }
}

extension [Target] {
  /// A section of the report with all targets.
  ///
  /// - Parameter measured: the title of the column of measured figures.
  package func section(measured: String = "measured") -> String {
    var table = MarkdownTable(["target", "limit", measured, ""], wordColumns: 4)
    table.rows = map { [$0.title, $0.limit, $0.figure, $0.verdict.rawValue] }
    return "## Targets\n\nMedians of interleaved rounds of this run.\n\n\(table.text)\n"
  }
}
