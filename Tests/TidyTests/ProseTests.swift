import Foundation
import Testing

/// Checks the language of public text and of comments, file by file.
struct ProseTests {
  /// The findings by file, and the number of characters that were read, by the extension of the file's name.
  static let scan: (findings: [String: [ProseRules.Finding]], characters: [String: Int]) = {
    var findings: [String: [ProseRules.Finding]] = [:]
    var characters: [String: Int] = [:]
    for path in PackageFiles.all {
      guard let text = PackageFiles.text(path) else { continue }
      let passages = PublicText.passages(in: path, text)
      characters[(path as NSString).pathExtension, default: 0] += passages.reduce(0) { sum, passage in
        passage.lines.reduce(sum) { $0 + $1.text.utf8.count }
      }
      let found = passages.flatMap(ProseRules.findings)
      if !found.isEmpty { findings[path] = found }
    }
    return (findings, characters)
  }()

  @Test func publicTextHasNoIdiomsAndIsWrapped() {
    for (path, findings) in Self.scan.findings.sorted(by: { $0.key < $1.key }) {
      let shown = findings.map { "\(path):\($0)" }.joined(separator: "\n")
      Issue.record("rewrite these:\n\(shown)")
    }
  }

  @Test func commentsHaveNoIdioms() {
    var passages = 0
    for path in PackageFiles.all {
      // These plant findings.
      if path.hasPrefix("Tests/TidyTests/Prose") { continue }
      guard let text = PackageFiles.text(path) else { continue }
      passages += SourceComments.passages(in: path, text).count
      let shown = ProseRules.commentFindings(in: path, text).map { "\(path):\($0)" }.joined(separator: "\n")
      #expect(shown.isEmpty, "rewrite these comments:\n\(shown)")
    }
    #expect(passages > 10_000)
  }

  /// A rule that looks at nothing finds nothing wrong.
  @Test func theRuleReadsAllKindsOfPublicText() {
    let characters = Self.scan.characters
    #expect(characters["md", default: 0] > 100_000)
    #expect(characters["swift", default: 0] > 100_000)
    #expect(characters["", default: 0] > 10_000)
  }
}
