import Foundation
import KVCloneModel
import KVCloneTestSupport
import Testing

/// Any format results in a tree or an error.
struct PredicateHostileInputTests {
  private static let long = """
    (a == 1 AND NOT b != 'x\\n\\u00e9\\x41') OR ANY t.n CONTAINS[cd] "y" || c BETWEEN {1, -2.5e3} && \
    d IN {0x1F, .5} AND SUBQUERY(t, $x, $x.a.@max.b >= %d AND $x.c =< now()).@count > 0 AND \
    TERNARY(%K == nil, a[0], b[FIRST]) == %@ AND \
    CAST("2020-02-29t00:00:00z", 'NSDate') <> castObject:toType:(#in, "NSNumber") AND add:to:(a ** 2 ** b, -c / (d - 1)) LIKE e UNION f
    """
  private static let arguments: [QueryArgument] = [5, "a.b", "x"]

  /// Parses the format; on success, prints the tree and parses the text again.
  private func probe(_ format: String, _ arguments: [QueryArgument] = [], _ note: Comment) {
    guard let predicate = try? QueryPredicate(format: format, arguments: arguments) else { return }
    let again = try? QueryPredicate(format: predicate.predicateFormat)
    #expect(again == predicate, note)
  }

  @Test func everyPrefixIsATreeOrAnError() throws {
    let scalars = Array(Self.long.unicodeScalars)
    #expect(throws: Never.self) { try QueryPredicate(format: Self.long, arguments: Self.arguments) }
    for end in 0...scalars.count {
      var prefix = String.UnicodeScalarView()
      prefix.append(contentsOf: scalars[..<end])
      for count in 0...3 { probe(String(prefix), Array(Self.arguments.prefix(count)), "prefix of \(end)") }
      let error = #expect(throws: QueryFormatError.self) {
        try QueryPredicate(format: String(prefix) + " ;", arguments: Self.arguments)
      }
      #expect((1...end + 3).contains(error?.column ?? 0))
    }
  }

  @Test func oneCharacterLessOrOther() throws {
    let scalars = Array(Self.long.unicodeScalars)
    for index in scalars.indices {
      for other in ["", "(", ")", "'", "%", "\u{0}", "é", ".", "[", "{", "NOT "] {
        var text = String.UnicodeScalarView()
        text.append(contentsOf: scalars[..<index])
        text.append(contentsOf: other.unicodeScalars)
        text.append(contentsOf: scalars[(index + 1)...])
        probe(String(text), Self.arguments, "\(index), \(other)")
      }
    }
  }

  /// On a thread with a small stack, like those of a service; a debug build needs more stack for the same format.
  @Test(arguments: [
    "(", "NOT ", "!", "-", "{", "a[", "sum(", "a.@max.", "a == ", "1 ** ", "TERNARY(", "SUBQUERY(", "CAST(", "ANY ",
    "FUNCTION(", "-(", "NOT (", "add:to:(", "(-", "a + (", "objectFrom:withIndex:(", "a + ", "a UNION ", "[",
    "TERNARY(a == ", "SUBQUERY(a, $x, NOT (", "(a == 1 OR ", "'", "\\", "%@", "%", "#", "a.", "a,", "{1, ",
    "a == 1 AND ", "a == 1 OR NOT ", "(TERNARY(NOT (-", "{-(-", "(a ** -(",
    "NOT a == 1 AND b == 1 + TERNARY(", "ANY a + CAST(",
  ])
  func deepAndLongFormats(_ piece: String) async {
    for count in [199, 200, 201, 5_000] {
      let text = String(repeating: piece, count: count)
      await onASmallStack {
        probe(text, [], "\(piece) × \(count)")
        probe(text + "a == 1", [], "\(piece) × \(count) and a comparison")
        probe("a == " + text + "1", [], "a comparison with \(piece) × \(count)")
        for closing in [")", "]", "}", " == 1)"] {
          probe(text + "a" + String(repeating: closing, count: count) + " == 1", [], "\(piece) × \(count) \(closing)")
        }
      }
    }
  }

  @Test func theLimitIsTwoHundredLevels() throws {
    func nested(_ open: String, _ inner: String, _ close: String, _ count: Int) -> String {
      String(repeating: open, count: count) + inner + String(repeating: close, count: count)
    }
    for (open, inner, close) in [("(", "a == 1", ")"), ("(", "TRUEPREDICATE", ")")] {
      #expect(throws: Never.self) { try QueryPredicate(format: nested(open, inner, close, 200)) }
      let error = #expect(throws: QueryFormatError.self) { try QueryPredicate(format: nested(open, inner, close, 201)) }
      #expect(error?.kind == .nestingTooDeep && error?.column == 201)
    }
    #expect(throws: Never.self) { try QueryPredicate(format: nested("NOT ", "TRUEPREDICATE", "", 199)) }
    for piece in ["NOT ", "(", "-", "{", "sum(", "a["] {
      let error = #expect(throws: QueryFormatError.self) {
        try QueryPredicate(format: String(repeating: piece, count: 100_000))
      }
      #expect(error?.kind == .nestingTooDeep, "\(piece)")
    }
    let chain = #expect(throws: QueryFormatError.self) {
      try QueryExpression(format: "a" + String(repeating: " + a", count: 100_000))
    }
    #expect(chain?.kind == .nestingTooDeep)
  }

  @Test func flatFormatsMayBeLong() throws {
    let count = 20_000
    let and = try QueryPredicate(format: String(repeating: "a == 1 AND ", count: count) + "a == 1")
    guard case .and(let items) = and else {
      Issue.record("no AND")
      return
    }
    #expect(items.count == count + 1)
    #expect(try QueryPredicate(format: and.predicateFormat) == and)
    // Traversals of a path recurse for each name, so each name counts as nesting.
    let path = try QueryExpression(format: "a" + String(repeating: ".a", count: 100))
    #expect(path == .keyPath(.self, Array(repeating: "a", count: 101)))
    for names in [200, count] {
      let text = "a" + String(repeating: ".a", count: names)
      let error = #expect(throws: QueryFormatError.self) { try QueryExpression(format: text) }
      #expect(error?.kind == .nestingTooDeep)
      let built = QueryExpression.keyPath(.self, Array(repeating: "a", count: names + 1))
      #expect(built.isTooDeep)
    }
    let text = String(repeating: "x", count: 1 << 20)
    #expect(try QueryExpression(format: "'\(text)'") == .constant(.value(.string(text))))
    #expect(try QueryExpression(format: text) == .keyPath(.self, [text]))
    #expect(try QueryExpression(format: "%K.%K", .string(text), "b") == .keyPath(.self, [text, "b"]))
    let error = #expect(throws: QueryFormatError.self) { try QueryPredicate(format: "a == '" + text) }
    #expect(error?.kind == .unclosedString && error?.column == 6)
    #expect(throws: QueryFormatError.self) { try QueryPredicate(format: String(repeating: "9", count: 1 << 20)) }
    let list = try QueryExpression(format: "{" + String(repeating: "1, ", count: count) + "1}")
    #expect(list == .aggregate(Array(repeating: .constant(.value(1)), count: count + 1)))
  }

  @Test(arguments: 0..<16)
  func randomBytesAndPieces(_ group: Int) {
    var random = SeededGenerator(seed: UInt64(group))
    let pieces = [
      "a", "==", " ", "(", ")", "'x'", "1", ".", "AND", "NOT", "ANY", "IN", "{", "}", ",", "[", "]", "$x", "%@", "%K",
      "@max", "#in", "-", "**", "+", "sum", ":", "SUBQUERY(", "CAST(", "TERNARY(", "'NSDate'", "FIRST", "nil", "UNION",
      "BETWEEN",
      "é", "\u{301}", "\\", "\"", "%d", ":=",
    ]
    for _ in 0..<2_000 {
      let bytes = (0..<random.below(40)).map { _ in UInt8.random(in: 0 ... .max, using: &random) }
      probe(String(decoding: bytes, as: UTF8.self), Self.arguments, "seed \(group), bytes")
      let ascii = (0..<random.below(40)).map { _ in UInt8.random(in: 0x20...0x7e, using: &random) }
      probe(String(decoding: ascii, as: UTF8.self), [], "seed \(group), ASCII")
      let text = (0..<random.below(20)).map { _ in pieces[random.below(pieces.count)] }
      probe(text.joined(separator: random.chance(in: 2) ? " " : ""), ["a", "b"], "seed \(group), pieces")
    }
  }

  @Test func argumentsInTooManyLists() {
    var argument: QueryArgument = 1
    for _ in 0..<300 { argument = [argument] }
    let error = #expect(throws: QueryFormatError.self) { try QueryPredicate(format: "a IN %@", argument) }
    #expect(error?.kind == .nestingTooDeep && error?.column == 6)
  }

  private func onASmallStack(_ body: @escaping @Sendable () -> Void) async {
    await withCheckedContinuation { continuation in
      let thread = Thread {
        body()
        continuation.resume()
      }
      #if DEBUG
        thread.stackSize = 4 << 20
      #else
        thread.stackSize = 512 << 10
      #endif
      thread.start()
    }
  }
}
