/// A condition on an object, as Core Data's predicates are: made from a format, see ``init(format:_:)``, or as a tree.
///
/// A tree that a format gave is at most 200 levels high. One that is built by hand should keep to what a format can
/// say: compounds of two or more, key paths of one name or more, and as many arguments as a function takes.
public indirect enum QueryPredicate: Hashable, Sendable {
  /// Always true, or never.
  case constant(Bool)
  /// Compares two values.
  case comparison(QueryComparison)
  /// All of them are true; with nothing in it, true.
  case and([QueryPredicate])
  /// One of them at least is true; with nothing in it, false.
  case or([QueryPredicate])
  /// The opposite.
  case not(QueryPredicate)
}

/// A comparison of two expressions.
public struct QueryComparison: Hashable, Sendable {
  /// How two values are compared, with the sign or word that stands for it.
  public enum Operator: String, Hashable, Sendable, CaseIterable {
    /// The values are equal.
    case equal = "=="
    /// The values differ.
    case notEqual = "!="
    /// The left value is less.
    case lessThan = "<"
    /// The left value is less, or equal.
    case lessThanOrEqual = "<="
    /// The left value is greater.
    case greaterThan = ">"
    /// The left value is greater, or equal.
    case greaterThanOrEqual = ">="
    /// The left value lies between the two of the right, or is one of them.
    case between = "BETWEEN"
    /// The left value is a member of the right collection, or a part of the right text.
    case `in` = "IN"
    /// The right value is a member of the left collection, or a part of the left text.
    case contains = "CONTAINS"
    /// The left text begins with the right one.
    case beginsWith = "BEGINSWITH"
    /// The left text ends with the right one.
    case endsWith = "ENDSWITH"
    /// The left text fits the right pattern of `?` (one character) and `*` (any number of them).
    case like = "LIKE"
    /// The whole left text matches the right regular expression.
    case matches = "MATCHES"
  }

  /// Which members of the left collection have to fulfil the comparison.
  public enum Modifier: Hashable, Sendable, CaseIterable {
    /// The left side is compared as it is.
    case direct
    /// One member at least: `ANY` or `SOME`.
    case any
    /// Every member.
    case all
    /// No member.
    case none
  }

  /// How texts are compared: the letters in brackets behind an operator, `CONTAINS[cd]`.
  public struct Options: OptionSet, Hashable, Sendable {
    /// The options as bits.
    public let rawValue: UInt8

    /// Makes options from bits.
    public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// `c`: upper and lower case are the same.
    public static let caseInsensitive = Options(rawValue: 1)
    /// `d`: letters with and without accents are the same.
    public static let diacriticInsensitive = Options(rawValue: 2)
    /// `n`: the texts are compared by their bytes, as they are already in one form.
    public static let normalized = Options(rawValue: 4)
    /// `l`: by the rules of the user's language.
    public static let localeSensitive = Options(rawValue: 8)
    /// `[numeric]`, in sort keys only: runs of the digits 0 to 9 count as the numbers they write, so that `file2` comes
    /// before `file10`. Numbers of any length count; those that differ in leading zeros only do not differ.
    public static let numeric = Options(rawValue: 16)

    /// All options of comparisons with their letters, in the order in which they are written.
    static let letters: [(option: Options, letter: Character)] = [
      (.caseInsensitive, "c"), (.diacriticInsensitive, "d"), (.normalized, "n"), (.localeSensitive, "l"),
    ]
  }

  /// What stands before the operator.
  public var left: QueryExpression
  /// How the two are compared.
  public var `operator`: Operator
  /// What stands behind the operator.
  public var right: QueryExpression
  /// Which members of the left collection count.
  public var modifier: Modifier
  /// How texts are compared.
  public var options: Options
  /// Where its sides begin in the format that it was read from, for errors; comparisons that differ in them alone are
  /// equal.
  package var columns = FormatColumns()

  /// Describes a comparison.
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

  /// Why the right side can never be what the operator needs; nil where it can.
  var complaint: String? {
    switch (self.operator, right) {
    case (.between, .aggregate(let items)): items.count == 2 ? nil : Self.betweenNeedsTwo
    case (.between, .constant(.list(let items))): items.count == 2 ? nil : Self.betweenNeedsTwo
    case (.between, .constant): Self.betweenNeedsTwo
    case (.in, .constant(.list)), (.in, .constant(.value(.string))): nil
    case (.in, .constant): "IN needs a collection or a text; write the value between braces, or use =="
    default: nil
    }
  }

  /// Why a value can never be the right side; nil where it can.
  package func complaint(about right: QueryConstant) -> String? {
    guard self.operator == .in || self.operator == .between else { return nil }
    var comparison = self
    comparison.right = .constant(right)
    return comparison.complaint
  }

  /// Where the sides of a comparison begin in a format, in characters from 1; 0 where there is no format.
  package struct FormatColumns: Hashable, Sendable {
    package var left = 0
    package var right = 0

    package static func == (left: Self, right: Self) -> Bool { true }
    package func hash(into hasher: inout Hasher) {}
  }

  private static let betweenNeedsTwo = "BETWEEN needs a least and a greatest value; write {least, greatest}"
}
