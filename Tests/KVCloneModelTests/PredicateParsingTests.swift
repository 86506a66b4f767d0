import Foundation
import KVCloneModel
import Testing

/// The syntax of formats: operators, keywords, precedence, paths and functions.
struct PredicateParsingTests {
  static func path(_ names: String...) -> QueryExpression { .keyPath(.self, names) }
  static func number(_ number: Int64) -> QueryExpression { .constant(.value(.integer(number))) }
  static func text(_ text: String) -> QueryExpression { .constant(.value(.string(text))) }

  /// `name == number`.
  static func equal(_ name: String, _ number: Int64) -> QueryPredicate {
    .comparison(QueryComparison(path(name), .equal, Self.number(number)))
  }

  private func expression(_ format: String, _ arguments: QueryArgument...) throws -> QueryExpression {
    try QueryExpression(format: format, arguments: arguments)
  }

  @Test(arguments: [
    ("=", QueryComparison.Operator.equal), ("==", .equal), ("!=", .notEqual), ("<>", .notEqual), ("<", .lessThan),
    ("<=", .lessThanOrEqual), ("=<", .lessThanOrEqual), (">", .greaterThan), (">=", .greaterThanOrEqual),
    ("=>", .greaterThanOrEqual), ("contains", .contains), ("BeginsWith", .beginsWith), ("ENDSwith", .endsWith),
    ("lIKE", .like), ("Matches", .matches), ("iN", .in), ("IN", .in),
  ])
  func operators(_ sign: String, _ expected: QueryComparison.Operator) throws {
    let whole = QueryPredicate.comparison(QueryComparison(Self.path("a"), expected, Self.text("x")))
    #expect(try QueryPredicate(format: "a \(sign) 'x'") == whole)
    #expect(try QueryPredicate(format: "  a\n\t\(sign)\u{a0}\"x\" ") == whole)
  }

  @Test func signsNeedNoSpaces() throws {
    #expect(try QueryPredicate(format: "a==1&&!b==2||c=3") == QueryPredicate(format: "a == 1 AND NOT b == 2 OR c == 3"))
    #expect(try QueryPredicate(format: "a=-1") == Self.equal("a", -1))
  }

  @Test func betweenTakesTwoValues() throws {
    let between = QueryComparison(Self.path("a"), .between, .aggregate([Self.number(1), Self.path("b")]))
    #expect(try QueryPredicate(format: "a between {1, b}") == .comparison(between))
    let given = try QueryPredicate(format: "a BETWEEN %@", [1, 2])
    let list = QueryExpression.constant(.list([.value(1), .value(2)]))
    #expect(given == .comparison(QueryComparison(Self.path("a"), .between, list)))
    #expect(throws: Never.self) { try QueryPredicate(format: "a BETWEEN $range OR a BETWEEN b.range") }
  }

  @Test(arguments: [
    "{}", "{1, 'a', b}", "tags", "$list", "'text'", "SUBQUERY(a, $x, $x.b == 1)", "a.@unionOfObjects.b",
  ])
  func inTakesWhatHasMembers(_ right: String) throws {
    let predicate = try QueryPredicate(format: "a IN \(right)")
    #expect(try predicate == .comparison(QueryComparison(Self.path("a"), .in, QueryExpression(format: right))))
  }

  private static let writtenOptions: [(String, QueryComparison.Options)] = [
    ("[c]", .caseInsensitive), ("[d]", .diacriticInsensitive), ("[n]", .normalized), ("[l]", .localeSensitive),
    ("[cd]", [.caseInsensitive, .diacriticInsensitive]), ("[DC]", [.caseInsensitive, .diacriticInsensitive]),
    (" [ lNdC ]", QueryComparison.Options(rawValue: 15)), ("", []),
  ]

  @Test(arguments: writtenOptions)
  func options(_ written: String, _ options: QueryComparison.Options) throws {
    for sign in QueryComparison.Operator.allCases where sign != .between {
      let expected = QueryComparison(Self.path("a"), sign, Self.text("x"), options: options)
      #expect(try QueryPredicate(format: "a \(sign.rawValue)\(written) 'x'") == .comparison(expected))
    }
  }

  @Test(arguments: [
    ("ANY", QueryComparison.Modifier.any), ("some", .any), ("All", .all), ("NONE", .none), ("", .direct),
  ])
  func modifiers(_ word: String, _ modifier: QueryComparison.Modifier) throws {
    let expected = QueryComparison(Self.path("tags", "name"), .equal, Self.text("a"), modifier: modifier)
    #expect(try QueryPredicate(format: "\(word) tags.name == 'a'") == .comparison(expected))
    #expect(try QueryPredicate(format: "NOT \(word) tags.name == 'a'") == .not(.comparison(expected)))
  }

