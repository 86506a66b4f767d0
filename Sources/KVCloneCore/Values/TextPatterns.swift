import KVCloneModel

/// Regular expressions by their text, each compiled once, as long as there are few of them: each object may have one.
package struct TextPatterns {
  private static let limit = 64
  /// nil for a pattern that cannot be read.
  private var compiled: [String: TextPattern?] = [:]

  package init() {}

  enum Answer {
    case match, mismatch
    /// ICU cannot read the pattern.
    case unreadable
    /// It would take more steps, or memory, than is allowed.
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

  /// Whether the whole text matches. An object may hold the pattern, and one that cannot be read matches nothing.
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
