import Foundation
import Testing

/// Every Swift sample of the README and of the articles is part of a source that is compiled.
struct SampleTests {
  /// A block of ```` ```swift ```` and where it begins.
  struct Sample {
    var place: String
    var lines: [String]
  }

  /// Lines as they are compared: without indentation and imports, and without empty lines at both ends.
  static func trimmed(_ lines: [Substring]) -> [String] {
    let all = lines.map { $0.trimmingCharacters(in: .whitespaces) }.filter { !$0.hasPrefix("import ") }
    return Array(all.drop(while: \.isEmpty).reversed().drop(while: \.isEmpty).reversed())
  }

  static func samples(in path: String, _ text: String) -> [Sample] {
    var found: [Sample] = []
    var block: (line: Int, lines: [Substring])?
    for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
      let content = line.drop(while: \.isWhitespace)
      if let open = block, content == "```" {
        found.append(Sample(place: "\(path):\(open.line)", lines: trimmed(open.lines)))
        block = nil
      } else if block != nil {
        block?.lines.append(line)
      } else if content == "```swift" {
        block = (index + 1, [])
      }
    }
    return found
  }

  static func isPart(_ sample: [String], of source: [String]) -> Bool {
    guard let first = sample.first, source.count >= sample.count else { return false }
    return (0...(source.count - sample.count)).contains { start in
      source[start] == first && source[start..<(start + sample.count)].elementsEqual(sample)
    }
  }

  @Test func everySampleIsCompiled() throws {
    let articles = PackageFiles.all.filter { $0 == "README.md" || $0.contains(".docc/") && $0.hasSuffix(".md") }
    let sources = PackageFiles.all.filter {
      $0.hasSuffix(".swift") && ($0.contains("Samples/") || $0.hasPrefix("Tools/service-example/"))
    }
    let compiled = sources.map { source in
      Self.trimmed((PackageFiles.text(source) ?? "").split(separator: "\n", omittingEmptySubsequences: false))
    }
    #expect(articles.count > 20 && compiled.count >= 4)
    var count = 0
    for article in articles.sorted() {
      for sample in Self.samples(in: article, try #require(PackageFiles.text(article))) {
        count += 1
        #expect(
          compiled.contains { Self.isPart(sample.lines, of: $0) },
          "\(sample.place): the sample stands in no source that is compiled; put it into Tests/KVCloneTypedTests/Samples"
        )
      }
    }
    #expect(count >= 35)
  }

  @Test func whatIsNoPartIsFound() {
    let source = Self.trimmed(
      "import A\n  let a = 1\n\n  let b = 2\n  let c".split(separator: "\n", omittingEmptySubsequences: false))
    #expect(source == ["let a = 1", "", "let b = 2", "let c"])
    #expect(Self.isPart(["let b = 2", "let c"], of: source))
    #expect(!Self.isPart(["let b = 2", "let d"], of: source))
    #expect(!Self.isPart(["let c", "let d"], of: source) && !Self.isPart([], of: source))
    let text = "x\n```swift\nlet a = 1\n```\n```\nno\n```\n- y\n\n  ```swift\n  let b\n  ```\n"
    #expect(Self.samples(in: "a.md", text).map(\.place) == ["a.md:2", "a.md:10"])
    #expect(Self.samples(in: "a.md", text).map(\.lines) == [["let a = 1"], ["let b"]])
  }
}
