/// A function of the predicate language. Its name has one colon per argument.
public enum QueryFunction: String, Hashable, Sendable, CaseIterable {
  /// The sum of a collection.
  case sum = "sum:"
  /// The number of members of a collection.
  case count = "count:"
  /// The minimum of a collection.
  case min = "min:"
  /// The maximum of a collection.
  case max = "max:"
  /// The average of a collection.
  case average = "average:"
  /// The median of a collection.
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
  /// The remainder of an integer division.
  case modulus = "modulus:by:"
  /// The square root.
  case sqrt = "sqrt:"
  /// The logarithm to base 10.
  case log = "log:"
  /// The natural logarithm.
  case ln = "ln:"
  /// `a ** b`: the first argument to the power of the second.
  case raise = "raise:toPower:"
  /// The exponential function.
  case exp = "exp:"
  /// The greatest integer not greater than the argument.
  case floor = "floor:"
  /// The least integer not less than the argument.
  case ceiling = "ceiling:"
  /// The absolute value.
  case abs = "abs:"
  /// The integer part of a number.
  case trunc = "trunc:"
  /// `-a`, the negated value ("change sign").
  case negate = "chs:"
  /// The text in upper case.
  case uppercase = "uppercase:"
  /// The text in lower case.
  case lowercase = "lowercase:"
  /// The length of the text in UTF-16 code units.
  case length = "length:"
  /// The text without case and diacritics, for searching.
  case canonical = "canonical:"
  /// The current time.
  case now
  /// A random number from 0 up to, but not including, 1.
  case random
  /// A random integer from 0 up to, but not including, the argument.
  case randomn = "randomn:"
  /// Bitwise AND.
  case bitwiseAnd = "bitwiseAnd:with:"
  /// Bitwise OR.
  case bitwiseOr = "bitwiseOr:with:"
  /// Bitwise exclusive OR.
  case bitwiseXor = "bitwiseXor:with:"
  /// The first argument, shifted left by the second.
  case leftShift = "leftshift:by:"
  /// The first argument, shifted right by the second.
  case rightShift = "rightshift:by:"
  /// The bitwise complement.
  case onesComplement = "onesComplement:"

  /// The number of arguments.
  package var argumentCount: Int { rawValue.utf8.count { $0 == UInt8(ascii: ":") } }

  /// Returns the function with the given name, with or without the last colon, regardless of letter case.
  public init?(name: String) {
    guard let function = Self.byName[Self.plain(name)] else { return nil }
    self = function
  }

  /// The infix operator, if there is one.
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

  /// The name in a call: `sum(…)`, but `add:to:(…)`.
  var callName: String { argumentCount == 1 ? String(rawValue.dropLast()) : rawValue }

  /// The lookup key of a name: lower case, without the last colon.
  static func plain(_ name: String) -> String {
    let lower = name.lowercased()
    return lower.hasSuffix(":") ? String(lower.dropLast()) : lower
  }

  /// Functions of predicates that are unsupported by design, by their lookup keys: they need a map, a tokenizer, or a
  /// database of Apple's.
  static let unsupported: Set<String> = [
    "distancetolocation:fromlocation", "noindex", "distinct", "tokenize:using", "inverseorderkey",
  ]

  private static let byName = Dictionary(uniqueKeysWithValues: allCases.map { (plain($0.rawValue), $0) })
}
