import Foundation
import KVClone
import KVCloneTestSupport
import Testing

@Suite("Fetch rules: texts")
struct FetchTextRuleTests {
  let f: FetchStore

  init() throws { f = try FetchStore() }

  /// Returns whether `left op right` is true, with both strings stored and with the right one as a constant.
  private func holds(
    _ left: String, _ operation: String, _ right: String, sourceLocation: SourceLocation = #_sourceLocation
  ) throws -> Bool {
    let id = try f.add("x", ["name": .string(left), "title": .string(right)])
    defer { _ = try? f.store.delete([id]) }
    let found = try f.find("name \(operation) title", sourceLocation: sourceLocation)
    let argument = QueryArgument.value(.string(right))
    #expect(try f.find("name \(operation) %@", argument, sourceLocation: sourceLocation) == found)
    return found == "x"
  }

  @Test("texts are compared by their code points")
  func codePoints() throws {
    #expect(try holds("a", "==", "a"))
    #expect(try !holds("\u{E9}", "==", "e\u{301}"))
    #expect(try holds("\u{E9}", "!=", "e\u{301}"))
    #expect(try holds("Z", "<", "a"))
    #expect(try holds("z", "<", "\u{E9}"))
    #expect(try holds("e\u{301}", "<", "f"))
    #expect(try holds("e\u{301}", ">", "e"))
    #expect(try holds("", "<", "a"))
    #expect(try holds("a", "<=", "a"))
    #expect(try holds("a", "<", "aa"))
    // The code units of UTF-16 would be in the opposite order.
    #expect(try holds("\u{FFFD}", "<", "\u{10000}"))
    #expect(try holds("a\u{0}", ">", "a"))
    #expect(try holds("\u{212B}", "!=", "\u{C5}"))
  }

  @Test("[c] ignores letter case, in no language")
  func letterCase() throws {
    #expect(try holds("ABC", "==[c]", "aBc"))
    #expect(try !holds("ABC", "==", "abc"))
    #expect(try !holds("ABC", "!=[c]", "abc"))
    #expect(try holds("\u{C9}", "==[c]", "\u{E9}"))
    #expect(try !holds("\u{C9}", "==[c]", "e"))
    #expect(try holds("I", "==[c]", "i"))
    #expect(try !holds("I", "==[c]", "\u{131}"))
    #expect(try holds("ΟΔΟΣ", "==[c]", "οδος"))
    #expect(try holds("ПРИВЕТ", "==[c]", "привет"))
    #expect(try holds("B", ">[c]", "a"))
    #expect(try holds("b", ">[c]", "A"))
    #expect(try holds("a", "<=[c]", "A"))
    #expect(try holds("xABCx", "CONTAINS[c]", "abc"))
    #expect(try holds("ABC", "BEGINSWITH[c]", "ab"))
    #expect(try holds("ABC", "ENDSWITH[c]", "bc"))
    #expect(try holds("ABC", "LIKE[c]", "a?c"))
    #expect(try holds("ABC", "MATCHES[c]", "a.c"))
    #expect(try holds("ab", "IN[c]", "xABx"))
  }

  @Test("[d] ignores diacritics")
  func diacritics() throws {
    #expect(try holds("\u{E9}", "==[d]", "e"))
    #expect(try holds("e\u{301}", "==[d]", "e"))
    #expect(try holds("\u{E9}", "==[d]", "e\u{301}"))
    #expect(try holds("\u{E9}", "==[d]", "\u{EA}"))
    #expect(try !holds("\u{C9}", "==[d]", "e"))
    #expect(try holds("\u{C9}", "==[cd]", "e"))
    #expect(try holds("\u{C9}", "==[DC]", "e"))
    #expect(try holds("ñandú", "BEGINSWITH[d]", "nan"))
    #expect(try holds("crème brûlée", "CONTAINS[cd]", "BRULEE"))
    #expect(try holds("café", "LIKE[d]", "caf?"))
    #expect(try holds("cafe\u{301}", "LIKE[d]", "caf?"))
    #expect(try holds("café", "MATCHES[d]", "ca.e"))
    #expect(try holds("\u{1EAD}", "==[d]", "a"))
    #expect(try !holds("a", "<[d]", "\u{E4}"))
  }

