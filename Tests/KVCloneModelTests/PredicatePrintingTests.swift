import Foundation
import KVCloneModel
import KVCloneTestSupport
import Testing

/// Printed predicates parse to an equal tree, and look like Core Data's predicates.
struct PredicatePrintingTests {
  @Test(arguments: [
    ("a=1", "a == 1"), ("a <> 'x' && !b =< 2", "a != \"x\" AND NOT b <= 2"),
    ("a = 1 and b = 2 or c = 3", "(a == 1 AND b == 2) OR c == 3"), ("(a = 1) and ((b = 2))", "a == 1 AND b == 2"),
    ("not (a = 1 or b = 2)", "NOT (a == 1 OR b == 2)"), ("some a.b contains[DC] 'x'", "ANY a.b CONTAINS[cd] \"x\""),
    ("a in {1, -2.0, yes, null}", "a IN {1, -2.0, TRUE, nil}"), ("#in = #foo", "#in == foo"),
    ("a = #'b c'", "a == #\"b c\""),
    ("a between {1, 2}", "a BETWEEN {1, 2}"), ("a = 'it\\'s \"\\x01'", "a == \"it's \\\"\\x01\""),
    ("(a + b) * c - d / -e = 2 ** (3 ** 2)", "(a + b) * c - d / -e == 2 ** 3 ** 2"),
    ("a - (b - c) = (2 ** 3) ** 2", "a - (b - c) == (2 ** 3) ** 2"), ("-(2) = (-2) ** 2", "-(2) == (-2) ** 2"),
    ("lowercase:(a) = now()", "lowercase(a) == now()"), ("modulus:by:(a, 2) = 1", "modulus:by:(a, 2) == 1"),
    ("t.@COUNT > 0 AND t.@max.self = 1", "t.@count > 0 AND t.@max.self == 1"), ("@count = 1", "SELF.@count == 1"),
    ("self.a[first] = $x.b[0]", "a[FIRST] == $x.b[0]"),
    ("subquery(t, $x, $x.a = 1).@count = 0", "SUBQUERY(t, $x, $x.a == 1).@count == 0"),
    ("ternary(a = 1, b, c) = cast(d, 'NSDate')", "TERNARY(a == 1, b, c) == CAST(d, \"NSDate\")"),
    ("a = CAST(5, 'NSDate')", "a == CAST(5.0, \"NSDate\")"), ("a union b = c", "a UNION b == c"),
    ("truepredicate or falsepredicate", "TRUEPREDICATE OR FALSEPREDICATE"), ("(a.b).c = 1", "(a.b).c == 1"),
  ])
  func looks(_ format: String, _ printed: String) throws {
    let predicate = try QueryPredicate(format: format)
    #expect(predicate.predicateFormat == printed)
    #expect("\(predicate)" == printed)
    #expect(try QueryPredicate(format: printed) == predicate)
  }

  @Test func argumentsArePrintedAsConstants() throws {
    let uuid = try #require(UUID(uuidString: "6BA7B810-9DAD-11D1-80B4-00C04FD430C8"))
    let predicate = try QueryPredicate(
      format: "%K IN %@ AND b == %@ AND c == %@", "in", ["x", 1], .uuid(uuid),
      .object(ObjectID(rootCode: 3, serial: 17)))
    #expect(
      predicate.predicateFormat
        == #"#in IN CAST({"x", 1}, "NSArray") AND b == CAST("\#(uuid.uuidString)", "NSUUID")"#
        + #" AND c == CAST("3/17", "NSManagedObjectID")"#)
    #expect(try QueryPredicate(format: predicate.predicateFormat) == predicate)
  }

  @Test func smallCompoundsArePrintedAsWhatTheyMean() throws {
    #expect(QueryPredicate.and([]).predicateFormat == "TRUEPREDICATE")
    #expect(QueryPredicate.or([]).predicateFormat == "FALSEPREDICATE")
    #expect(QueryPredicate.and([.constant(false)]).predicateFormat == "FALSEPREDICATE")
  }

