/// A promise of the project, and what this run measured of it.
package struct Target {
  package enum Verdict: String {
    case met
    case missed = "**missed**"
    /// This run did not do what the target speaks of.
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
  /// A section about them.
  ///
  /// - Parameter measured: whose figures the measured ones are, in their order.
  package func section(measured: String = "measured") -> String {
    var table = MarkdownTable(["target", "limit", measured, ""], wordColumns: 4)
    table.rows = map { [$0.title, $0.limit, $0.figure, $0.verdict.rawValue] }
    return "## Targets\n\nMedians of interleaved rounds of this run.\n\n\(table.text)\n"
  }
}
