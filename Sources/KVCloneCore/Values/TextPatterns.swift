import KVCloneModel

/// A cache of compiled regular expressions, as long as there are few: each object may have one.
package struct TextPatterns {
  private static let limit = 64
  /// Nil for an invalid pattern.
  private var compiled: [String: TextPattern?] = [:]

  package init() {}

  enum Answer {
    case match, mismatch
    /// ICU rejects the pattern.
    case unreadable
    /// Matching exceeds the limit of steps or memory.
    case unknown
  }

  mutating func answer(_ text: String, _ pattern: String) -> Answer {
    let known: TextPattern?
    if let compiled = compiled[pattern] {
      known = compiled
    } else {
      known = TextPattern(pattern)
      if compiled.count >= Self.limit { compiled.removeAll(keepingCapacity: true) }
      compiled[pattern] = .some(known)
    }
    guard let known else { return .unreadable }
    return known.matches(text).map { $0 ? .match : .mismatch } ?? .unknown
  }

  /// Whether the whole text matches. An object may contain the pattern, and an invalid one matches nothing.
  package mutating func matches(_ text: String, _ pattern: String) throws(StoreError) -> Bool {
    switch answer(text, pattern) {
    case .match: return true
    case .mismatch, .unreadable: return false
    case .unknown:
      throw StoreError(
        .limitExceeded,
        "matching a string of \(text.utf8.count) bytes against a regular expression takes \(Self.tooMuch); avoid nested "
          + "repetitions in the expression, or use LIKE")
    }
  }

  static let tooMuch = "more than \(TextPattern.reportLimit * 10_000) steps, or too much memory"
}
