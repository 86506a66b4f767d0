import Foundation
import KVCloneCore
import KVCloneModel

/// A constant in the form in which a column of some type would store it. Numbers are compared across types, so a
/// constant may be between two storable values, or match none.
enum StoredMatch {
  /// Comparing with this value finds all matches; `isExact`: and no other values. nil means nil for equality, and no
  /// limit for a limit.
  case value(AttributeValue?, isExact: Bool)
  /// No stored value is equal, or within the limit.
  case nothing
  /// The column cannot decide it.
  case unusable

  // MARK: Equal values

  static func equal(to value: QueryValue, _ type: AttributeType?) -> StoredMatch {
    if value.isNull { return .value(nil, isExact: true) }
    switch (type, value) {
    case (nil, .object(let id)): return .value(CompiledConstraint.column(id), isExact: true)
    case (.date, .date(let seconds)): return seconds.isNaN ? .unusable : date(seconds)
    case (.string, .string(let text)), (.uri, .string(let text)): return .value(.string(text), isExact: true)
    case (.uuid, .uuid(let uuid)): return .value(.uuid(uuid), isExact: true)
    case (.binary, .binary(let data)): return .value(.binary(data), isExact: false)
    default:
      guard let type, let number = value.number else { return .unusable }
      return equal(to: number, type)
    }
  }

  private static func equal(to number: QueryNumber, _ type: AttributeType) -> StoredMatch {
    switch (type, number) {
    case (.boolean, _):
      guard let flag = [false, true].first(where: { QueryValue.boolean($0).isEqual(to: number.value) }) else {
        return .nothing
      }
      return .value(.boolean(flag), isExact: true)
    case (.integer16, _), (.integer32, _), (.integer64, _):
      if case .double(let value) = number {
        return Int64(exactly: value).map { .value(.integer($0), isExact: true) } ?? .nothing
      }
      if number.isNaN { return .nothing }
      return number.storedInteger.map { .value(.integer($0), isExact: true) } ?? .unusable
    case (.double, .integer(let value)):
      return Double(exactly: value).map { .value(.double($0), isExact: true) } ?? .nothing
    case (.double, .double(let value)): return .value(.double(value), isExact: true)
    case (.double, .decimal): return .value(.double(number.double), isExact: false)
    case (.float, _):
      guard case .value(.double(let value)?, let isExact) = equal(to: number, .double) else { return .nothing }
      if value.isNaN { return .value(.float(.nan), isExact: isExact) }
      return Float(exactly: value).map { .value(.float($0), isExact: isExact) } ?? .nothing
    case (.decimal, _): return decimal(number)
    default: return .unusable
    }
  }

  // MARK: Limits

  /// - Parameter isLower: whether greater values are wanted; else lesser ones.
  static func limit(_ value: QueryValue, isLower: Bool, _ type: AttributeType?) -> StoredMatch {
    // Nothing is less or greater than nil.
    if value.isNull { return .nothing }
    switch (type, value) {
    case (.date, .date(let seconds)): return seconds.isNaN ? .nothing : date(seconds)
    case (.string, .string), (.uri, .string), (.uuid, .uuid): return equal(to: value, type)
    default:
      guard let type, let number = value.number else { return .unusable }
      return number.isNaN ? .nothing : limit(number, isLower, type)
    }
  }

  private static func limit(_ number: QueryNumber, _ isLower: Bool, _ type: AttributeType) -> StoredMatch {
    switch (type, number) {
    case (.integer16, _), (.integer32, _), (.integer64, _): return wholeLimit(number, isLower)
    case (.double, _):
      let (value, isExact) = doubleLimit(number, isLower)
      return .value(.double(value), isExact: isExact)
    case (.float, _):
      let (value, isExact) = doubleLimit(number, isLower)
      if isExact, let float = Float(exactly: value) { return .value(.float(float), isExact: true) }
      let near = Float(value)
      return .value(.float(isLower ? near.nextDown : near.nextUp), isExact: false)
    case (.decimal, _): return decimal(number)
    default: return .unusable
    }
  }

  private static func wholeLimit(_ number: QueryNumber, _ isLower: Bool) -> StoredMatch {
    guard case .double(let value) = number else {
      return number.storedInteger.map { .value(.integer($0), isExact: true) } ?? .unusable
    }
    if value >= 0x1p63 { return isLower ? .nothing : .value(nil, isExact: false) }
    if value < -0x1p63 { return isLower ? .value(nil, isExact: false) : .nothing }
    return .value(.integer(Int64(value.rounded(isLower ? .up : .down))), isExact: false)
  }

  /// An inexact limit is moved outwards by more than the possible rounding error.
  private static func doubleLimit(_ number: QueryNumber, _ isLower: Bool) -> (Double, isExact: Bool) {
    switch number {
    case .double(let value): return (value, true)
    case .integer(let value):
      if let exact = Double(exactly: value) { return (exact, true) }
    case .decimal: break
    }
    return (isLower ? number.double.nextDown : number.double.nextUp, false)
  }

  // MARK: Either

  private static func date(_ seconds: Double) -> StoredMatch {
    .value(.date(Date(timeIntervalSinceReferenceDate: seconds)), isExact: true)
  }

  /// In comparisons with a decimal, a double counts as its printed form, within the range of decimals.
  private static func decimal(_ number: QueryNumber) -> StoredMatch {
    switch number {
    case .integer(let value): return .value(.decimal(Decimal(value)), isExact: true)
    case .decimal(let value): return .value(.decimal(value), isExact: true)
    case .double(let value):
      if value.isNaN { return .value(.decimal(.nan), isExact: true) }
      guard value.isFinite, abs(value) < 1e60, let decimal = Decimal(string: value.description) else {
        return .unusable
      }
      return .value(.decimal(decimal), isExact: false)
    }
  }
}

extension QueryNumber {
  /// The number if it is a 64-bit integer; nil for doubles.
  fileprivate var storedInteger: Int64? {
    if case .double = self { return nil }
    return whole.flatMap { Int64(exactly: $0) }
  }
}
