package import Foundation
package import KVCloneModel

/// The value of a predicate's expression for one object.
package indirect enum QueryValue: Sendable {
  case null
  case boolean(Bool)
  case integer(Int64)
  case double(Double)
  case decimal(Decimal)
  case string(String)
  /// Seconds since 2001.
  case date(Double)
  case uuid(UUID)
  case binary(Data)
  case object(ObjectID)
  /// Composite and archived values, and blobs, of which only the reference is known: they support only equality.
  case other(AttributeValue)
  case list([QueryValue])

  /// A stored value. URIs are text.
  package init(_ value: AttributeValue?) {
    switch value {
    case nil: self = .null
    case .integer(let number): self = .integer(number)
    case .decimal(let number): self = .decimal(number)
    case .double(let number): self = .double(number)
    case .float(let number): self = .double(Double(number))
    case .string(let text), .uri(let text): self = .string(text)
    case .boolean(let value): self = .boolean(value)
    case .date(let date): self = .date(date.timeIntervalSinceReferenceDate)
    case .binary(let data): self = .binary(data)
    case .uuid(let uuid): self = .uuid(uuid)
    case .composite(let elements):
      // A store keeps no empty composite.
      let kept = Self.filled(elements)
      self = kept.isEmpty ? .null : .other(.composite(kept))
    case .transformable, .blob: self = value.map { .other($0) } ?? .null
    }
  }

  /// The elements without empty composites.
  private static func filled(_ elements: [String: AttributeValue]) -> [String: AttributeValue] {
    elements.compactMapValues { value in
      guard case .composite(let inner) = value else { return value }
      let kept = filled(inner)
      return kept.isEmpty ? nil : .composite(kept)
    }
  }

  package var isNull: Bool {
    if case .null = self { return true }
    return false
  }

  /// The elements of a list; any other value is a list of itself, and nil is an empty one.
  package var elements: [QueryValue] {
    switch self {
    case .list(let values): values
    case .null: []
    default: [self]
    }
  }

  /// The number of a numeric or boolean value.
  package var number: QueryNumber? {
    switch self {
    case .boolean(let value): .integer(value ? 1 : 0)
    case .integer(let value): .integer(value)
    case .double(let value): .double(value)
    case .decimal(let value): .decimal(value)
    default: nil
    }
  }
}

/// The result of a comparison of two values.
package enum QueryOrder: Int {
  case less = -1
  case same = 0
  case greater = 1

  init<Value: Comparable>(_ left: Value, _ right: Value) {
    self = left < right ? .less : right < left ? .greater : .same
  }

  var reversed: QueryOrder { QueryOrder(rawValue: -rawValue) ?? .same }
}

extension QueryValue {
  /// Whether two values are equal in a predicate: numbers by value whatever their types, NaN to itself; texts by their
  /// code points; nil to nil.
  package func isEqual(to other: QueryValue) -> Bool {
    switch (self, other) {
    case (.null, .null): return true
    case (.string(let a), .string(let b)): return a.utf8.elementsEqual(b.utf8)
    case (.object(let a), .object(let b)): return a == b
    case (.other(.composite(let a)), .other(.composite(let b))):
      return a.count == b.count && a.allSatisfy { QueryValue($0.value).isEqual(to: QueryValue(b[$0.key])) }
    case (.other(let a), .other(let b)): return a == b
    case (.list(let a), .list(let b)): return a.count == b.count && zip(a, b).allSatisfy { $0.isEqual(to: $1) }
    default:
      if let a = number, let b = other.number, a.isNaN || b.isNaN { return a.isNaN && b.isNaN }
      return order(against: other) == .same
    }
  }

  /// The order of two values of one kind; nil if either is nil or NaN, or they are of different kinds.
  package func order(against other: QueryValue) -> QueryOrder? {
    switch (self, other) {
    case (.string(let a), .string(let b)): return Self.order(a, b)
    case (.date(let a), .date(let b)): return a.isNaN || b.isNaN ? nil : QueryOrder(a, b)
    case (.uuid(let a), .uuid(let b)): return Self.order(bytes(a), bytes(b))
    case (.binary(let a), .binary(let b)): return Self.order(a, b)
    case (.object(let a), .object(let b)): return QueryOrder(a, b)
    default:
      guard let a = number, let b = other.number else { return nil }
      return a.order(against: b)
    }
  }

  private func bytes(_ uuid: UUID) -> [UInt8] { withUnsafeBytes(of: uuid.uuid) { Array($0) } }

  /// Compares by code points, which is by the bytes of UTF-8.
  package static func order(_ left: String, _ right: String) -> QueryOrder { order(left.utf8, right.utf8) }

  private static func order<Bytes: Sequence<UInt8>>(_ left: Bytes, _ right: Bytes) -> QueryOrder {
    if left.lexicographicallyPrecedes(right) { return .less }
    return right.lexicographicallyPrecedes(left) ? .greater : .same
  }

