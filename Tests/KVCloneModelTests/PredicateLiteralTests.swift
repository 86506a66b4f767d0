import Foundation
import KVCloneModel
import Testing

/// Literals, and arguments for the placeholders of a format.
struct PredicateLiteralTests {
  private func constant(_ format: String, _ arguments: QueryArgument...) throws -> QueryConstant? {
    guard case .constant(let constant) = try QueryExpression(format: format, arguments: arguments) else { return nil }
    return constant
  }

  @Test(arguments: [
    ("1", AttributeValue.integer(1)), ("-1", -1), ("- 1", -1), ("007", 7), ("9223372036854775807", .integer(.max)),
    ("-9223372036854775808", .integer(.min)), ("1.5", 1.5), ("-.5", -0.5), (".5", 0.5), ("1e3", 1000.0),
    ("1.5E-3", 0.0015), ("2e+2", 200.0), ("-0.0", .double(-0.0)), ("0x1F", 31), ("0XfF", 255), ("0o17", 15),
    ("0b101", 5), ("-0x10", -16), ("TRUE", true), ("yes", true), ("False", false), ("nO", false),
    ("5e-324", .double(.leastNonzeroMagnitude)), ("1.7976931348623157e308", .double(.greatestFiniteMagnitude)),
  ])
  func numbersAndTruth(_ format: String, _ value: AttributeValue) throws {
    #expect(try constant(format) == .value(value))
  }

  @Test(
    "numbers that no double prints keep all of their digits, up to 38",
    arguments: [
      "9223372036854775809", "99999999999999999999999999999999999999", "12345678901234567890.12345678901234567",
      "0.10000000000000000000000000000000000001", "9007199254740993.0", "1.00000000000000001e20",
      "0.1000000000000000055511",
    ])
  func decimals(_ format: String) throws {
    let written = try #require(Decimal(string: format))
    #expect(try constant(format) == .value(.decimal(written)))
    #expect(try constant("-" + format) == .value(.decimal(-written)))
    let expression = try QueryExpression(format: format)
    #expect(try QueryExpression(format: expression.expressionFormat) == expression)
  }

  @Test func nothing() throws {
    #expect(try constant("NULL") == .null)
    #expect(try constant("nil") == .null)
  }