  @Test func andBindsStrongerThanOr() throws {
    let (a, b, c) = (Self.equal("a", 1), Self.equal("b", 2), Self.equal("c", 3))
    #expect(try QueryPredicate(format: "a == 1 AND b == 2 or c == 3") == .or([.and([a, b]), c]))
    #expect(try QueryPredicate(format: "a == 1 || b == 2 && c == 3") == .or([a, .and([b, c])]))
    #expect(try QueryPredicate(format: "(a == 1 Or b == 2) aNd c == 3") == .and([.or([a, b]), c]))
    #expect(try QueryPredicate(format: "a == 1 AND b == 2 AND c == 3") == .and([a, b, c]))
    #expect(try QueryPredicate(format: "a == 1 OR b == 2 OR c == 3") == .or([a, b, c]))
    #expect(try QueryPredicate(format: "(a == 1 AND b == 2) AND c == 3") == .and([.and([a, b]), c]))
    #expect(try QueryPredicate(format: "NOT a == 1 AND b == 2") == .and([.not(a), b]))
    #expect(try QueryPredicate(format: "not (a == 1 AND b == 2)") == .not(.and([a, b])))
    #expect(try QueryPredicate(format: "! NOT a == 1") == .not(.not(a)))
    #expect(try QueryPredicate(format: "((a == 1)) AND ((((b))) == (2))") == .and([a, b]))
    #expect(
      try QueryPredicate(format: "truePredicate and FALSEPREDICATE") == .and([.constant(true), .constant(false)]))
  }

  @Test func arithmeticHasTheUsualPrecedences() throws {
    let (a, b, c) = (Self.path("a"), Self.path("b"), Self.path("c"))
    #expect(try expression("a + b * c") == .function(.add, [a, .function(.multiply, [b, c])]))
    #expect(try expression("(a + b) / c") == .function(.divide, [.function(.add, [a, b]), c]))
    #expect(try expression("a - b - c") == .function(.subtract, [.function(.subtract, [a, b]), c]))
    #expect(try expression("a / b * c") == .function(.multiply, [.function(.divide, [a, b]), c]))
    #expect(try expression("a ** b ** c") == .function(.raise, [a, .function(.raise, [b, c])]))
    #expect(try expression("a * b ** c") == .function(.multiply, [a, .function(.raise, [b, c])]))
    #expect(try expression("-a ** b") == .function(.negate, [.function(.raise, [a, b])]))
    #expect(try expression("a ** -b") == .function(.raise, [a, .function(.negate, [b])]))
    #expect(try expression("-2 ** 2") == .function(.negate, [.function(.raise, [Self.number(2), Self.number(2)])]))
    #expect(try expression("(-2) ** 2") == .function(.raise, [Self.number(-2), Self.number(2)]))
    #expect(try expression("a -1") == .function(.subtract, [a, Self.number(1)]))
    #expect(try expression("-(1)") == .function(.negate, [Self.number(1)]))
    #expect(try expression("--1") == .function(.negate, [Self.number(-1)]))
    #expect(try expression("a UNION b + c") == .setOperation(a, .union, .function(.add, [b, c])))
    #expect(
      try expression("a union b Intersect c MINUS a")
        == .setOperation(.setOperation(.setOperation(a, .union, b), .intersect, c), .minus, a))
    #expect(try QueryPredicate(format: "a + 1 == b * 2") == QueryPredicate(format: "(a + 1) == (b * 2)"))
  }

  @Test func bitsHaveTheSignsOfC() throws {
    let (a, b, c) = (Self.path("a"), Self.path("b"), Self.path("c"))
    #expect(try expression("a & b") == .function(.bitwiseAnd, [a, b]))
    #expect(try expression("a | b ^ c & a") == expression("a | (b ^ (c & a))"))
    #expect(try expression("a & b | c") == .function(.bitwiseOr, [.function(.bitwiseAnd, [a, b]), c]))
    #expect(try expression("a & b << c + 1") == expression("a & (b << (c + 1))"))
    #expect(try expression("a >> b >> c") == .function(.rightShift, [.function(.rightShift, [a, b]), c]))
    let turned = QueryExpression.function(.onesComplement, [a])
    #expect(try expression("~a & -b") == .function(.bitwiseAnd, [turned, .function(.negate, [b])]))
    let isSet = try QueryPredicate(format: "(flags & %d) != 0", 4)
    #expect(isSet.predicateFormat == "bitwiseAnd:with:(flags, 4) != 0")
    #expect(try QueryPredicate(format: "flags & 4 == 4") == QueryPredicate(format: "(flags & 4) == 4"))
    #expect(try QueryPredicate(format: "a & 1 == 1 && b | 1 == 1 || c == 1").predicateFormat.contains(" OR c == 1"))
  }

  @Test func keyPathsHaveABase() throws {
    let (a, x) = (Self.path("a"), QueryExpression.variable("x"))
    #expect(try expression("a.b.c") == Self.path("a", "b", "c"))
    #expect(try expression("SELF") == .self)
    #expect(try expression("self.a") == a)
    #expect(try expression("a.self") == a)
    #expect(try expression("$x") == x)
    #expect(try expression("$in.a.b") == .keyPath(.variable("in"), ["a", "b"]))
    #expect(try expression("(a).b") == .keyPath(a, ["b"]))
    #expect(try expression("#in.#self.or.size") == Self.path("in", "self", "or", "size"))
    #expect(try expression("first + #'two words'") == .function(.add, [Self.path("first"), Self.path("two words")]))
    #expect(try expression("grün._ö1.e\u{301}") == Self.path("grün", "_ö1", "e\u{301}"))
    #expect(try expression("a[0]") == .index(a, .expression(Self.number(0))))
    #expect(try expression("a[b].c") == .keyPath(.index(a, .expression(Self.path("b"))), ["c"]))
    #expect(try expression("a[first][Last]") == .index(.index(a, .first), .last))
    #expect(try expression("$x[SIZE]") == .index(x, .size))
    #expect(try expression("a[#size]") == .index(a, .expression(Self.path("size"))))
    #expect(try expression("'abc'.length") == .keyPath(Self.text("abc"), ["length"]))
  }

  @Test func pathsMayHoldOperatorsOnCollections() throws {
    let tags = Self.path("tags")
    #expect(try expression("tags.@count") == .collection(tags, .count, []))
    #expect(try expression("tags.@COUNT") == .collection(tags, .count, []))
    #expect(try expression("@count") == .collection(.self, .count, []))
    #expect(try expression("tags.@avg.price") == .collection(tags, .avg, ["price"]))
    #expect(try expression("a.b.@max.c.d") == .collection(Self.path("a", "b"), .max, ["c", "d"]))
    #expect(try expression("tags.@min.self") == .collection(tags, .min, []))
    #expect(try expression("tags.@min") == .collection(tags, .min, []))
    #expect(
      try expression("tags.@distinctUnionOfObjects.a.@count")
        == .collection(.collection(tags, .distinctUnionOfObjects, ["a"]), .count, []))
    for collectionOperator in QueryCollectionOperator.allCases where collectionOperator != .count {
      #expect(
        try expression("$x.@\(collectionOperator.rawValue).a")
          == .collection(.variable("x"), collectionOperator, ["a"]))
    }
    let subquery = QueryExpression.subquery(tags, variable: "t", Self.equal("a", 1))
    #expect(try expression("SUBQUERY(tags, $t, a == 1).@count") == .collection(subquery, .count, []))
  }

  @Test func callsOfEachKind() throws {
    let (a, b) = (Self.path("a"), Self.path("b"))
    let p = Self.equal("a", 1)
    #expect(try expression("TERNARY(a == 1, a, b)") == .conditional(p, a, b))
    #expect(try expression("ternary((a == 1), a, b)") == .conditional(p, a, b))
    #expect(try expression("CAST(a, 'NSDate')") == .cast(a, .date))
    #expect(try expression("Cast(a, %@)", "NSNumber") == .cast(a, .double))
    #expect(try expression("castObject:toType:(a, 'Integer 16')") == .cast(a, .integer16))
    #expect(try expression("FUNCTION(a, 'add:to:', b)") == .function(.add, [a, b]))
    #expect(try expression("function(a, 'lowercase')") == .function(.lowercase, [a]))
    #expect(try expression("objectFrom:withIndex:(a, 1)") == .index(a, .expression(Self.number(1))))
    #expect(try expression("objectFrom:withIndex:(a, LAST)") == .index(a, .last))
    let inner = QueryExpression.subquery(.keyPath(.variable("x"), ["b"]), variable: "y", p)
    let count = QueryExpression.collection(inner, .count, [])
    let nested = QueryPredicate.comparison(QueryComparison(count, .greaterThan, Self.number(0)))
    #expect(
      try expression("SUBQUERY(a, $x, SUBQUERY($x.b, $y, a == 1).@count > 0)")
        == .subquery(a, variable: "x", nested))
    // Names of functions are attribute names unless they are called.
    #expect(try expression("sum + cast + ternary") == expression("#sum + #cast + #ternary"))
  }

  @Test(arguments: QueryFunction.allCases)
  func functions(_ function: QueryFunction) throws {
    let names = ["a", "b"].prefix(function.argumentCount)
    let expected = QueryExpression.function(function, names.map { Self.path($0) })
    let arguments = "(" + names.joined(separator: ", ") + ")"
    let name = function.rawValue
    let shorter = name.hasSuffix(":") ? String(name.dropLast()) : name
    for written in [name, shorter, name.uppercased(), shorter.lowercased()] {
      #expect(try expression(written + arguments) == expected)
    }
    #expect(try QueryExpression(format: expected.expressionFormat) == expected)
    for wrong in ["(1, 2, 3)", function.argumentCount == 0 ? "(1)" : "()"] {
      let error = #expect(throws: QueryFormatError.self) { try expression("a + " + name + wrong) }
      #expect(error?.kind == .wrongArgumentCount && error?.column == 5)
    }
  }
}