  /// The total order for sorting results, which distinguishes any two unequal values: nil, numbers (NaN first), text,
  /// dates, UUIDs, bytes, objects, the rest.
  package func sortOrder(against other: QueryValue) -> QueryOrder {
    let (mine, its) = (sortRank, other.sortRank)
    if mine != its { return QueryOrder(mine, its) }
    if let a = number, let b = other.number, a.isNaN || b.isNaN {
      return a.isNaN == b.isNaN ? .same : a.isNaN ? .less : .greater
    }
    if case .date(let a) = self, case .date(let b) = other, a.isNaN || b.isNaN {
      return a.isNaN == b.isNaN ? .same : a.isNaN ? .less : .greater
    }
    return order(against: other) ?? .same
  }

  private var sortRank: Int {
    switch self {
    case .null: 0
    case .boolean, .integer, .double, .decimal: 1
    case .string: 2
    case .date: 3
    case .uuid: 4
    case .binary: 5
    case .object: 6
    case .other, .list: 7
    }
  }
}

/// A number of any type of the model, with comparison and arithmetic as exact as the types allow.
package enum QueryNumber: Sendable {
  case integer(Int64)
  case double(Double)
  case decimal(Decimal)

  package var isNaN: Bool {
    switch self {
    case .integer: false
    case .double(let value): value.isNaN
    case .decimal(let value): value.isNaN
    }
  }

  package var value: QueryValue {
    switch self {
    case .integer(let value): .integer(value)
    case .double(let value): .double(value)
    case .decimal(let value): .decimal(value)
    }
  }

  package var double: Double {
    switch self {
    case .integer(let value): Double(value)
    case .double(let value): value
    case .decimal(let value): Double(value.description) ?? .nan
    }
  }

  /// The number in base 10: a double counts as its printed form, so that 0.1 is 0.1. Nil beyond the range of a decimal.
  private var decimal: Decimal? {
    switch self {
    case .integer(let value): Decimal(value)
    case .double(let value): value.isFinite && abs(value) < 1e60 ? Decimal(string: value.description) : nil
    case .decimal(let value): value
    }
  }

  /// The greatest number of 38 digits, which a decimal always represents exactly.
  static let greatestWhole = UInt128(99_999_999_999_999_999_999_999_999_999_999_999_999)

  /// An integer of at most 38 digits: an integer, or a decimal beyond 64 bits.
  package init(_ whole: Int128) {
    if let integer = Int64(exactly: whole) {
      self = .integer(integer)
    } else {
      self = .decimal(Self.decimals(whole).reduce(0, +))
    }
  }

  /// Splits an integer into decimals: its digits before and behind the 18th.
  static func decimals(_ whole: Int128) -> [Decimal] {
    let base: Int128 = 1_000_000_000_000_000_000
    let (upper, lower) = whole.quotientAndRemainder(dividingBy: base)
    let (top, middle) = upper.quotientAndRemainder(dividingBy: base)
    return [
      Decimal(Int64(truncatingIfNeeded: lower)), Self.scaled(Int64(truncatingIfNeeded: middle), 18),
      Self.scaled(Int64(truncatingIfNeeded: top), 36),
    ].filter { $0 != 0 }
  }

  private static func scaled(_ number: Int64, _ exponent: Int) -> Decimal {
    Decimal(sign: number < 0 ? .minus : .plus, exponent: exponent, significand: Decimal(number.magnitude))
  }

  /// The number if it is integral, and has at most 38 digits.
  package var whole: Int128? {
    switch self {
    case .integer(let value): return Int128(value)
    // Not through a double, which has only 53 bits.
    case .decimal(let value): return value.isNaN ? nil : Int128(value.description)
    case .double(let value): return Int64(exactly: value).map { Int128($0) }
    }
  }

  /// Nil if either is NaN.
  func order(against other: QueryNumber) -> QueryOrder? {
    if isNaN || other.isNaN { return nil }
    switch (self, other) {
    case (.integer(let a), .integer(let b)): return QueryOrder(a, b)
    case (.double(let a), .double(let b)): return QueryOrder(a, b)
    case (.integer(let a), .double(let b)): return Self.order(a, b)
    case (.double(let a), .integer(let b)): return Self.order(b, a).reversed
    default:
      if let a = decimal, let b = other.decimal { return QueryOrder(a, b) }
      return QueryOrder(double, other.double)
    }
  }

  /// Without rounding the integer, which may have more digits than a double.
  private static func order(_ integer: Int64, _ double: Double) -> QueryOrder {
    if double >= 0x1p63 { return .less }
    if double < -0x1p63 { return .greater }
    let whole = double.rounded(.towardZero)
    let order = QueryOrder(integer, Int64(whole))
    return order == .same ? QueryOrder(whole, double) : order
  }

  /// Applies an operation: to two integers exactly in integers; in decimals if one is a decimal; else in doubles. The
  /// result for two integers always fits 128 bits, and a decimal's 38 digits: 2^126 has 38.
  static func calculate(
    _ left: QueryNumber, _ right: QueryNumber, integer: (Int128, Int128) -> Int128,
    decimal: (Decimal, Decimal) -> Decimal?, double: (Double, Double) -> Double
  ) -> QueryNumber? {
    switch (left, right) {
    case (.integer(let a), .integer(let b)): return QueryNumber(integer(Int128(a), Int128(b)))
    case (.double, _), (_, .double): return .double(double(left.double, right.double))
    default:
      guard let a = left.decimal, let b = right.decimal else { return .double(double(left.double, right.double)) }
      return decimal(a, b).map { .decimal($0) }
    }
  }
}
