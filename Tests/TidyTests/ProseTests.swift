import Foundation
import Testing

/// Holds public text to the language of the project, file by file.
struct ProseTests {
  /// What is wrong, by file, and how much text was read, by the ending of the file's name.
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
      let allowed = ProseBacklog.counts[path] ?? 0
      let shown = findings.prefix(allowed == 0 ? 20 : 5).map { "\(path):\($0)" }.joined(separator: "\n")
      #expect(
        findings.count <= allowed,
        "\(path) has \(findings.count) findings, and \(allowed) are allowed; rewrite these:\n\(shown)")
    }
  }

  /// The backlog only shrinks: a file that was rewritten leaves it, so that it stays rewritten.
  @Test func theBacklogHasNoFileThatIsDone() {
    for path in ProseBacklog.counts.keys.sorted() {
      #expect(
        Self.scan.findings[path] != nil, "\(path) has no findings any more, or is gone; remove it from ProseBacklog")
    }
  }

  /// A rule that looks at nothing finds nothing wrong.
  @Test func theRuleReadsAllKindsOfPublicText() {
    let characters = Self.scan.characters
    #expect(characters["md", default: 0] > 100_000)
    #expect(characters["swift", default: 0] > 100_000)
    #expect(characters["", default: 0] > 10_000)
  }
}