  @Test(arguments: 0..<64)
  func randomTreesAreReadBack(_ group: Int) throws {
    for offset in 0..<40 {
      let seed = UInt64(group * 1000 + offset)
      var generator = PredicateTreeGenerator(seed: seed)
      let predicate = generator.predicate(1 + offset % 6)
      let format = predicate.predicateFormat
      do {
        let read = try QueryPredicate(format: format)
        #expect(read == predicate, "seed \(seed): \(format)\n\(read.predicateFormat)")
        #expect(read.predicateFormat == format, "seed \(seed)")
        #expect(read.hashValue == predicate.hashValue, "seed \(seed)")
      } catch {
        Issue.record("seed \(seed): \(error): \(format)")
      }
      let expression = generator.expression(5)
      #expect(try QueryExpression(format: expression.expressionFormat) == expression, "seed \(seed), expression")
    }
  }

  /// Trees that were read, with or without substituted variables, never become too high to be read again.
  @Test func theHighestTreesAreReadBack() throws {
    let wraps: [(QueryExpression) -> QueryExpression] = [
      { .function(.negate, [$0]) }, { .function(.raise, [$0, .self]) }, { .function(.raise, [.self, $0]) },
      { .function(.multiply, [.self, $0]) }, { .function(.multiply, [$0, .self]) },
      { .function(.subtract, [.self, $0]) },
      { .function(.sqrt, [$0]) }, { .aggregate([$0]) }, { .keyPath($0, ["a"]) }, { .collection($0, .max, ["a"]) },
      { .index($0, .first) }, { .index(.self, .expression($0)) }, { .cast($0, .date) },
      { .setOperation(.self, .union, $0) }, { .function(.raise, [.function(.negate, [$0]), .self]) },
      { .index(.function(.negate, [$0]), .first) }, { .keyPath(.function(.add, [$0, .self]), ["a"]) },
      { .subquery(.self, variable: "x", .not(.comparison(.init($0, .equal, .self)))) },
      { .conditional(.or([.constant(true), .not(.comparison(.init(.self, .equal, $0)))]), .self, .self) },
    ]
    for (index, wrap) in wraps.enumerated() {
      var expression = QueryExpression.variable("x")
      var highest = expression
      for _ in 0..<250 {
        expression = wrap(expression)
        guard let read = try? QueryExpression(format: expression.expressionFormat) else { break }
        #expect(read == expression)
        highest = expression
      }
      // An argument may be as high as the limit, and no higher.
      let tooHigh = wrap(highest)
      #expect(throws: QueryFormatError.self, "\(index)") { try QueryExpression(format: "%@", .expression(tooHigh)) }
      #expect(throws: Never.self, "\(index)") { try QueryExpression(format: "%@", .expression(highest)) }
    }
  }

  @Test(.enabled(if: Corpus.root != nil, Comment(rawValue: Corpus.missing)))
  func predicatesOfRealModels() throws {
    var count = 0
    for (bundle, version) in Corpus.allContents() {
      let path = "\(bundle)/\(version).xcdatamodel/contents"
      let text = try String(contentsOfFile: path, encoding: .utf8)
      for match in text.matches(of: /(?:predicateString|partialIndexPredicate)="([^"]*)"/) where !match.1.isEmpty {
        var format = String(match.1)
        let entities = [("quot", "\""), ("apos", "'"), ("lt", "<"), ("gt", ">"), ("#10", "\n"), ("amp", "&")]
        for (name, character) in entities {
          format = format.replacing("&\(name);", with: character)
        }
        let predicate = try QueryPredicate(format: format)
        #expect(try QueryPredicate(format: predicate.predicateFormat) == predicate, "\(path): \(format)")
        count += 1
      }
    }
    #expect(count >= 2)
  }
}
