/// Why a format is no predicate or expression, or a variable cannot be filled in; its description says what to do.
///
/// Nothing of the format's text is in it but names of functions, of types and of operators, because a format may hold
/// values that have no place in a log.
public struct QueryFormatError: Error, Hashable, Sendable {
  /// What is wrong.
  public struct Kind: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    /// The stable text of the kind, as in JSON.
    public let rawValue: String

    /// Creates a kind from its text. Later versions may add kinds, so a `switch` needs a `default`.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// The stable text of the kind.
    public var description: String { rawValue }

    /// All kinds of this version.
    package static let allCases: [Kind] = [
      .emptyFormat, .unexpectedToken, .unexpectedEnd, .unclosedString, .unclosedParenthesis, .invalidEscape, .invalidNumber, .invalidOption, .invalidOperand, .invalidKeyPath, .unknownCollectionOperator, .unknownFunction, .wrongArgumentCount, .invalidCast, .invalidValue, .unsupported, .invalidSpecifier, .tooFewArguments, .tooManyArguments, .wrongArgumentType, .nestingTooDeep, .capturedVariable,
    ]

    /// There is nothing in the format.
    public static let emptyFormat = Kind(rawValue: "emptyFormat")
    /// Something stands where it cannot.
    public static let unexpectedToken = Kind(rawValue: "unexpectedToken")
    /// The format ends too early.
    public static let unexpectedEnd = Kind(rawValue: "unexpectedEnd")
    /// A text has no closing quotation mark; the column is that of the opening one.
    public static let unclosedString = Kind(rawValue: "unclosedString")
    /// A parenthesis, bracket or brace is not closed; the column is that of the opening one.
    public static let unclosedParenthesis = Kind(rawValue: "unclosedParenthesis")
    /// A backslash in a text is followed by something that has no meaning there.
    public static let invalidEscape = Kind(rawValue: "invalidEscape")
    /// A number is written wrongly, is too large, or has more digits than the 38 of a decimal.
    public static let invalidNumber = Kind(rawValue: "invalidNumber")
    /// The letters in brackets behind an operator are not all options.
    public static let invalidOption = Kind(rawValue: "invalidOption")
    /// The right side of BETWEEN or IN is nothing that they can work with.
    public static let invalidOperand = Kind(rawValue: "invalidOperand")
    /// A key path that was given for `%K` has an empty name in it.
    public static let invalidKeyPath = Kind(rawValue: "invalidKeyPath")
    /// There is no such operator on collections.
    public static let unknownCollectionOperator = Kind(rawValue: "unknownCollectionOperator")
    /// There is no such function.
    public static let unknownFunction = Kind(rawValue: "unknownFunction")
    /// A function has too few or too many arguments.
    public static let wrongArgumentCount = Kind(rawValue: "wrongArgumentCount")
    /// CAST names a type that does not exist.
    public static let invalidCast = Kind(rawValue: "invalidCast")
    /// The constant that CAST converts has no value of the type: a text that is no date, a number out of range.
    public static let invalidValue = Kind(rawValue: "invalidValue")
    /// Something that exists in Core Data and not here; the message names it.
    public static let unsupported = Kind(rawValue: "unsupported")
    /// A place such as `%@` is written wrongly.
    public static let invalidSpecifier = Kind(rawValue: "invalidSpecifier")
    /// There are fewer arguments than places.
    public static let tooFewArguments = Kind(rawValue: "tooFewArguments")
    /// There are more arguments than places; the column is that behind the format.
    public static let tooManyArguments = Kind(rawValue: "tooManyArguments")
    /// An argument is nothing that its place can take.
    public static let wrongArgumentType = Kind(rawValue: "wrongArgumentType")
    /// There are too many levels.
    public static let nestingTooDeep = Kind(rawValue: "nestingTooDeep")
    /// A variable would be filled in with an expression whose own variable a subquery takes for its own.
    public static let capturedVariable = Kind(rawValue: "capturedVariable")
  }

  /// What is wrong.
  public let kind: Kind
  /// What is wrong and what to do, in one sentence.
  public let message: String
  /// Where in the format, in characters from 1; 0 where there is no format, as in
  /// ``QueryPredicate/substituting(_:)``.
  public let column: Int
}

extension QueryFormatError: CustomStringConvertible {
  /// Where, what is wrong, and what to do.
  public var description: String { column == 0 ? message : "column \(column): \(message)" }
}
