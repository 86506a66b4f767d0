/// Regular expressions by their text, each compiled once.
struct PatternCache {
  /// What counts as one character: texts of the model's rules are for people, texts of predicates are compared by code points.
  let semantics: RegexSemanticLevel
  /// nil for a pattern that cannot be read.
  private var compiled: [String: Regex<AnyRegexOutput>?] = [:]

  init(_ semantics: RegexSemanticLevel) {
    self.semantics = semantics
  }

  /// Whether the whole text matches, as in Core Data; nil where the pattern cannot be read.
  mutating func matches(_ text: String, _ pattern: String) -> Bool? {
    let regex: Regex<AnyRegexOutput>?
    if let known = compiled[pattern] {
      regex = known
    } else {
      regex = (try? Regex(pattern))?.matchingSemantics(semantics)
      compiled[pattern] = .some(regex)
    }
    return regex.map { (try? $0.wholeMatch(in: text)) != nil }
  }
}
