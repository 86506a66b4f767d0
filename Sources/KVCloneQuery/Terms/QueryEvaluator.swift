package import KVCloneCore
package import KVCloneModel
package import KVCloneRecords

/// Evaluates the conditions and expressions of one request on objects, one after the other.
///
/// Values are those of the session's state. Only the used properties of an object are read; the members of a list are
/// evaluated one by one, until the result is known.
package final class QueryEvaluator {
  let schema: Schema
  /// The current members of the enclosing subqueries, outermost first.
  var elements: [ObjectID] = []
  /// The values of the current group: see ``QueryGrouping``.
  var places: [QueryValue] = []
  private var patterns = TextPatterns()

  package init(_ schema: Schema) {
    self.schema = schema
  }

  /// Whether a condition holds for an object.
  package func holds(
    _ condition: QueryCondition, _ id: ObjectID, _ view: borrowing RecordView, _ session: borrowing Session
  ) throws(StoreError) -> Bool {
    switch condition {
    case .constant(let value): return value
    case .not(let other): return try !holds(other, id, view, session)
    case .all(let parts):
      for part in parts where try !holds(part, id, view, session) { return false }
      return true
    case .any(let parts):
      for part in parts where try holds(part, id, view, session) { return true }
      return false
    case .comparison(let test):
      if let answer = test.onRecord?.holds(view) { return answer }
      return try holds(test, id, view, session)
    }
  }

  private func holds(
    _ test: QueryTest, _ id: ObjectID, _ view: borrowing RecordView, _ session: borrowing Session
  ) throws(StoreError) -> Bool {
    switch test.modifier {
    case .direct: return try holdsDirectly(test, id, view, session)
    case .any: return try someElement(test, id, view, session, is: true)
    case .none: return try !someElement(test, id, view, session, is: true)
    case .all: return try !someElement(test, id, view, session, is: false)
    }
  }

  /// Whether the comparison is `wanted` for some element of its left side.
  private func someElement(
    _ test: QueryTest, _ id: ObjectID, _ view: borrowing RecordView, _ session: borrowing Session, is wanted: Bool
  ) throws(StoreError) -> Bool {
    let right = try value(test.right, id, view, session)
    var found = false
    try forEachValue(test.left, id, view, session) { (left) throws(StoreError) in
      found = try matches(left, right, test) == wanted
      return !found
    }
    return found
  }

  private func holdsDirectly(
    _ test: QueryTest, _ id: ObjectID, _ view: borrowing RecordView, _ session: borrowing Session
  ) throws(StoreError) -> Bool {
    // Membership ends at the first equal member.
    if test.operator == .contains, test.left.isList {
      return try contains(test.left, try value(test.right, id, view, session), test.options, id, view, session)
    }
    if test.operator == .in, test.right.isList, test.right.constant == nil {
      return try contains(test.right, try value(test.left, id, view, session), test.options, id, view, session)
    }
    return try matches(
      try value(test.left, id, view, session), try value(test.right, id, view, session), test)
  }

  private func contains(
    _ list: QueryTerm, _ wanted: QueryValue, _ options: QueryComparison.Options, _ id: ObjectID,
    _ view: borrowing RecordView, _ session: borrowing Session
  ) throws(StoreError) -> Bool {
    var found = false
    try forEachValue(list, id, view, session) { (value) throws(StoreError) in
      found = Self.areEqual(value, wanted, options)
      return !found
    }
    return found
  }

  // MARK: Two values

  /// Compares two values. nil equals nil, differs from everything else, and is neither less nor greater, nor contained
  /// in anything.
  private func matches(_ left: QueryValue, _ right: QueryValue, _ test: QueryTest) throws(StoreError) -> Bool {
    let options = test.options
    switch test.operator {
    case .equal: return Self.areEqual(left, right, options)
    case .notEqual: return !Self.areEqual(left, right, options)
    case .lessThan: return Self.order(left, right, options) == .less
    case .greaterThan: return Self.order(left, right, options) == .greater
    case .lessThanOrEqual: return Self.order(left, right, options).map { $0 != .greater } ?? false
    case .greaterThanOrEqual: return Self.order(left, right, options).map { $0 != .less } ?? false
    case .between:
      let bounds = right.elements
      guard bounds.count == 2 else { return false }
      return Self.order(left, bounds[0], options).map { $0 != .less } ?? false
        && Self.order(left, bounds[1], options).map { $0 != .greater } ?? false
    case .in:
      if case .string(let text) = left, case .string(let whole) = right {
        return QueryText.contains(QueryText.folded(whole, options), QueryText.folded(text, options))
      }
      if case .list(let values) = right { return values.contains { Self.areEqual(left, $0, options) } }
      return false
    case .contains, .beginsWith, .endsWith, .like, .matches: return try matchesText(left, right, test)
    }
  }

  private func matchesText(_ left: QueryValue, _ right: QueryValue, _ test: QueryTest) throws(StoreError) -> Bool {
    if test.operator == .contains, case .list(let values) = left {
      return values.contains { Self.areEqual($0, right, test.options) }
    }
    guard case .string(let left) = left, case .string(let right) = right else { return false }
    let text = QueryText.folded(left, test.options)
    switch test.operator {
    case .like: return (test.like ?? LikePattern(QueryText.folded(right, test.options))).matches(text)
    case .matches:
      // Letter case has a meaning in patterns (\w and \W), so it is not folded there, but ignored.
      let diacritics = test.options.intersection(.diacriticInsensitive)
      let folded = QueryText.folded(right, diacritics)
      let pattern = test.options.contains(.caseInsensitive) ? "(?i)" + folded : folded
      let text = QueryText.folded(left, diacritics)
      return try patterns.matches(text, pattern)
    case .beginsWith: return QueryText.begins(text, with: QueryText.folded(right, test.options))
    case .endsWith: return QueryText.ends(text, with: QueryText.folded(right, test.options))
    default: return QueryText.contains(text, QueryText.folded(right, test.options))
    }
  }

  static func areEqual(_ left: QueryValue, _ right: QueryValue, _ options: QueryComparison.Options) -> Bool {
    if !options.isEmpty, case .string(let a) = left, case .string(let b) = right {
      return QueryText.folded(a, options).utf8.elementsEqual(QueryText.folded(b, options).utf8)
    }
    return left.isEqual(to: right)
  }

  static func order(_ left: QueryValue, _ right: QueryValue, _ options: QueryComparison.Options) -> QueryOrder? {
    if !options.isEmpty, case .string(let a) = left, case .string(let b) = right {
      return QueryValue.order(QueryText.folded(a, options), QueryText.folded(b, options))
    }
    return left.order(against: right)
  }
}
