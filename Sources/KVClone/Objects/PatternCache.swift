/// Regular expressions of the model's rules by their text, each compiled once. They are Swift's, to which one character is what
/// people take for one; predicates compare code points (``TextPattern``).
struct PatternCache {
  /// nil for a pattern that cannot be read.
  private var compiled: [String: Regex<AnyRegexOutput>?] = [:]

  /// Whether the whole text matches, as in Core Data; nil where the pattern cannot be read.
  mutating func matches(_ text: String, _ pattern: String) -> Bool? {
    let regex: Regex<AnyRegexOutput>?
    if let known = compiled[pattern] {
      regex = known
    } else {
      regex = try? Regex(pattern)
      compiled[pattern] = .some(regex)
    }
    return regex.map { (try? $0.wholeMatch(in: text)) != nil }
  }
}