  @Test("[n] changes nothing")
  func normalized() throws {
    #expect(try !holds("\u{E9}", "==[n]", "e\u{301}"))
    #expect(try !holds("A", "==[n]", "a"))
    #expect(try holds("a", "==[n]", "a"))
    #expect(try holds("A", "==[cn]", "a"))
  }

  @Test("CONTAINS, BEGINSWITH and ENDSWITH go by code points")
  func parts() throws {
    #expect(try holds("hello", "CONTAINS", "ell"))
    #expect(try !holds("hello", "CONTAINS", "elo"))
    #expect(try holds("hello", "BEGINSWITH", "he"))
    #expect(try !holds("hello", "BEGINSWITH", "e"))
    #expect(try holds("hello", "ENDSWITH", "lo"))
    #expect(try !holds("lo", "ENDSWITH", "hello"))
    #expect(try holds("hello", "CONTAINS", "hello"))
    #expect(try holds("hello", "CONTAINS", ""))
    #expect(try holds("", "BEGINSWITH", ""))
    #expect(try holds("e\u{301}", "BEGINSWITH", "e"))
    #expect(try holds("e\u{301}", "ENDSWITH", "\u{301}"))
    #expect(try holds("xe\u{301}x", "CONTAINS", "xe"))
    #expect(try !holds("\u{E9}", "CONTAINS", "e\u{301}"))
    #expect(try holds("aab", "CONTAINS", "ab"))
  }

  @Test("LIKE has ? for one scalar, * for any number, and a backslash before either")
  func wildcards() throws {
    #expect(try holds("abc", "LIKE", "a?c"))
    #expect(try !holds("ac", "LIKE", "a?c"))
    #expect(try !holds("abbc", "LIKE", "a?c"))
    #expect(try holds("ac", "LIKE", "a*c"))
    #expect(try holds("abbc", "LIKE", "a*c"))
    #expect(try !holds("abcd", "LIKE", "a*c"))
    #expect(try holds("", "LIKE", "*"))
    #expect(try holds("", "LIKE", ""))
    #expect(try !holds("a", "LIKE", ""))
    #expect(try holds("a*c", "LIKE", "a\\*c"))
    #expect(try !holds("abc", "LIKE", "a\\*c"))
    #expect(try holds("a?c", "LIKE", "a\\?c"))
    #expect(try !holds("abc", "LIKE", "a\\?c"))
    #expect(try !holds("e\u{301}", "LIKE", "?"))
    #expect(try holds("e\u{301}", "LIKE", "??"))
    #expect(try holds("\u{1F600}", "LIKE", "?"))
    #expect(try holds("a.c", "LIKE", "a.c"))
    #expect(try !holds("abc", "LIKE", "a.c"))
    #expect(try holds("a\nb", "LIKE", "a?b"))
    #expect(try holds("a\nb", "LIKE", "*"))
    #expect(try holds("aXbXc", "LIKE", "*X*X*"))
    #expect(try holds(String(repeating: "a", count: 2000), "LIKE", String(repeating: "*a", count: 30) + "*"))
    #expect(try !holds(String(repeating: "a", count: 2000), "LIKE", String(repeating: "*a", count: 30) + "*b"))
  }

  @Test("MATCHES has a regular expression for the complete text")
  func expressions() throws {
    #expect(try holds("abc", "MATCHES", "a.c"))
    #expect(try !holds("xabc", "MATCHES", "a.c"))
    #expect(try !holds("abcx", "MATCHES", "a.c"))
    #expect(try holds("abc", "MATCHES", "[a-c]+"))
    #expect(try holds("2024-01-31", "MATCHES", "\\d{4}-\\d\\d-\\d\\d"))
    #expect(try holds("ab", "MATCHES", "a|ab"))
    #expect(try !holds("abc", "MATCHES", "a|bc"))
    #expect(try holds("", "MATCHES", ""))
    #expect(try holds("a", "MATCHES[c]", "A"))
    #expect(try holds("\u{E9}", "MATCHES[d]", "\u{EA}"))
    #expect(try holds("e", "MATCHES[d]", "\u{E9}"))
  }

