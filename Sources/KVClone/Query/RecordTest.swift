import Foundation
import KVCloneModel
import KVCloneRecords

/// A comparison of one of an object's own attributes with a constant, decided on the bytes of its record: no value is made
/// of either. It answers what ``QueryEvaluator`` would, or leaves the question to it.
struct RecordTest: Sendable {
  private let code: UInt16
  private let comparison: Comparison

  private enum Comparison: Sendable {
    /// Whole numbers and truth values within bounds, both included; empty where the lower one is above the upper.
    case integers(lower: Int64, upper: Int64)
    case notInteger(Int64)
    /// Of doubles, floats and dates. The constant is not NaN.
    case doubles(QueryComparison.Operator, Double)
    /// UTF-8, compared by its bytes, which is by code points.
    case text(QueryComparison.Operator, [UInt8])
  }

  /// nil where the comparison is of something else.
  init?(_ left: QueryTerm, _ operation: QueryComparison.Operator, _ right: QueryTerm) {
    guard let constant = right.constant, case .attribute(let owner, let column) = left.node,
      case .current = owner.node, column.composite == nil
    else { return nil }
    code = column.code
    switch column.type {
    case .boolean, .integer16, .integer32, .integer64:
      guard let comparison = Self.integers(operation, constant) else { return nil }
      self.comparison = comparison
    case .double, .float:
      guard let number = constant.number.flatMap({ Self.double($0) }), Self.isOfNumbers(operation) else { return nil }
      comparison = .doubles(operation, number)
    case .date:
      guard case .date(let seconds) = constant, !seconds.isNaN, Self.isOfNumbers(operation) else { return nil }
      comparison = .doubles(operation, seconds)
    case .string, .uri:
      guard case .string(let text) = constant else { return nil }
      switch operation {
      case .equal, .notEqual, .lessThan, .lessThanOrEqual, .greaterThan, .greaterThanOrEqual, .beginsWith: break
      default: return nil
      }
      comparison = .text(operation, Array(text.utf8))
    default: return nil
    }
  }

  /// Whether it holds for the object of a record; nil where the record cannot tell.
  @inline(__always)
  func holds(_ view: borrowing RecordView) -> Bool? {
    guard let field = view.layout.fieldIndex(ofProperty: code) else { return nil }
    if view.isNull(field) {
      switch comparison {
      case .integers: return false
      case .notInteger: return true
      case .doubles(let operation, _), .text(let operation, _): return operation == .notEqual
      }
    }
    switch comparison {
    case .integers(let lower, let upper):
      guard let number = Self.integer(view, field) else { return nil }
      return number >= lower && number <= upper
    case .notInteger(let other): return Self.integer(view, field).map { $0 != other }
    case .doubles(let operation, let other):
      let number: Double
      switch view.layout.kind(field) {
      case .double: number = view.double(field)
      case .float: number = Double(view.float(field))
      case .date: number = view.seconds(field)
      default: return nil
      }
      return Self.compare(number, operation, other)
    case .text(let operation, let other):
      guard view.layout.kind(field) == .string || view.layout.kind(field) == .uri else { return nil }
      return view.variableBytes(field).withUnsafeBytes { Self.compare($0, operation, other) }
    }
  }

  // MARK: Numbers

  private static func integers(_ operation: QueryComparison.Operator, _ constant: QueryValue) -> Comparison? {
    if operation == .between {
      let bounds = constant.elements
      guard bounds.count == 2, case .integer(let lower)? = bounds[0].number,
        case .integer(let upper)? = bounds[1].number
      else { return nil }
      return .integers(lower: lower, upper: upper)
    }
    guard case .integer(let number)? = constant.number else { return nil }
    switch operation {
    case .equal: return .integers(lower: number, upper: number)
    case .notEqual: return .notInteger(number)
    case .lessThan: return number == .min ? .integers(lower: 0, upper: -1) : .integers(lower: .min, upper: number - 1)
    case .lessThanOrEqual: return .integers(lower: .min, upper: number)
    case .greaterThan:
      return number == .max ? .integers(lower: 0, upper: -1) : .integers(lower: number + 1, upper: .max)
    case .greaterThanOrEqual: return .integers(lower: number, upper: .max)
    default: return nil
    }
  }

  /// A constant that a double holds without rounding; nil for others.
  private static func double(_ number: QueryNumber) -> Double? {
    switch number {
    case .integer(let value): Double(exactly: value)
    case .double(let value): value.isNaN ? nil : value
    case .decimal: nil
    }
  }

  private static func isOfNumbers(_ operation: QueryComparison.Operator) -> Bool {
    switch operation {
    case .equal, .notEqual, .lessThan, .lessThanOrEqual, .greaterThan, .greaterThanOrEqual: true
    default: false
    }
  }

  @inline(__always)
  private static func integer(_ view: borrowing RecordView, _ field: Int) -> Int64? {
    switch view.layout.kind(field) {
    case .boolean: view.boolean(field) ? 1 : 0
    case .integer16: Int64(view.integer16(field))
    case .integer32: Int64(view.integer32(field))
    case .integer64: view.integer64(field)
    default: nil
    }
  }

  private static func compare(_ left: Double, _ operation: QueryComparison.Operator, _ right: Double) -> Bool {
    switch operation {
    case .equal: left == right
    case .notEqual: left != right
    case .lessThan: left < right
    case .lessThanOrEqual: left <= right
    case .greaterThan: left > right
    default: left >= right
    }
  }

  // MARK: Texts

  private static func compare(
    _ left: UnsafeRawBufferPointer, _ operation: QueryComparison.Operator, _ right: [UInt8]
  ) -> Bool {
    let common = min(left.count, right.count)
    let order = right.withUnsafeBytes { right in
      guard common > 0, let left = left.baseAddress, let right = right.baseAddress else { return Int32(0) }
      return memcmp(left, right, common)
    }
    switch operation {
    case .equal: return left.count == right.count && order == 0
    case .notEqual: return left.count != right.count || order != 0
    case .beginsWith: return left.count >= right.count && order == 0
    case .lessThan: return order < 0 || order == 0 && left.count < right.count
    case .lessThanOrEqual: return order < 0 || order == 0 && left.count <= right.count
    case .greaterThan: return order > 0 || order == 0 && left.count > right.count
    default: return order > 0 || order == 0 && left.count >= right.count
    }
  }
}
