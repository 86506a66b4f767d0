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
