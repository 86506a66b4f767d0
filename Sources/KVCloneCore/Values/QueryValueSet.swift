import Foundation
import KVCloneModel

/// Distinct values in insertion order.
package struct QueryValueSet {
  private(set) var values: [QueryValue] = []
  /// By a digest that equal values share.
  private var places: [Int: [Int]] = [:]

  package init(_ values: [QueryValue] = []) {
    for value in values { insert(value) }
  }

  func contains(_ value: QueryValue) -> Bool {
    places[value.equalityDigest]?.contains { values[$0].isEqual(to: value) } ?? false
  }

  mutating func insert(_ value: QueryValue) { _ = place(of: value) }

  /// The index of the value, or of an equal one, in ``values``; adds it if it is new.
  package mutating func place(of value: QueryValue) -> Int {
    let hash = value.equalityDigest
    if let known = places[hash]?.first(where: { values[$0].isEqual(to: value) }) { return known }
    places[hash, default: []].append(values.count)
    values.append(value)
    return values.count - 1
  }
}

extension QueryValue {
  /// A number that equal values share, and others only by chance: from the standard hasher over everything that
  /// distinguishes values. Its seed differs in each process, so users of an app cannot choose values that collide.
  var equalityDigest: Int {
    var hasher = Hasher()
    feed(&hasher)
    return hasher.finalize()
  }

  private func feed(_ hasher: inout Hasher) {
    switch self {
    case .null: hasher.combine(0)
    case .boolean, .integer, .double, .decimal: number?.feed(&hasher)
    // By bytes: the text's own hash is equal for all canonically equivalent spellings, of which there may be any
    // number.
    case .string(let text): hasher.combine(bytesOf: text)
    case .date(let seconds): hasher.combine(seconds)
    case .uuid(let uuid): hasher.combine(uuid)
    case .binary(let data): hasher.combine(bytesOf: data)
    case .object(let id): hasher.combine(id)
    case .other(.composite(let elements)):
      for (name, value) in elements.sorted(by: { $0.key < $1.key }) {
        hasher.combine(name)
        QueryValue(value).feed(&hasher)
      }
    case .other(let value): hasher.combine(value)
    case .list(let values):
      hasher.combine(values.count)
      for value in values { value.feed(&hasher) }
    }
  }
}

extension QueryNumber {
  /// By the number's digits, which are the same for equal numbers of all types; doubles, including NaN, count as their
  /// printed form.
  fileprivate func feed(_ hasher: inout Hasher) {
    if isNaN { return hasher.combine(1) }
    switch self {
    case .integer(let value): hasher.combine(value)
    case .double(let value):
      if let whole = Int64(exactly: value) { return hasher.combine(whole) }
      guard let digits = DecimalText(value.description) else { return hasher.combine(value) }
      hasher.combine(digits)
    case .decimal(let value):
      guard let digits = DecimalText(value.description) else { return hasher.combine(2) }
      if digits.isWhole, let whole = digits.whole { return hasher.combine(whole) }
      hasher.combine(digits)
    }
  }
}