  @Test(arguments: [
    (#"'a'"#, "a"), (#""a""#, "a"), (#"''"#, ""), (#"'"'"#, "\""), (#""it's""#, "it's"), (#"'it\'s'"#, "it's"),
    (#""\\ \" \'""#, "\\ \" '"), (#"'\n\r\t\f\v\b\a'"#, "\n\r\t\u{c}\u{b}\u{8}\u{7}"),
    (#"'\0'"#, "\0"), (#"'\101\60\7x'"#, "A0\u{7}x"), (#"'\0601'"#, "01"), (#"'\x41\xe9'"#, "Aé"),
    (#"'\u00e9'"#, "é"), (#"'\U0001F600'"#, "😀"), (#"'\ud83d\ude00!'"#, "😀!"), ("'100%@ %K %%'", "100%@ %K %%"),
    ("'\u{301}x'", "\u{301}x"), ("'a\nb'", "a\nb"), ("'👩‍👩‍👧'", "👩‍👩‍👧"),
  ])
  func texts(_ format: String, _ text: String) throws {
    #expect(try constant(format) == .value(.string(text)))
  }

  @Test func castsOfLiteralsAreConstants() throws {
    let uuid = try #require(UUID(uuidString: "6BA7B810-9DAD-11D1-80B4-00C04FD430C8"))
    #expect(try constant("CAST(5, 'NSDate')") == .value(.date(Date(timeIntervalSinceReferenceDate: 5))))
    #expect(try constant("CAST(-0.5, 'Date')") == .value(.date(Date(timeIntervalSinceReferenceDate: -0.5))))
    #expect(try constant("CAST('\(uuid.uuidString)', 'NSUUID')") == .value(.uuid(uuid)))
    #expect(try constant("CAST('a:b', 'NSURL')") == .value(.uri("a:b")))
    #expect(try constant("CAST('1.10', 'NSDecimalNumber')") == .value(.decimal(Decimal(string: "1.1") ?? 0)))
    #expect(try constant("CAST('3/17', 'NSManagedObjectID')") == .object(ObjectID(rootCode: 3, serial: 17)))
    #expect(try constant("CAST({1, {'a'}}, 'NSArray')") == .list([.value(1), .list([.value("a")])]))
    // Types without a literal are converted when the predicate is compiled.
    for format in [
      "CAST('2020-02-29T00:00:00Z', 'NSDate')", "CAST(1, 'NSString')", "CAST(nil, 'NSUUID')", "CAST('1', 'NSNumber')",
      "castObject:toType:(5, 'NSDate')",
    ] {
      guard case .cast = try QueryExpression(format: format) else {
        Issue.record("no cast: \(format)")
        continue
      }
    }
  }

  @Test func argumentsOfEveryKind() throws {
    let id = ObjectID(rootCode: 1, serial: 2)
    let date = Date(timeIntervalSinceReferenceDate: 7)
    let uuid = UUID()
    #expect(try constant("%@", "a") == .value("a"))
    #expect(try constant("%@", 5) == .value(5))
    #expect(try constant("%@", 1.5) == .value(1.5))
    #expect(try constant("%@", true) == .value(true))
    #expect(try constant("%@", nil) == .null)
    #expect(try constant("%@", ["a", nil, [1]]) == .list([.value("a"), .null, .list([.value(1)])]))
    #expect(try constant("%@", .object(id)) == .object(id))
    #expect(try constant("%@", .date(date)) == .value(.date(date)))
    #expect(try constant("%@", .uuid(uuid)) == .value(.uuid(uuid)))
    #expect(try constant("%@", .integer(UInt8(3))) == .value(3))
    #expect(try constant("%@", .string("it's \"q\"")) == .value("it's \"q\""))
    let path = QueryExpression.keyPath(.self, ["a"])
    #expect(try QueryExpression(format: "%@", .expression(path)) == path)
    #expect(try QueryExpression(format: "%@.b", .expression(path)) == .keyPath(.self, ["a", "b"]))
    #expect(try QueryExpression(format: "%@.name", .object(id)) == .keyPath(.constant(.object(id)), ["name"]))
    #expect(try QueryExpression(format: "%@", [1, .expression(path)]) == .aggregate([.constant(.value(1)), path]))
    #expect(try QueryExpression(format: "-%d", 5) == .function(.negate, [.constant(.value(5))]))
  }

  @Test func predicatesAsArguments() throws {
    let inner = try QueryPredicate(format: "a == 1 OR b == 2")
    #expect(try QueryPredicate(format: "%@", .predicate(inner)) == inner)
    #expect(
      try QueryPredicate(format: "NOT %@ AND c == 3", .predicate(inner))
        == QueryPredicate(format: "NOT (a == 1 OR b == 2) AND c == 3"))
    #expect(
      try QueryPredicate(format: "SUBQUERY(t, $x, %@).@count > %d", .predicate(inner), 2)
        == QueryPredicate(format: "SUBQUERY(t, $x, a == 1 OR b == 2).@count > 2"))
  }

  @Test func keyPathsAsArguments() throws {
    for (format, arguments, expected) in [
      ("%K", ["a.b"], "a.b"), ("a.%K.c", ["x.y"], "a.x.y.c"), ("%K.b", ["a"], "a.b"), ("%K", ["in"], "#in"),
      ("%K", ["tags.@count"], "tags.@count"), ("%K", ["a.@Sum.b"], "a.@sum.b"), ("%K", ["SELF"], "SELF"),
      ("%K", ["self.a"], "a"), ("%K", ["two words"], "#'two words'"), ("$x.%K", ["a.b"], "$x.a.b"),
      ("sum(%K)", ["a"], "sum(a)"), ("%K", ["%@"], "#'%@'"),
    ] as [(String, [QueryArgument], String)] {
      #expect(try QueryExpression(format: format, arguments: arguments) == QueryExpression(format: expected))
    }
    #expect(
      try QueryPredicate(format: "%K == %@ AND '%K' != %K", "a", "x", "b")
        == QueryPredicate(format: "a == 'x' AND '%K' != b"))
  }

  @Test(arguments: [
    "d", "i", "u", "ld", "li", "lu", "lld", "llu", "hd", "hu", "hhd", "qd", "zd", "x", "X", "lx", "o", "c",
  ])
  func wholeNumbers(_ letters: String) throws {
    #expect(try constant("%" + letters, 7) == .value(7))
    #expect(try constant("%" + letters, true) == .value(1))
    #expect(try constant("%" + letters, 7.0) == .value(7))
    for wrong: QueryArgument in ["7", 7.5, nil, [7]] {
      let error = #expect(throws: QueryFormatError.self) { try constant("1 + %" + letters, wrong) }
      #expect(error?.kind == .wrongArgumentType && error?.column == 5)
    }
  }

  @Test(arguments: ["f", "lf", "e", "E", "g", "G", "a", "Lf"])
  func floatingPointNumbers(_ letters: String) throws {
    #expect(try constant("%" + letters, 7) == .value(7.0))
    #expect(try constant("%" + letters, 0.25) == .value(0.25))
    #expect(try constant("%" + letters, .value(.float(0.25))) == .value(0.25))
    #expect(try constant("%" + letters, .value(.decimal(2))) == .value(2.0))
    for wrong: QueryArgument in ["7", true, nil] {
      let error = #expect(throws: QueryFormatError.self) { try constant("%" + letters, wrong) }
      #expect(error?.kind == .wrongArgumentType && error?.column == 1)
    }
  }

  @Test func variablesAreFilledIn() throws {
    let format = "a == $x AND SUBQUERY(t, $y, $y.n == $x AND $y.m == $z).@count > 0"
    let predicate = try QueryPredicate(format: format)
    #expect(predicate.freeVariables == ["x", "z"])
    let filled = try predicate.substituting(["x": 5, "y": 6])
    #expect(
      try filled
        == QueryPredicate(format: "a == 5 AND SUBQUERY(t, $y, $y.n == 5 AND $y.m == $z).@count > 0"))
    #expect(filled.freeVariables == ["z"])
    #expect(try predicate.substituting([:]) == predicate)
    #expect(try predicate.substituting(["q": .predicate(.constant(true))]) == predicate)
  }

