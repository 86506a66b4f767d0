import Foundation
import KVCloneTestSupport

/// The oracle's choice where the rules are ambiguous.
enum OracleReading {
  /// Whether NaN, which equals itself, is also `<=` itself.
  static let isNaNAtMostNaN = false
  /// Whether a list of to-one targets (`tags.group`) contains a nil for each member without a target.
  static let keepsEmptyTargets = false
}

/// The comparison of two values with the options of one predicate.
struct OracleComparison {
  private let ignoresCase: Bool
  private let ignoresDiacritics: Bool

  init(_ options: String) {
    ignoresCase = options.contains("c")
    ignoresDiacritics = options.contains("d")
  }

  func holds(_ left: OracleValue, _ operation: String, _ right: OracleValue) -> Bool {
    switch operation {
    case "==": return areEqual(left, right)
    case "!=": return !areEqual(left, right)
    case "<": return isLess(left, right)
    case ">": return isLess(right, left)
    case "<=": return isLess(left, right) || isAtMostItself(left) && areEqual(left, right)
    case ">=": return isLess(right, left) || isAtMostItself(left) && areEqual(left, right)
    case "BETWEEN":
      guard case .list(let bounds) = right, bounds.count == 2 else { return false }
      return holds(bounds[0], "<=", left) && holds(left, "<=", bounds[1])
    case "IN":
      if case .list(let list) = right { return list.contains { areEqual($0, left) } }
      return holds(right, "CONTAINS", left)
    default:
      if case .list(let list) = left { return list.contains { areEqual($0, right) } }
      guard case .text(let text) = left, case .text(let other) = right else { return false }
      return ask(folded(text), operation, folded(other))
    }
  }

  private func isAtMostItself(_ value: OracleValue) -> Bool {
    !value.isNull && (OracleReading.isNaNAtMostNaN || !Self.isNaN(value))
  }

  private func ask(_ text: [Unicode.Scalar], _ operation: String, _ other: [Unicode.Scalar]) -> Bool {
    switch operation {
    case "BEGINSWITH": return text.starts(with: other)
    case "ENDSWITH": return text.reversed().starts(with: other.reversed())
    case "CONTAINS": return text.indices.contains { text[$0...].starts(with: other) } || other.isEmpty
    case "LIKE": return isLike(text[...], other[...])
    default: return matches(text[...], other[...])
    }
  }

  // MARK: Equality and order

  func areEqual(_ left: OracleValue, _ right: OracleValue) -> Bool {
    switch (left, right) {
    case (.null, .null): return true
    case (.text(let one), .text(let other)): return folded(one) == folded(other)
    case (.date(let one), .date(let other)): return one == other
    case (.uuid(let one), .uuid(let other)): return one == other
    case (.bytes(let one), .bytes(let other)): return one == other
    case (.object(let one), .object(let other)): return one == other
    case (.composite(let one), .composite(let other)):
      return Set(one.keys).union(other.keys).allSatisfy { areEqual(one[$0] ?? .null, other[$0] ?? .null) }
    default:
      if Self.isNaN(left) && Self.isNaN(right) { return true }
      return Self.compareNumbers(left, right) == 0
    }
  }

  func isLess(_ left: OracleValue, _ right: OracleValue) -> Bool {
    switch (left, right) {
    case (.text(let one), .text(let other)): return folded(one).lexicographicallyPrecedes(folded(other))
    case (.date(let one), .date(let other)): return one < other
    case (.uuid(let one), .uuid(let other)):
      return withUnsafeBytes(of: one.uuid) { Array($0) }.lexicographicallyPrecedes(
        withUnsafeBytes(of: other.uuid) { Array($0) })
    case (.bytes(let one), .bytes(let other)): return one.lexicographicallyPrecedes(other)
    default: return Self.compareNumbers(left, right).map { $0 < 0 } ?? false
    }
  }

  /// Compares as sort keys do: nil first, then NaN.
  func place(_ left: OracleValue, _ right: OracleValue) -> Int {
    func rank(_ value: OracleValue) -> Int { value.isNull ? 0 : Self.isNaN(value) ? 1 : 2 }
    if rank(left) != rank(right) { return rank(left) - rank(right) }
    return isLess(left, right) ? -1 : isLess(right, left) ? 1 : 0
  }

  // MARK: Numbers

  static func isNaN(_ value: OracleValue) -> Bool {
    switch value {
    case .double(let number): number.isNaN
    case .decimal(let number): number.isNaN
    default: false
    }
  }

