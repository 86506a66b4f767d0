import KVCloneModel
import Testing

/// Every error has its kind and its exact column, and contains no values of the format.
struct PredicateErrorTests {
  struct Case: Sendable, CustomTestStringConvertible {
    var format: String
    var kind: QueryFormatError.Kind
    var column: Int
    var arguments: [QueryArgument]

    init(_ format: String, _ kind: QueryFormatError.Kind, _ column: Int, _ arguments: QueryArgument...) {
      self.format = format
      self.kind = kind
      self.column = column
      self.arguments = arguments
    }

    var testDescription: String { format }
  }

  static let tokens = [
    Case("", .emptyFormat, 1), Case(" \n ", .emptyFormat, 1),
    Case("a", .unexpectedEnd, 2), Case("a ==", .unexpectedEnd, 5), Case("a == 1 AND", .unexpectedEnd, 11),
    Case("a == 1 AND b", .unexpectedEnd, 13), Case("NOT", .unexpectedEnd, 4), Case("ANY a", .unexpectedEnd, 6),
    Case("(a == 1) b", .unexpectedToken, 10), Case("a == 1)", .unexpectedToken, 7), Case("== 1", .unexpectedToken, 1),
    Case("a == == 1", .unexpectedToken, 6), Case("a == b == c", .unexpectedToken, 8), Case("a b", .unexpectedToken, 3),
    Case("a = 1 AND AND b = 2", .unexpectedToken, 11), Case("a == 1 AND b OR c == 1", .unexpectedToken, 14),
    Case("1 + (a == 1) > 2", .unexpectedToken, 5), Case("(a == 1) + 2 > 3", .unexpectedToken, 10),
    Case("(a == 1).b == 1", .unexpectedToken, 9), Case("(a == 1)[0] == 1", .unexpectedToken, 9),
    Case("(a == 1) == 1", .unexpectedToken, 10), Case("a == NOT b == 1", .unexpectedToken, 6),
    Case("ANY (a == 1)", .unexpectedEnd, 13), Case("ANY ANY a == 1", .unexpectedEnd, 15),
    Case("a == LIKE", .unexpectedToken, 6), Case("a. == 1", .unexpectedToken, 4), Case("a.1 == 1", .unexpectedToken, 2),
    Case("a == 1 ; b", .unexpectedToken, 8), Case("a ? b", .unexpectedToken, 3), Case("a == $", .unexpectedToken, 6),
    Case("a == #", .unexpectedToken, 6), Case("a.@ == 1", .unexpectedToken, 3), Case("a == {1,}", .unexpectedToken, 9),
    Case("a == {1 2}", .unexpectedToken, 9), Case("f:x == 1", .unexpectedToken, 5),
    Case("a == %%", .unexpectedToken, 6),
    Case("sum(a == 1) == 1", .unexpectedToken, 5), Case("TERNARY(a, 1, 2) == 1", .unexpectedToken, 10),
    Case("TERNARY(a = 1, 2) == 1", .unexpectedToken, 17), Case("SUBQUERY(a, x, b == 1) == 1", .unexpectedToken, 13),
    Case("SUBQUERY(a, $x, b) == 1", .unexpectedToken, 18), Case("CAST(a, NSDate) == 1", .unexpectedToken, 9),
    Case("a[] == 1", .unexpectedToken, 3), Case("a[FIRST + 1] == 1", .unexpectedToken, 9),
    Case("a.@count.b == 1", .unexpectedToken, 10), Case("a ==[c 'x'", .unexpectedToken, 8),
    Case("a == +1", .unexpectedToken, 6), Case("a == TRUEPREDICATE", .unexpectedToken, 6),
  ]

