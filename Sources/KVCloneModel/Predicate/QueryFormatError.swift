/// Describes why a format cannot be parsed, or why a variable cannot be substituted. The description says how to fix
/// it.
///
/// The error contains no text of the format except names of functions, types and operators, because a format can
/// contain values that must not be logged.
public struct QueryFormatError: Error, Hashable, Sendable {
  /// The kind of the error. The text of a kind is stable.
  public struct Kind: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    /// The stable text of the kind, as in JSON.
    public let rawValue: String

    /// Creates a kind from its text. Later versions may add kinds, so a `switch` needs a `default`.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// The stable text of the kind.
    public var description: String { rawValue }

    /// The format is empty.
    public static let emptyFormat = Kind(rawValue: "emptyFormat")
    /// A token is not allowed in its position.
    public static let unexpectedToken = Kind(rawValue: "unexpectedToken")
    /// The format ends too early.
    public static let unexpectedEnd = Kind(rawValue: "unexpectedEnd")
    /// A text has no closing quotation mark; the column is that of the opening mark.
    public static let unclosedString = Kind(rawValue: "unclosedString")
    /// A parenthesis, bracket or brace is not closed; the column is that of the opening character.
    public static let unclosedParenthesis = Kind(rawValue: "unclosedParenthesis")
    /// A text contains an undefined escape sequence.
    public static let invalidEscape = Kind(rawValue: "invalidEscape")
    /// A number has an invalid form, is too large, or has more than the 38 digits of a decimal.
    public static let invalidNumber = Kind(rawValue: "invalidNumber")
    /// The brackets after an operator contain an unknown option.
    public static let invalidOption = Kind(rawValue: "invalidOption")
    /// The right side of BETWEEN or IN is not a supported collection.
    public static let invalidOperand = Kind(rawValue: "invalidOperand")
    /// A key path for `%K` contains an empty name.
    public static let invalidKeyPath = Kind(rawValue: "invalidKeyPath")
    /// The collection operator does not exist.
    public static let unknownCollectionOperator = Kind(rawValue: "unknownCollectionOperator")
    /// The function does not exist.
    public static let unknownFunction = Kind(rawValue: "unknownFunction")
    /// A function has too few or too many arguments.
    public static let wrongArgumentCount = Kind(rawValue: "wrongArgumentCount")
    /// CAST names an unknown type.
    public static let invalidCast = Kind(rawValue: "invalidCast")
    /// CAST cannot convert the constant to the type: for example, a text that is not a date, or a number out of range.
    public static let invalidValue = Kind(rawValue: "invalidValue")
    /// Core Data supports the construct, but this library does not; the message names it.
    public static let unsupported = Kind(rawValue: "unsupported")
    /// A placeholder such as `%@` has an invalid form.
    public static let invalidSpecifier = Kind(rawValue: "invalidSpecifier")
    /// The format has more placeholders than arguments.
    public static let tooFewArguments = Kind(rawValue: "tooFewArguments")
    /// The format has fewer placeholders than arguments; the column is the one after the end of the format.
    public static let tooManyArguments = Kind(rawValue: "tooManyArguments")
    /// The type of an argument does not fit its placeholder.
    public static let wrongArgumentType = Kind(rawValue: "wrongArgumentType")
    /// The format is nested too deeply.
    public static let nestingTooDeep = Kind(rawValue: "nestingTooDeep")
    /// The substituted expression contains a variable that a subquery would bind.
    public static let capturedVariable = Kind(rawValue: "capturedVariable")
  }

  /// The kind of the error.
  public let kind: Kind
  /// The problem and how to fix it.
  public let message: String
  /// The column in the format, counted in characters from 1; 0 if there is no format, as in
  /// ``QueryPredicate/substituting(_:)``.
  public let column: Int
}

extension QueryFormatError: CustomStringConvertible {
  /// The column, the problem, and how to fix it.
  public var description: String { column == 0 ? message : "column \(column): \(message)" }
}
