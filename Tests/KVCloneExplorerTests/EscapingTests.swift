import KVCloneTestSupport
import Testing

@testable import KVCloneExplorer

/// Texts of a store cannot become markup.
@Suite(.bounded) struct EscapingTests {
  @Test(arguments: [
    ("<script>alert(1)</script>", "&lt;script&gt;alert(1)&lt;/script&gt;"),
    ("a\" onload='x'", "a&quot; onload=&#39;x&#39;"),
    ("R&amp;D", "R&amp;amp;D"), ("\u{202E}gpj.exe", "⟨U+202E⟩gpj.exe"), ("a\0b\u{1B}[31m", "a␀b␛[31m"),
    ("two\nlines", "two↵lines"), ("\u{85}", "⟨U+0085⟩"), ("\u{FEFF}x", "⟨U+FEFF⟩x"), ("Käse 🧀", "Käse 🧀"),
  ])
  func textsAreShownAsThemselves(value: String, expected: String) {
    let html: HTML = "<b>\(value)</b>"
    #expect(html.text == "<b>\(expected)</b>")
  }

  @Test(arguments: [
    (0, "0"), (1.5, "1.5"), (-0.25, "-0.25"), (3.999, "4"), (0.05, "0.05"), (-0.001, "0"), (.nan, "0"), (1e300, "0"),
  ])
  func coordinatesHaveAtMostTwoDecimals(value: Double, expected: String) {
    #expect(Coordinate.text(value) == expected)
  }
}
