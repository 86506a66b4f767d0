import KVCloneCore
import KVCloneModel
import KVCloneRecords

/// A comparison of one of an object's own attributes with a constant, on the bytes of its record: neither becomes a
/// value. It has the result of ``QueryEvaluator``, or leaves the decision to it.
struct RecordTest: Sendable {
  private let code: UInt16
  private let comparison: FieldTest.Comparison
  private let holdsForNil: Bool
  /// The UTF-8 of a text constant.
  let text: [UInt8]

  /// Nil for other comparisons.
  init?(_ left: QueryTerm, _ operation: QueryComparison.Operator, _ right: QueryTerm) {
    guard let constant = right.constant, let column = left.ownColumn else { return nil }
    self.init(column, operation, constant, holdsForNil: operation == .notEqual)
  }

  /// A test for objects with an attribute that sorts after a value; `isBehindEqual`: including equal ones. If it does
  /// not hold, an object may sort after the value nevertheless. Nil if records cannot decide.
  init?(behind value: QueryValue, _ order: CompiledRequest.Order, isBehindEqual: Bool) {
    guard order.options.isEmpty, let column = order.term.ownColumn else { return nil }
    if value.isNull {
      // Everything but nil is greater, and nothing is less.
      guard order.ascending else { return nil }
      self.init(column.code, .anything, holdsForNil: isBehindEqual)
    } else if order.ascending {
      self.init(column, isBehindEqual ? .greaterThanOrEqual : .greaterThan, value, holdsForNil: false)
    } else {
      self.init(column, isBehindEqual ? .lessThanOrEqual : .lessThan, value, holdsForNil: true)
    }
  }

  private init(_ code: UInt16, _ comparison: FieldTest.Comparison, holdsForNil: Bool, text: [UInt8] = []) {
    self.code = code
    self.comparison = comparison
    self.holdsForNil = holdsForNil
    self.text = text
  }

  private init?(
    _ column: QueryColumn, _ operation: QueryComparison.Operator, _ constant: QueryValue, holdsForNil: Bool
  ) {
    let comparison: FieldTest.Comparison
    var text: [UInt8] = []
    switch column.type {
    case .boolean, .integer16, .integer32, .integer64:
      guard let integers = Self.integers(operation, constant) else { return nil }
      comparison = integers
    case .double, .float:
      guard let number = constant.number.flatMap({ Self.double($0) }), let relation = FieldTest.Relation(operation),
        relation != .beginning
      else { return nil }
      comparison = .doubles(relation, number)
    case .date:
      guard case .date(let seconds) = constant, !seconds.isNaN, let relation = FieldTest.Relation(operation),
        relation != .beginning
      else { return nil }
      comparison = .doubles(relation, seconds)
    case .string, .uri:
      guard case .string(let constant) = constant, let relation = FieldTest.Relation(operation) else { return nil }
      comparison = .text(relation)
      text = Array(constant.utf8)
    default: return nil
    }
    self.init(column.code, comparison, holdsForNil: holdsForNil, text: text)
  }

  /// The test for records of one layout; nil if those cannot decide it.
  ///
  /// - Parameter text: ``text``, in memory that stays valid while the result is used.
  func test(of layout: RecordLayout, text: UnsafeRawBufferPointer) -> FieldTest? {
    FieldTest(layout, property: code, comparison, holdsForNil: holdsForNil, text: text)
  }

  /// Whether it holds for the object of a record; nil if the record cannot decide it.
  func holds(_ view: borrowing RecordView) -> Bool? {
    text.withUnsafeBytes { test(of: view.layout, text: $0)?.holds(view) }
  }

  // MARK: Numbers

  private static func integers(
    _ operation: QueryComparison.Operator, _ constant: QueryValue
  ) -> FieldTest.Comparison? {
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

  /// A constant that a double represents exactly; nil for others.
  private static func double(_ number: QueryNumber) -> Double? {
    switch number {
    case .integer(let value): Double(exactly: value)
    case .double(let value): value.isNaN ? nil : value
    case .decimal: nil
    }
  }
}

extension QueryTerm {
  /// The attribute, if the term is a stored attribute of the tested object, and not a composite.
  var ownColumn: QueryColumn? {
    guard case .attribute(let owner, let column) = node, case .current = owner.node, column.composite == nil else {
      return nil
    }
    return column
  }
}

extension FieldTest.Relation {
  /// Nil for operators with other comparisons.
  fileprivate init?(_ operation: QueryComparison.Operator) {
    switch operation {
    case .equal: self = .equal
    case .notEqual: self = .notEqual
    case .lessThan: self = .less
    case .lessThanOrEqual: self = .lessOrEqual
    case .greaterThan: self = .greater
    case .greaterThanOrEqual: self = .greaterOrEqual
    case .beginsWith: self = .beginning
    default: return nil
    }
  }
}