  static let parts = [
    Case("a == 'x", .unclosedString, 6), Case("a == \"x'", .unclosedString, 6), Case("a == 'x\\", .unclosedString, 6),
    Case("a == 'x\\'", .unclosedString, 6), Case("(a == 1", .unclosedParenthesis, 1),
    Case("a == (b + (c) ", .unclosedParenthesis, 6), Case("a == {1, 2", .unclosedParenthesis, 6),
    Case("a[1 ", .unclosedParenthesis, 2), Case("sum(a", .unclosedParenthesis, 4),
    Case("a ==[c", .unclosedParenthesis, 5), Case("a ==[", .unexpectedEnd, 6),
    Case("a == 'x\\dy'", .invalidEscape, 8), Case("a == '\\x4'", .invalidEscape, 7),
    Case("a == '\\u12'", .invalidEscape, 7), Case("a == '\\ud800'", .invalidEscape, 7),
    Case("a == '\\ud800\\u0041'", .invalidEscape, 7), Case("a == '\\Uffffffff'", .invalidEscape, 7),
    Case("a == 1x", .invalidNumber, 6), Case("a == 1_0", .invalidNumber, 6), Case("a == 0x", .invalidNumber, 6),
    Case("a == 0xg", .invalidNumber, 6), Case("a == 0b2", .invalidNumber, 6), Case("a == 1e", .invalidNumber, 6),
    Case("a == 1e999", .invalidNumber, 6), Case("a == 1e400", .invalidNumber, 6),
    Case("a == 1e-400", .invalidNumber, 6), Case("a == 0x8000000000000000", .invalidNumber, 6),
    Case("a == 123456789012345678901234567890123456789", .invalidNumber, 6),
    Case("a == -0.123456789012345678901234567890123456789", .invalidNumber, 7),
    Case("a == 1.00000000000000000000000000000000000001e127", .invalidNumber, 6),
    Case("a == CAST('x', 'NSNumber')", .invalidValue, 11), Case("a == CAST('', 'NSNumber')", .invalidValue, 11),
    Case("a == CAST('1 ', 'NSNumber')", .invalidValue, 11), Case("a == CAST('0x10', 'Integer 64')", .invalidValue, 11),
    Case("a == CAST('1e400', 'Double')", .invalidValue, 11), Case("a == CAST('Inf', 'Double')", .invalidValue, 11),
    Case("a == CAST('1e39', 'Float')", .invalidValue, 11), Case("a == CAST(70000, 'Integer 16')", .invalidValue, 11),
    Case("a == CAST('-32769', 'Integer 16')", .invalidValue, 11),
    Case("a == CAST(1e19, 'Integer 64')", .invalidValue, 11),
    Case("a == CAST('9223372036854775808', 'Integer 64')", .invalidValue, 11),
    Case("a == CAST('123456789012345678901234567890123456789', 'NSDecimalNumber')", .invalidValue, 11),
    Case("a == CAST('1x', 'NSDecimalNumber')", .invalidValue, 11), Case("a == CAST('x', 'NSUUID')", .invalidValue, 11),
    Case("a == CAST('maybe', 'Boolean')", .invalidValue, 11), Case("a == CAST('*', 'NSData')", .invalidValue, 11),
    Case("a == CAST('607134600', 'NSDate')", .invalidValue, 11),
    Case("a == CAST('today', 'NSDate')", .invalidValue, 11),
    Case("a == CAST('2020-02-30T00:00:00Z', 'NSDate')", .invalidValue, 11),
    Case("a == castObject:toType:('2020-01-01T25:00:00Z', 'NSDate')", .invalidValue, 25),
    Case("é == 1 AND a == CAST(%@, 'NSDate')", .invalidValue, 22, "2020-01-01T00:00:00Zjunk"),
    Case("a CONTAINS[x] 'b'", .invalidOption, 12), Case("a ==[1] 'b'", .invalidOption, 6),
    Case("a ==[cdx] 'b'", .invalidOption, 6), Case("a BETWEEN {1}", .invalidOperand, 11),
    Case("a BETWEEN 1", .invalidOperand, 11), Case("b == 1 AND a BETWEEN {1, 2, 3}", .invalidOperand, 22),
    Case("a BETWEEN %@", .invalidOperand, 11, [1]), Case("a IN 5", .invalidOperand, 6),
    Case("a IN nil", .invalidOperand, 6), Case("a IN %@", .invalidOperand, 6, true),
    Case("a.@foo == 1", .unknownCollectionOperator, 3), Case("@foo == 1", .unknownCollectionOperator, 1),
    Case("foo(a) == 1", .unknownFunction, 1), Case("a == add:(1, 2)", .unknownFunction, 6),
    Case("a == sum(1, 2)", .wrongArgumentCount, 6), Case("now(1) > 2", .wrongArgumentCount, 1),
    Case("FUNCTION(1, 'add:to:') > 2", .wrongArgumentCount, 1),
    Case("CAST(a, 'NSFoo') == 1", .invalidCast, 9), Case("CAST(a, 'NSArray') == 1", .invalidCast, 9),
    Case("CAST('1', 'NSManagedObjectID') == 1", .invalidCast, 11),
    Case("FETCH(a, b) == 1", .unsupported, 1), Case("a == FUNCTION(b, 'foo:')", .unsupported, 18),
    Case("a == BLOCK(0x1, a)", .unsupported, 6), Case("BLOCKPREDICATE(0x1)", .unsupported, 1),
    Case("$a := 1", .unsupported, 4), Case("a == 1 := 2", .unsupported, 8), Case("ANYKEY == 1", .unsupported, 1),
    Case("distanceToLocation:fromLocation:(a, b) < 5", .unsupported, 1), Case("noindex(a) == 1", .unsupported, 1),
  ]

