import KVCloneCore
import KVCloneModel

/// The condition on one stored value of the tested object: `age > 5`, `5 < age`, `owner == Person/1`, `canonical:(name)
/// BEGINSWITH 'a'`.
struct ColumnTest {
  let key: ColumnKey
  let `operator`: QueryComparison.Operator
  /// The constant.
  let value: QueryValue

  /// Nil for other conditions.
  init?(_ condition: QueryCondition) {
    guard case .comparison(let test) = condition, test.modifier == .direct else { return nil }
    self.init(test.left, test.operator, test.right, test.options)
  }

  /// Creates a test from the sides of a comparison without ANY, ALL or NONE.
  init?(
    _ left: QueryTerm, _ operator: QueryComparison.Operator, _ right: QueryTerm, _ options: QueryComparison.Options
  ) {
    if let key = ColumnKey(left, options), let value = right.constant {
      (self.key, self.operator, self.value) = (key, `operator`, value.folded(as: key, options))
    } else if let key = ColumnKey(right, options), let value = left.constant, let turned = `operator`.turned {
      (self.key, self.operator, self.value) = (key, turned, value.folded(as: key, options))
    } else {
      return nil
    }
  }

  /// Whether a column of an index covers the test, possibly with additional objects.
  func concerns(_ column: RequestIndex.Column) -> Bool {
    guard column.code == key.code else { return false }
    if !column.isText { return key.form != .canonical }
    if column.isFolded == (key.form != .plain) { return key.form != .other }
    // Equal texts stay equal when they are folded.
    return column.isFolded && key.form == .plain && (`operator` == .equal || `operator` == .in)
  }
}

/// A stored value of the tested object, and the form of a text that is compared.
struct ColumnKey: Equatable {
  enum Form {
    case plain
    /// For comparisons that ignore case and diacritics.
    case folded
    /// For `canonical:(…)`, which returns the folded text.
    case canonical
    /// For comparisons that ignore only one of them, which no index supports.
    case other
  }

  let code: UInt16
  let form: Form

  init?(_ term: QueryTerm, _ options: QueryComparison.Options) {
    let options = options.subtracting(.normalized)
    var form: Form = options.isEmpty ? .plain : options == .foldedIndex ? .folded : .other
    var stored = term
    if case .function(.canonical, let arguments) = term.node, form == .plain, arguments.count == 1 {
      (stored, form) = (arguments[0], .canonical)
    }
    switch stored.node {
    case .attribute(let owner, let column):
      guard case .current = owner.node, column.composite == nil else { return nil }
      code = column.code
    case .relationship(let owner, let link):
      guard case .current = owner.node, !link.isToMany else { return nil }
      code = link.code
    default: return nil
    }
    self.form = form
  }
}

extension QueryComparison.Operator {
  /// The operator with exchanged sides; nil if it has no counterpart.
  fileprivate var turned: Self? {
    switch self {
    case .equal: .equal
    case .lessThan: .greaterThan
    case .lessThanOrEqual: .greaterThanOrEqual
    case .greaterThan: .lessThan
    case .greaterThanOrEqual: .lessThanOrEqual
    default: nil
    }
  }
}

extension QueryValue {
  /// A constant in the form of comparisons with these options.
  fileprivate func folded(as key: ColumnKey, _ options: QueryComparison.Options) -> QueryValue {
    guard key.form == .folded else { return self }
    switch self {
    case .string(let text): return .string(QueryText.folded(text, options))
    case .list(let values): return .list(values.map { $0.folded(as: key, options) })
    default: return self
    }
  }
}
