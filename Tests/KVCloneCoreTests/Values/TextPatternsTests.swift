import KVClone
import KVCloneTestSupport
import Testing

@testable import KVCloneCore

@Suite("Regular expressions")
struct TextPatternsTests {
  @Test("the complete text has to match, repeatedly; an invalid pattern matches nothing")
  func matching() {
    var patterns = TextPatterns()
    for _ in 0..<2 {
      let answers = ["[A-Z]+[0-9]+", "[A-Z]+", "[A-Z"].map { patterns.answer("AB12", $0) }
      #expect(answers == [.match, .mismatch, .unreadable])
    }
  }

  @Test("as many patterns as objects can have")
  func manyPatterns() {
    var patterns = TextPatterns()
    for number in 0..<1_000 {
      let answers = (patterns.answer("a\(number)", "a\(number)"), patterns.answer("b", "a\(number)"))
      #expect(answers == (.match, .mismatch))
    }
  }

  @Test("a letter with a mark of its own is two characters, as in Core Data")
  func semantics() {
    var patterns = TextPatterns()
    let answers = [".", ".."].map { patterns.answer("e\u{301}", $0) }
    #expect(answers == [.mismatch, .match])
  }

  @Test("a rule of the model that takes too long is an issue, and the transaction ends")
  func endlessRule() throws {
    let model = ManagedObjectModel("M") {
      EntityDescription("Note") { AttributeDescription("title", .string, regularExpression: "(a+)+b") }
    }
    let test = try TestStore(model)
    let title = AttributeValue.string(String(repeating: "a", count: 40))
    let error = #expect(throws: ValidationError.self) {
      try test.store.write { tx in _ = try tx.insert("Note", ["title": title]) }
    }
    let kinds = error?.issues.map(\.kind)
    #expect(kinds == [.patternMismatch])
    #expect(error?.message.contains("avoid nested repetitions") == true, "\(String(describing: error))")
    let count = try test.store.objects("Note").count
    #expect(count == 0)
  }
}