  /// Returns less than, equal to or greater than 0, or nil for NaN and values that are not numbers.
  static func compareNumbers(_ left: OracleValue, _ right: OracleValue) -> Int? {
    if isNaN(left) || isNaN(right) { return nil }
    switch (left, right) {
    case (.integer(let one), .integer(let other)): return one < other ? -1 : one > other ? 1 : 0
    case (.double(let one), .double(let other)): return one < other ? -1 : one > other ? 1 : 0
    case (.decimal(let one), .decimal(let other)): return one < other ? -1 : one > other ? 1 : 0
    case (.integer(let one), .double(let other)): return compare(one, other)
    case (.double(let one), .integer(let other)): return -compare(other, one)
    case (.integer(let one), .decimal): return compareNumbers(.decimal(Decimal(one)), right)
    case (.decimal, .integer(let other)): return compareNumbers(left, .decimal(Decimal(other)))
    case (.double(let one), .decimal(let other)): return compare(one, other)
    case (.decimal(let one), .double(let other)): return -compare(other, one)
    default: return nil
    }
  }

  private static func compare(_ one: Int64, _ other: Double) -> Int {
    if other >= 0x1p63 { return -1 }
    if other < -0x1p63 { return 1 }
    let whole = Int64(other.rounded(.down))
    if one != whole { return one < whole ? -1 : 1 }
    return Double(whole) < other ? -1 : 0
  }

  private static func compare(_ one: Double, _ other: Decimal) -> Int {
    // Beyond all decimals in the tests, and beyond the range of Decimal.
    if abs(one) > 1e60 { return one < 0 ? -1 : 1 }
    if one != 0 && abs(one) < 1e-60 { return other == 0 ? (one < 0 ? -1 : 1) : other > 0 ? -1 : 1 }
    guard let decimal = Decimal(string: one.description) else { preconditionFailure("a double prints as a number") }
    return decimal < other ? -1 : decimal > other ? 1 : 0
  }

  // MARK: Strings

  /// Lowercase forms of the few uppercase letters beyond ASCII in the tests' strings.
  private static let small: [Unicode.Scalar: Unicode.Scalar] = ["É": "é", "Ä": "ä"]
  /// Letters without their diacritics; a combining one is removed.
  private static let plain: [Unicode.Scalar: [Unicode.Scalar]] = [
    "é": ["e"], "É": ["E"], "ä": ["a"], "Ä": ["A"], "\u{301}": [],
  ]

  private func folded(_ text: String) -> [Unicode.Scalar] {
    var scalars = Array(text.unicodeScalars)
    if ignoresCase {
      scalars = scalars.map { scalar in
        if let small = Self.small[scalar] { return small }
        return ("A"..."Z").contains(scalar) ? Unicode.Scalar(UInt8(scalar.value) + 32) : scalar
      }
    }
    if ignoresDiacritics { scalars = scalars.flatMap { Self.plain[$0] ?? [$0] } }
    return scalars
  }

  private func isLike(_ text: ArraySlice<Unicode.Scalar>, _ pattern: ArraySlice<Unicode.Scalar>) -> Bool {
    guard let first = pattern.first else { return text.isEmpty }
    let rest = pattern.dropFirst()
    switch first {
    case "*": return isLike(text, rest) || !text.isEmpty && isLike(text.dropFirst(), pattern)
    case "?": return !text.isEmpty && isLike(text.dropFirst(), rest)
    case "\\" where rest.first == "*" || rest.first == "?":
      return text.first == rest.first && isLike(text.dropFirst(), rest.dropFirst())
    default: return text.first == first && isLike(text.dropFirst(), rest)
    }
  }

  /// Matches regular expressions of letters, `.` and `[ab]`, each with an optional `*`, `?` or `+`.
  private func matches(_ text: ArraySlice<Unicode.Scalar>, _ pattern: ArraySlice<Unicode.Scalar>) -> Bool {
    guard let first = pattern.first else { return text.isEmpty }
    let end = first == "[" ? pattern.firstIndex(of: "]") ?? pattern.startIndex : pattern.startIndex
    let atom = pattern[...end]
    func fits(_ scalar: Unicode.Scalar?) -> Bool {
      guard let scalar else { return false }
      return first == "." || (first == "[" ? atom.dropFirst().dropLast().contains(scalar) : scalar == first)
    }
    let rest = pattern[(end + 1)...]
    switch rest.first {
    case "*": return matches(text, rest.dropFirst()) || fits(text.first) && matches(text.dropFirst(), pattern)
    case "+":
      return fits(text.first) && (matches(text.dropFirst(), rest.dropFirst()) || matches(text.dropFirst(), pattern))
    case "?": return matches(text, rest.dropFirst()) || fits(text.first) && matches(text.dropFirst(), rest.dropFirst())
    default: return fits(text.first) && matches(text.dropFirst(), rest)
    }
  }
}
