/// A condition on an object, as in Core Data. It is parsed from a format, see ``init(format:_:)``, or built as a tree.
///
/// A parsed tree has at most 200 levels. A tree built in code should use only what a format can express: compounds with
/// two or more members, key paths with at least one name, and the number of arguments that each function requires.
public indirect enum QueryPredicate: Hashable, Sendable {
  /// Always true or always false.
  case constant(Bool)
  /// A comparison of two values.
  case comparison(QueryComparison)
  /// True if all members are true; an empty list is true.
  case and([QueryPredicate])
  /// True if at least one member is true; an empty list is false.
  case or([QueryPredicate])
  /// The negation of a predicate.
  case not(QueryPredicate)
}

/// A comparison of two expressions.
public struct QueryComparison: Hashable, Sendable {
  /// A comparison operator, with its symbol or keyword.
  public enum Operator: String, Hashable, Sendable, CaseIterable {
    /// The values are equal.
    case equal = "=="
    /// The values differ.
    case notEqual = "!="
    /// The left value is less.
    case lessThan = "<"
    /// The left value is less than or equal to the right value.
    case lessThanOrEqual = "<="
    /// The left value is greater.
    case greaterThan = ">"
    /// The left value is greater than or equal to the right value.
    case greaterThanOrEqual = ">="
    /// The left value is between the two right values, inclusive.
    case between = "BETWEEN"
    /// The left value is a member of the right collection, or a substring of the right text.
    case `in` = "IN"
    /// The right value is a member of the left collection, or a substring of the left text.
    case contains = "CONTAINS"
    /// The left text begins with the right text.
    case beginsWith = "BEGINSWITH"
    /// The left text ends with the right text.
    case endsWith = "ENDSWITH"
    /// The left text matches the right pattern, where `?` matches one character and `*` matches any number of
    /// characters.
    case like = "LIKE"
    /// The right regular expression matches the whole left text.
    case matches = "MATCHES"
  }

  /// The quantifier over the members of the left collection.
  public enum Modifier: Hashable, Sendable, CaseIterable {
    /// The left value itself is compared.
    case direct
    /// At least one member matches: `ANY` or `SOME`.
    case any
    /// Every member matches.
    case all
    /// No member matches.
    case none
  }

  /// The options of a text comparison: the letters in brackets after an operator, as in `CONTAINS[cd]`.
  public struct Options: OptionSet, Hashable, Sendable {
    /// The options as a bit mask.
    public let rawValue: UInt8

    /// Creates options from a bit mask.
    public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// `c`: ignores case.
    public static let caseInsensitive = Options(rawValue: 1)
    /// `d`: ignores diacritics.
    public static let diacriticInsensitive = Options(rawValue: 2)
    /// `n`: compares texts bytewise, because they are already normalized.
    public static let normalized = Options(rawValue: 4)
    /// `l`: compares by the rules of the user's locale.
    public static let localeSensitive = Options(rawValue: 8)
    /// `[numeric]`, in sort keys only: runs of the digits 0 to 9 are compared as numbers of any length, so that `file2`
    /// sorts before `file10`. Numbers that differ only in leading zeros are equal.
    public static let numeric = Options(rawValue: 16)

    /// All options of comparisons with their letters, in canonical order.
    static let letters: [(option: Options, letter: Character)] = [
      (.caseInsensitive, "c"), (.diacriticInsensitive, "d"), (.normalized, "n"), (.localeSensitive, "l"),
    ]
  }

  /// The left side of the comparison.
  public var left: QueryExpression
  /// The operator.
  public var `operator`: Operator
  /// The right side of the comparison.
  public var right: QueryExpression
  /// The quantifier over the members of the left collection.
  public var modifier: Modifier
  /// The options of a text comparison.
  public var options: Options
  /// The columns of its sides in the parsed format, for errors; ignored by equality.
  package var columns = FormatColumns()

  /// Creates a comparison.
  public init(
    _ left: QueryExpression, _ operator: Operator, _ right: QueryExpression, modifier: Modifier = .direct,
    options: Options = []
  ) {
    self.left = left
    self.operator = `operator`
    self.right = right
    self.modifier = modifier
    self.options = options
  }

  /// Why the right side is never valid for the operator; nil if it can be.
  var complaint: String? {
    switch (self.operator, right) {
    case (.between, .aggregate(let items)): items.count == 2 ? nil : Self.betweenNeedsTwo
    case (.between, .constant(.list(let items))): items.count == 2 ? nil : Self.betweenNeedsTwo
    case (.between, .constant): Self.betweenNeedsTwo
    case (.in, .constant(.list)), (.in, .constant(.value(.string))): nil
    case (.in, .constant): "IN requires a collection or a text; put the value in braces, or use =="
    default: nil
    }
  }

  /// Why a value is never valid as the right side; nil if it can be.
  package func complaint(about right: QueryConstant) -> String? {
    guard self.operator == .in || self.operator == .between else { return nil }
    var comparison = self
    comparison.right = .constant(right)
    return comparison.complaint
  }

  /// The columns of a comparison's sides in a format, in characters from 1; 0 without a format.
  package struct FormatColumns: Hashable, Sendable {
    package var left = 0
    package var right = 0

    package static func == (left: Self, right: Self) -> Bool { true }
    package func hash(into hasher: inout Hasher) {}
  }

  private static let betweenNeedsTwo = "BETWEEN requires a lower and an upper bound; write {lower, upper}"
}