  @Test func variablesAreFilledInEverywhere() throws {
    let format = """
      TERNARY($p == 1, {$p, $p.a.@max.b}, CAST($p, 'NSDate')) == $p[$p] UNION sum($p)
      """
    let filled = try QueryPredicate(format: format).substituting(["p": .expression(.keyPath(.self, ["q"]))])
    #expect(try filled == QueryPredicate(format: format.replacing("$p", with: "q")))
    #expect(try QueryExpression(format: "$p.a").substituting(["p": "x"]) == QueryExpression(format: "'x'.a"))
    #expect(try QueryPredicate(format: "a IN $p").substituting(["p": [1]]) == QueryPredicate(format: "a IN %@", [1]))
  }

  @Test func whatCannotBeFilledIn() throws {
    func failure(_ format: String, _ argument: QueryArgument) -> QueryFormatError.Kind? {
      let error = #expect(throws: QueryFormatError.self) {
        try QueryPredicate(format: format).substituting(["p": argument])
      }
      #expect(error?.column == 0)
      return error?.kind
    }
    #expect(failure("a == $p", .predicate(.constant(true))) == .wrongArgumentType)
    #expect(failure("a == $p", [.predicate(.constant(true))]) == .wrongArgumentType)
    #expect(failure("a IN $p", 5) == .invalidOperand)
    #expect(failure("a BETWEEN $p", [5]) == .invalidOperand)
    #expect(failure("SUBQUERY(t, $x, $x.a == $p).@count == 1", .expression(.variable("x"))) == .capturedVariable)
    var high: QueryExpression = .self
    for _ in 0..<198 { high = .function(.negate, [high]) }
    #expect(throws: Never.self) {
      try QueryPredicate(format: "a == $p").substituting(["p": .expression(high)])
    }
    #expect(failure("a == $p + 1", .expression(high)) == .nestingTooDeep)
  }
}
