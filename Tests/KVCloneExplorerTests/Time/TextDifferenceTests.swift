import KVCloneTestSupport
import Testing

@testable import KVCloneExplorer

@Suite(.bounded) struct TextDifferenceTests {
  private static func joined(_ parts: [TextDifference.Part]) -> String { parts.map(\.text).joined() }

  @Test(
    "the parts of both sides add up to the texts",
    arguments: [
      ("a b c", "a x c"), ("", "new"), ("old", ""), ("same", "same"), ("one\ntwo", "one\n2\nthree"), ("é🧀", "e🧀"),
    ])
  func parts(old: String, new: String) {
    let difference = TextDifference(from: old, to: new)
    #expect(Self.joined(difference.old) == old && Self.joined(difference.new) == new)
    #expect(difference.old.filter { !$0.isChanged }.map(\.text) == difference.new.filter { !$0.isChanged }.map(\.text))
  }

  @Test("only the words that differ are marked")
  func words() {
    let difference = TextDifference(from: "the quick fox", to: "the slow fox")
    #expect(difference.old.filter(\.isChanged).map(\.text) == ["quick"])
    #expect(difference.new.filter(\.isChanged).map(\.text) == ["slow"])
    #expect(difference.oldHTML.text.contains("<del>quick</del>"))
  }

  @Test("markup in texts stays text, and line ends are breaks")
  func markup() {
    let difference = TextDifference(from: "<del>a\nb", to: "<ins>a\nb")
    #expect(difference.oldHTML.text == "<div class=\"text\">&lt;<del>del</del>&gt;a<br>b</div>")
  }

  @Test("long texts are cut around the change, and huge ones are bounded")
  func long() {
    let words = (0..<3000).map { "w\($0)" }.joined(separator: " ")
    let difference = TextDifference(from: words + " end", to: words + " END")
    #expect(difference.old.count <= 2 && Self.joined(difference.old).utf8.count < 1000)
    let huge = TextDifference(
      from: String(repeating: "a ", count: 5_000_000), to: String(repeating: "b\n", count: 5_000_000))
    #expect(Self.joined(huge.old).utf8.count <= 21_000 && Self.joined(huge.new).utf8.count <= 21_000)
  }
}