  @Test(
    "MATCHES ends with an error where a pattern has too many ways to match a text",
    arguments: ["(a+)+$", "(a+)+b", "(a|aa)+$", "(a|a?)+$", "([a-z]+)*\\d", "(.*a){25}"])
  func endlessPatterns(_ pattern: String) throws {
    let text = String(repeating: "a", count: 40) + "!"
    expectError(.limitExceeded) { _ = try holds(text, "MATCHES", pattern) }
    #expect(try !holds("aaa!", "MATCHES", pattern), "a shorter text is told from the pattern")
  }

  @Test("MATCHES takes long texts, as long as the engine's memory suffices for backtracking")
  func longTexts() throws {
    let text = String(repeating: "ab", count: 500_000)
    #expect(try holds(text, "MATCHES", ".*b"))
    #expect(try holds(text, "MATCHES", "[ab]+"))
    #expect(try !holds(text, "MATCHES", ".*c"))
    expectError(.limitExceeded) { _ = try holds(text, "MATCHES", "(?:(a|b)(a|b))*") }
  }

  @Test("MATCHES takes patterns that leave a comment or a quotation open, and no others")
  func openPatterns() throws {
    #expect(try holds("a", "MATCHES", "(?x)a # a comment"))
    #expect(try holds("a+", "MATCHES", "a\\Q+"))
    for pattern in ["a)|(b", "(a", "a)", "[a", "\\"] {
      expectError(.invalidPredicate) { _ = try holds("a", "MATCHES", pattern) }
    }
  }

  @Test("MATCHES goes by code points, as everything else does")
  func expressionsOfCodePoints() throws {
    #expect(try !holds("e\u{301}", "MATCHES", "\u{E9}"))
    #expect(try !holds("\u{E9}", "MATCHES", "e\u{301}"))
    #expect(try holds("e\u{301}", "MATCHES", ".."))
    #expect(try holds("e\u{301}x", "MATCHES", "e.*"))
    #expect(try holds("\u{1F600}", "MATCHES", "."))
  }

  @Test("text IN other is whether the other contains it")
  func containment() throws {
    #expect(try holds("ell", "IN", "hello"))
    #expect(try !holds("hello", "IN", "ell"))
    #expect(try holds("e", "IN", "e\u{301}"))
  }

  @Test("URIs are texts")
  func uris() throws {
    try f.add("a", ["link": .uri("https://example.org/a")])
    try f.add("b", ["link": .uri("file:///a")])
    #expect(try f.find("link == 'file:///a'") == "b")
    #expect(try f.find("link == %@", .value(.uri("file:///a"))) == "b")
    #expect(try f.find("link BEGINSWITH[c] 'HTTPS:'") == "a")
    #expect(try f.find("link IN {'file:///a', NULL}") == "b")
  }

  @Test("options hold for lists too")
  func lists() throws {
    try f.add("a", ["name": "\u{C9}A"])
    #expect(try f.find("name IN[cd] {'x', 'ea'}") == "a")
    #expect(try f.find("name IN[c] {'x', 'ea'}") == "")
    #expect(try f.find("name IN {'x', 'EA'}") == "")
    #expect(try f.find("name BETWEEN {'A', 'Z'}") == "")
    #expect(try f.find("name BETWEEN {'A', %@}", "\u{FF}") == "a")
  }

  @Test("a text has a length, and may be a date")
  func lengthsAndDates() throws {
    try f.add("a", ["name": "abc", "title": "2001-01-01T00:00:07Z", "day": day(7)])
    try f.add("b", ["name": "\u{1F600}", "title": "soon", "day": day(8)])
    try f.add("n")
    #expect(try f.find("name.length == 3") == "a")
    #expect(try f.find("name.length == 2") == "b")
    #expect(try f.find("name.length == NULL") == "n")
    #expect(try f.find("title != 'soon' AND CAST(title, 'NSDate') == day") == "a n")
    #expect(try f.find("CAST(TERNARY(title LIKE '????-*', title, NULL), 'NSDate') == day") == "a n")
    #expect(try f.find("day > CAST('2001-01-01T00:00:07Z', 'NSDate')") == "b")
  }
}
