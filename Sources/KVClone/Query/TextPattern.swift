import Foundation
import Synchronization

/// The regular expression of a MATCHES, or of a model's rule, for whole texts: ICU's, as Core Data's are.
///
/// ICU tries one way to match after the other, and a pattern that repeats what repeats has more of them than anybody can wait
/// for. So it is asked to report on its way, and stopped when it has reported too often: which texts that are is the pattern's
/// doing, and not the machine's.
final class TextPattern {
  /// ICU reports after every 10,000 steps back. A text of a million characters whose every place is gone back to takes a
  /// tenth of what is allowed; all that is allowed takes about a tenth of a second.
  static let reportLimit = 1000

  private let expression: NSRegularExpression

  /// nil for a pattern that cannot be read.
  init?(_ pattern: String) {
    // By itself, because the frame below would close what the pattern leaves open. An empty one is none to ICU.
    guard pattern.isEmpty || (try? NSRegularExpression(pattern: pattern)) != nil else { return nil }
    // What a pattern may leave open is a comment or a quotation, to its end.
    let framed = ["", "\n", "\\E"].lazy.compactMap { try? NSRegularExpression(pattern: "\\A(?:\(pattern)\($0))\\z") }
    guard let expression = framed.first else { return nil }
    self.expression = expression
  }

  /// Whether the whole text matches; nil where that is not to be known within the limits of steps and of ICU's memory (8 MB).
  func matches(_ text: String) -> Bool? {
    let state = Mutex((reports: 0, answer: Bool?.some(false)))
    let range = NSRange(location: 0, length: text.utf16.count)
    expression.enumerateMatches(in: text, options: [.reportProgress, .reportCompletion], range: range) {
      match, flags, stop in
      state.withLock { state in
        if match != nil {
          state.answer = true
        } else if flags.contains(.internalError) {
          state.answer = nil
        } else if flags.contains(.progress) {
          state.reports += 1
          guard state.reports > Self.reportLimit else { return }
          state.answer = nil
        } else {
          return
        }
        stop.pointee = true
      }
    }
    return state.withLock { $0.answer }
  }
}

/// Regular expressions by their text, each compiled once, as long as there are few of them: each object may have one.
struct TextPatterns {
  private static let limit = 64
  /// nil for a pattern that cannot be read.
  private var compiled: [String: TextPattern?] = [:]

  enum Answer {
    case match, mismatch
    /// Nobody can read the pattern.
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
  mutating func matches(_ text: String, _ pattern: String) throws(StoreError) -> Bool {
    switch answer(text, pattern) {
    case .match: return true
    case .mismatch, .unreadable: return false
    case .unknown:
      throw StoreError(
        .limitExceeded,
        "whether a text of \(text.utf8.count) bytes matches a regular expression takes \(Self.tooMuch); write it without "
          + "repeating what repeats, or use LIKE")
    }
  }

  static let tooMuch = "more than \(TextPattern.reportLimit * 10_000) steps, or too much memory"
}
