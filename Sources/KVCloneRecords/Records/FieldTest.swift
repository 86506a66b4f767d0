/// A comparison of one field of a layout's records with a constant, on a record's bytes: neither becomes a value.
///
/// Stores the field's offset, so that nothing is looked up for each record. The text of a constant belongs to the
/// test's creator, and has to stay valid during the test's life.
package struct FieldTest {
  /// The condition for a value that is not nil.
  package enum Comparison: Sendable {
    /// Integers and booleans within inclusive bounds; nothing if the lower one is above the upper.
    case integers(lower: Int64, upper: Int64)
    case notInteger(Int64)
    /// Doubles, floats and dates; the constant is not NaN.
    case doubles(Relation, Double)
    /// UTF-8, compared by bytes, which is by code points.
    case text(Relation)
    /// No condition: holds for every value but nil.
    case anything
  }

  /// The relation of a value to the constant.
  package enum Relation: Sendable {
    case equal, notEqual, less, lessOrEqual, greater, greaterOrEqual
    /// The value begins with the constant; for texts only.
    case beginning
  }

  private let comparison: Comparison
  private let holdsForNil: Bool
  private let field: RecordField
  private let text: UnsafeRawBufferPointer

  /// Nil if records of the layout do not have the property, or not as a value that is compared this way.
  package init?(
    _ layout: RecordLayout, property: UInt16, _ comparison: Comparison, holdsForNil: Bool, text: UnsafeRawBufferPointer
  ) {
    guard let field = RecordField(layout, property: property) else { return nil }
    switch (comparison, field.kind) {
    case (.integers, .boolean), (.integers, .integer16), (.integers, .integer32), (.integers, .integer64): break
    case (.notInteger, .boolean), (.notInteger, .integer16), (.notInteger, .integer32), (.notInteger, .integer64): break
    case (.doubles, .double), (.doubles, .float), (.doubles, .date): break
    case (.text, .string), (.text, .uri): break
    case (.anything, let kind) where kind.hasNullBit: break
    default: return nil
    }
    self.comparison = comparison
    self.holdsForNil = holdsForNil
    self.text = text
    self.field = field
  }

  /// Whether all of these tests, of the record's layout, hold for the record.
  package static func allHold(_ tests: UnsafeBufferPointer<FieldTest>, _ view: borrowing RecordView) -> Bool {
    for index in 0..<tests.count where !tests[index].holds(view.base, view.variableStart) { return false }
    return true
  }

  /// Whether it holds for a record of the test's layout.
  package func holds(_ view: borrowing RecordView) -> Bool { holds(view.base, view.variableStart) }

  /// Whether it tests a text.
  package var isOfText: Bool {
    if case .text = comparison { return true }
    return false
  }

  /// Whether it reads only within so many variable bytes; the fixed slots exist.
  @inline(__always)
  func isWithin(_ base: UnsafeRawPointer, _ length: Int) -> Bool {
    guard isOfText else { return true }
    return field.isWithin(base, length)
  }

  /// Tests a record's bytes; its variable ones start at an offset.
  @inline(__always)
  func holds(_ base: UnsafeRawPointer, _ variableStart: Int) -> Bool {
    if field.isNull(base) { return holdsForNil }
    switch comparison {
    case .integers(let lower, let upper):
      let number = field.integer(base)
      return number >= lower && number <= upper
    case .notInteger(let other): return field.integer(base) != other
    case .doubles(let relation, let other): return Self.compare(field.double(base), relation, other)
    case .text(let relation): return Self.compare(field.bytes(base, variableStart), relation, text)
    case .anything: return true
    }
  }

  // MARK: Comparisons

  @inline(__always)
  private static func compare(_ left: Double, _ relation: Relation, _ right: Double) -> Bool {
    switch relation {
    case .equal: left == right
    case .notEqual: left != right
    case .less: left < right
    case .lessOrEqual: left <= right
    case .greater: left > right
    case .greaterOrEqual: left >= right
    case .beginning: false
    }
  }

  private static func compare(
    _ left: UnsafeRawBufferPointer, _ relation: Relation, _ right: UnsafeRawBufferPointer
  ) -> Bool {
    let common = min(left.count, right.count)
    if relation == .equal, left.count != right.count { return false }
    let order = order(left, right, common)
    switch relation {
    case .equal: return order == 0
    case .notEqual: return left.count != right.count || order != 0
    case .less: return order < 0 || order == 0 && left.count < right.count
    case .lessOrEqual: return order < 0 || order == 0 && left.count <= right.count
    case .greater: return order > 0 || order == 0 && left.count > right.count
    case .greaterOrEqual: return order > 0 || order == 0 && left.count >= right.count
    case .beginning: return left.count >= right.count && order == 0
    }
  }

  /// Compares the first `count` bytes: most texts differ within the first word.
  @inline(__always)
  private static func order(_ left: UnsafeRawBufferPointer, _ right: UnsafeRawBufferPointer, _ count: Int) -> Int {
    guard count > 0, let left = left.baseAddress, let right = right.baseAddress else { return 0 }
    var index = 0
    while index &+ 8 <= count {
      let (a, b) = ((left + index).loadUnaligned(as: UInt64.self), (right + index).loadUnaligned(as: UInt64.self))
      if a != b { return a.bigEndian < b.bigEndian ? -1 : 1 }
      index &+= 8
    }
    while index < count {
      let (a, b) = (left.load(fromByteOffset: index, as: UInt8.self), right.load(fromByteOffset: index, as: UInt8.self))
      if a != b { return a < b ? -1 : 1 }
      index &+= 1
    }
    return 0
  }
}
