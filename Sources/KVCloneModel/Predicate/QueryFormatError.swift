/// Why a format is no predicate or expression, or a variable cannot be filled in; its description says what to do.
///
/// Nothing of the format's text is in it but names of functions, of types and of operators, because a format may hold
/// values that have no place in a log.
public struct QueryFormatError: Error, Hashable, Sendable {
  /// What is wrong.
  public enum Kind: String, Hashable, Sendable, CaseIterable {
    /// There is nothing in the format.
    case emptyFormat
    /// Something stands where it cannot.
    case unexpectedToken
    /// The format ends too early.
    case unexpectedEnd
    /// A text has no closing quotation mark; the column is that of the opening one.
    case unclosedString
    /// A parenthesis, bracket or brace is not closed; the column is that of the opening one.
    case unclosedParenthesis
    /// A backslash in a text is followed by something that has no meaning there.
    case invalidEscape
    /// A number is written wrongly, is too large, or has more digits than the 38 of a decimal.
    case invalidNumber
    /// The letters in brackets behind an operator are not all options.
    case invalidOption
    /// The right side of BETWEEN or IN is nothing that they can work with.
    case invalidOperand
    /// A key path that was given for `%K` has an empty name in it.
    case invalidKeyPath
    /// There is no such operator on collections.
    case unknownCollectionOperator
    /// There is no such function.
    case unknownFunction
    /// A function has too few or too many arguments.
    case wrongArgumentCount
    /// CAST names a type that does not exist.
    case invalidCast
    /// The constant that CAST converts has no value of the type: a text that is no date, a number out of range.
    case invalidValue
    /// Something that exists in Core Data and not here; the message names it.
    case unsupported
    /// A place such as `%@` is written wrongly.
    case invalidSpecifier
    /// There are fewer arguments than places.
    case tooFewArguments
    /// There are more arguments than places; the column is that behind the format.
    case tooManyArguments
    /// An argument is nothing that its place can take.
    case wrongArgumentType
    /// There are too many levels.
    case nestingTooDeep
    /// A variable would be filled in with an expression whose own variable a subquery takes for its own.
    case capturedVariable
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
