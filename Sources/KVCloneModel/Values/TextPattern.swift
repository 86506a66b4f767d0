import Foundation
import Synchronization

/// The regular expression of a MATCHES, or of a model's rule, for whole texts: ICU's, as Core Data's are.
///
/// ICU tries one way to match after the other, and a pattern that repeats what repeats has more of them than anybody can wait
/// for. So it is asked to report on its way, and stopped when it has reported too often: which texts that are is the pattern's
/// doing, and not the machine's.
package final class TextPattern {
  /// ICU reports after every 10,000 steps back. A text of a million characters whose every place is gone back to takes a
  /// tenth of what is allowed; all that is allowed takes about a tenth of a second.
  package static let reportLimit = 1000

  private let expression: NSRegularExpression

  /// nil for a pattern that cannot be read.
  package init?(_ pattern: String) {
    // By itself, because the frame below would close what the pattern leaves open. An empty one is none to ICU.
    guard pattern.isEmpty || (try? NSRegularExpression(pattern: pattern)) != nil else { return nil }
    // What a pattern may leave open is a comment or a quotation, to its end.
    let framed = ["", "\n", "\\E"].lazy.compactMap { try? NSRegularExpression(pattern: "\\A(?:\(pattern)\($0))\\z") }
    guard let expression = framed.first else { return nil }
    self.expression = expression
  }

  /// Whether the whole text matches; nil where that is not to be known within the limits of steps and of ICU's memory (8 MB).
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