  static let places = [
    Case("a == %@", .tooFewArguments, 6), Case("%K == %@", .tooFewArguments, 7, "a"),
    Case("%K == %@ AND b > %d", .tooFewArguments, 18, "a", "b"), Case("a == %d", .tooFewArguments, 6),
    Case("a == %@", .tooManyArguments, 8, 1, 2), Case("a == '%@'", .tooManyArguments, 10, 1),
    Case("a == 1", .tooManyArguments, 7, nil), Case("%K == 1", .wrongArgumentType, 1, 5),
    Case("a.%K == 1", .wrongArgumentType, 3, nil), Case("a == %d", .wrongArgumentType, 6, "1"),
    Case("a == %f", .wrongArgumentType, 6, true), Case("a == %@", .wrongArgumentType, 6, [.predicate(.constant(true))]),
    Case("a == %@", .unexpectedToken, 6, .predicate(.constant(true))), Case("%@", .unexpectedEnd, 3, 5),
    Case("%@ AND a == 1", .unexpectedToken, 4, "x"), Case("a == %s", .invalidSpecifier, 6, "x"),
    Case("a == %", .invalidSpecifier, 6), Case("a == %ll", .invalidSpecifier, 6),
    Case("a == %l@", .invalidSpecifier, 6, 1),
    Case("a == %1$@", .invalidSpecifier, 6, 1), Case("a == % d", .invalidSpecifier, 6, 1),
    Case("%K == 1", .invalidKeyPath, 1, ""), Case("a.%K == 1", .invalidKeyPath, 3, "b..c"),
    Case("%K == 1", .unknownCollectionOperator, 1, "a.@foo"),
  ]

  @Test(arguments: tokens + parts + places)
  func kindAndColumn(_ expected: Case) {
    let error = #expect(throws: QueryFormatError.self) {
      try QueryPredicate(format: expected.format, arguments: expected.arguments)
    }
    #expect(error?.kind == expected.kind && error?.column == expected.column, "\(expected.format): \(error as Any)")
    #expect(error?.description.hasPrefix("column \(expected.column): ") == true)
  }

  @Test func everyKindHasATest() {
    let tested = Set((Self.tokens + Self.parts + Self.places).map(\.kind))
    #expect(Set(QueryFormatError.Kind.allCases).subtracting(tested) == [.nestingTooDeep, .capturedVariable])
  }

  @Test func columnsAreCountedInCharacters() {
    for (format, column) in [("'👩‍👩‍👧' == 'é' AND ;", 16), ("é == 'e\u{301}' ;", 10), ("a ==\r\n;", 6)] {
      let error = #expect(throws: QueryFormatError.self) { try QueryPredicate(format: format) }
      #expect(error?.column == column, "\(format)")
    }
  }

  @Test func messagesTellNothingOfTheValues() {
    for format in [
      "secret", "a == 'secret' secret", "a == 'secret", "a == 'secret\\q'", "a BETWEEN 'secret'",
      "a == CAST(1, 'secret')",
      "secret.@secret == 1", "%@ == secret secret", "$secret := secret", "a ==[secret] 1", "a == 123456secret",
      "a == FUNCTION(1, 'secret secret')", "a == 'secret' AND (secret == {123456",
    ] {
      let error = #expect(throws: QueryFormatError.self) { try QueryPredicate(format: format, "secret") }
      #expect(error?.description.contains("secret") == false, "\(error as Any)")
      #expect(error?.description.contains("123456") == false, "\(error as Any)")
    }
  }

  @Test func whatIsUnsupportedIsNamed() throws {
    for (format, name) in [
      ("FETCH(a, b) == 1", "FETCH"), ("a == FUNCTION(b, 'foo:bar:', 1)", "foo:bar:"), ("BLOCKPREDICATE(1)", "BLOCK"),
      ("a := 1", ":="), ("distanceToLocation:fromLocation:(a, b) < 5", "distanceToLocation:fromLocation:"),
      ("ANYKEY == 1", "ANYKEY"),
    ] {
      let error = #expect(throws: QueryFormatError.self) { try QueryPredicate(format: format) }
      #expect(error?.kind == .unsupported && error?.message.contains(name) == true, "\(error as Any)")
    }
  }

  @Test func expressionsHaveErrorsToo() {
    for (format, kind, column) in [
      ("a == 1", QueryFormatError.Kind.unexpectedToken, 1), ("a +", .unexpectedEnd, 4), ("", .emptyFormat, 1),
      ("a b", .unexpectedToken, 3), ("%@", .tooFewArguments, 1),
    ] {
      let error = #expect(throws: QueryFormatError.self) { try QueryExpression(format: format) }
      #expect(error?.kind == kind && error?.column == column, "\(format): \(error as Any)")
    }
  }
}

extension QueryFormatError.Kind {
  /// All kinds of this version.
  fileprivate static let allCases: [Self] = [
    .emptyFormat, .unexpectedToken, .unexpectedEnd, .unclosedString, .unclosedParenthesis, .invalidEscape,
    .invalidNumber, .invalidOption, .invalidOperand, .invalidKeyPath, .unknownCollectionOperator, .unknownFunction,
    .wrongArgumentCount, .invalidCast, .invalidValue, .unsupported, .invalidSpecifier, .tooFewArguments,
    .tooManyArguments, .wrongArgumentType, .nestingTooDeep, .capturedVariable,
  ]
}
