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
