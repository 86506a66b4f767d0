import Testing

@testable import KVClone

@Suite("Regular expressions")
struct PatternCacheTests {
  @Test("the whole text has to match, again and again; a pattern that cannot be read answers nothing")
  func matching() {
    var patterns = PatternCache()
    for _ in 0..<2 {
      #expect(patterns.matches("AB12", "[A-Z]+[0-9]+") == true)
      #expect(patterns.matches("AB12x", "[A-Z]+[0-9]+") == false)
      #expect(patterns.matches("AB12", "[A-Z") == nil)
    }
  }

  @Test("a letter with a mark of its own is one character, or two")
  func semantics() {
    let text = "e\u{301}"
    var characters = PatternCache()
    let scalars = (TextPattern(".")?.matches(text), TextPattern("..")?.matches(text))
    #expect(characters.matches(text, ".") == true && characters.matches(text, "..") == false)
    #expect(scalars == (false, true))
  }
}
