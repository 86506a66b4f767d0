/// The functions of predicates, with the names that they have there: one colon for each argument.
public enum QueryFunction: String, Hashable, Sendable, CaseIterable {
  /// The sum of a collection.
  case sum = "sum:"
  /// How many members a collection has.
  case count = "count:"
  /// The least member of a collection.
  case min = "min:"
  /// The greatest member of a collection.
  case max = "max:"
  /// The average of a collection.
  case average = "average:"
  /// The value in the middle of a collection.
  case median = "median:"
  /// The most frequent members of a collection.
  case mode = "mode:"
  /// The standard deviation of a collection.
  case stddev = "stddev:"
  /// `a + b`.
  case add = "add:to:"
  /// `a - b`.
  case subtract = "from:subtract:"
  /// `a * b`.
  case multiply = "multiply:by:"
  /// `a / b`.
  case divide = "divide:by:"
  /// What is left when the first is divided by the second, as whole numbers.
  case modulus = "modulus:by:"
  /// The square root.
  case sqrt = "sqrt:"
  /// The logarithm to base 10.
  case log = "log:"
  /// The natural logarithm.
  case ln = "ln:"
  /// `a ** b`, the first to the power of the second.
  case raise = "raise:toPower:"
  /// The exponential function.
  case exp = "exp:"
  /// The greatest whole number that is not greater.
  case floor = "floor:"
  /// The least whole number that is not less.
  case ceiling = "ceiling:"
  /// The number without its sign.
  case abs = "abs:"
  /// The number without its fraction.
  case trunc = "trunc:"
  /// `-a`; "change sign".
  case negate = "chs:"
  /// A text in upper case.
  case uppercase = "uppercase:"
  /// A text in lower case.
  case lowercase = "lowercase:"
  /// The length of a text.
  case length = "length:"
  /// A text without case and accents, for searching.
  case canonical = "canonical:"
  /// The present time.
  case now
  /// A random number from 0 up to, but not, 1.
  case random
  /// A random whole number from 0 up to, but not, the argument.
  case randomn = "randomn:"
  /// The bits that both have.
  case bitwiseAnd = "bitwiseAnd:with:"
  /// The bits that one of them has.
  case bitwiseOr = "bitwiseOr:with:"
  /// The bits that only one of them has.
  case bitwiseXor = "bitwiseXor:with:"
  /// The first, its bits moved up by the second.
  case leftShift = "leftshift:by:"
  /// The first, its bits moved down by the second.
  case rightShift = "rightshift:by:"
  /// All bits turned over.
  case onesComplement = "onesComplement:"

  /// How many arguments it takes.
  package var argumentCount: Int { rawValue.utf8.count { $0 == UInt8(ascii: ":") } }

  /// Finds a function by its name, with or without the last colon, in any letter case.
  public init?(name: String) {
    guard let function = Self.byName[Self.plain(name)] else { return nil }
    self = function
  }

  /// The sign that stands between two arguments, where there is one.
  var sign: String? {
    switch self {
    case .add: "+"
    case .subtract: "-"
    case .multiply: "*"
    case .divide: "/"
    case .raise: "**"
    default: nil
    }
  }

  /// The name as a call is written: `sum(…)`, but `add:to:(…)`.
  var callName: String { argumentCount == 1 ? String(rawValue.dropLast()) : rawValue }

  /// A name in the form in which it is looked up: lower case, without the last colon.
  static func plain(_ name: String) -> String {
    let lower = name.lowercased()
    return lower.hasSuffix(":") ? String(lower.dropLast()) : lower
  }

  /// Functions of predicates that are left out on purpose, in the form in which they are looked up: they need a map, a
  /// tokenizer, or a database of Apple's.
  static let unsupported: Set<String> = [
    "distancetolocation:fromlocation", "noindex", "distinct", "tokenize:using", "inverseorderkey",
  ]

  private static let byName = Dictionary(uniqueKeysWithValues: allCases.map { (plain($0.rawValue), $0) })
}
