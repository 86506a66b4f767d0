import Foundation
import Synchronization

/// The regular expression of a MATCHES, or of a model's rule, for whole texts: ICU's, like Core Data's.
///
/// ICU backtracks, and a pattern with nested repetitions can take practically forever. It therefore reports progress,
/// and is stopped after too many reports: whether that happens depends on the pattern and the text, not on the machine.
package final class TextPattern {
  /// ICU reports after every 10,000 steps of backtracking. A text of a million characters with backtracking at every
  /// position takes a tenth of the limit; the whole limit takes about a tenth of a second.
  package static let reportLimit = 1000

  private let expression: NSRegularExpression

  /// Nil for an invalid pattern.
  package init?(_ pattern: String) {
    // Unframed, because the frame below would close what the pattern leaves open. ICU rejects an empty one.
    guard pattern.isEmpty || (try? NSRegularExpression(pattern: pattern)) != nil else { return nil }
    // A pattern may leave a comment or a quotation open at its end.
    let framed = ["", "\n", "\\E"].lazy.compactMap { try? NSRegularExpression(pattern: "\\A(?:\(pattern)\($0))\\z") }
    guard let expression = framed.first else { return nil }
    self.expression = expression
  }

  /// Whether the whole text matches; nil if that is unknown within the limits of steps and of ICU's memory (8 MB).
  package func matches(_ text: String) -> Bool? {
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
