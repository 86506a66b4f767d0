import KVCloneCore
import KVCloneModel

/// The condition of one part on the targets of a relationship: `bag.title == 'x'`, `ANY tags.name == 'x'`, `tags.name
/// CONTAINS 'x'`, `SUBQUERY(tags, $t, $t.name == 'x').@count > 0`.
///
/// An object for which the part holds has at least one target for which all of ``inner`` holds; the reverse need not be
/// true.
struct LinkedTest {
  let link: QueryLink
  /// The conditions on the target, as its own.
  let inner: [ColumnTest]

  /// Nil for other conditions, and for those that may hold without a target.
  init?(_ condition: QueryCondition) {
    guard case .comparison(let test) = condition,
      let (link, inner) = Self.ofSubquery(test) ?? Self.ofMember(test) ?? Self.ofPath(test)
    else { return nil }
    self.link = link
    self.inner = inner
  }

  /// Adds further conditions on the only target of a to-one relationship.
  init(_ link: QueryLink, _ inner: [ColumnTest]) {
    self.link = link
    self.inner = inner
  }

  // MARK: Forms

  /// `bag.title == 'x'`, `'x' == bag.title`, `ANY tags.name == 'x'`.
  private static func ofPath(_ test: QueryTest) -> (QueryLink, [ColumnTest])? {
    guard let (link, left, right) = linked(test.left, test.right) else { return nil }
    guard test.modifier == (link.isToMany ? .any : .direct),
      let inner = ColumnTest(left, test.operator, right, test.options)
    else { return nil }
    // Without a target, a to-one path is nil, which may be searched for. A to-many path is empty.
    return link.isToMany || !inner.value.hasNull ? (link, [inner]) : nil
  }

  private static func linked(_ left: QueryTerm, _ right: QueryTerm) -> (QueryLink, QueryTerm, QueryTerm)? {
    if let (link, moved) = left.movedBehindLink { return (link, moved, right) }
    return right.movedBehindLink.map { ($0.0, left, $0.1) }
  }

  /// `tags.name CONTAINS 'x'`, `'x' IN tags.name`.
  private static func ofMember(_ test: QueryTest) -> (QueryLink, [ColumnTest])? {
    guard test.modifier == .direct else { return nil }
    let (list, sought) = test.operator == .in ? (test.right, test.left) : (test.left, test.right)
    guard test.operator == .in || test.operator == .contains, list.isList,
      let (link, moved) = list.movedBehindLink, link.isToMany,
      let inner = ColumnTest(moved, .equal, sought, test.options)
    else { return nil }
    return (link, [inner])
  }

  /// A subquery that must not be empty.
  private static func ofSubquery(_ test: QueryTest) -> (QueryLink, [ColumnTest])? {
    guard test.modifier == .direct, case .collection(.count, let list) = test.left.node,
      case .subquery(let members, let depth, let condition) = list.node,
      case .relationship(let owner, let link) = members.node, case .current = owner.node,
      let count = test.right.constant, !test.operator.mayHold(forNoneAnd: count)
    else { return nil }
    return (link, condition.parts.compactMap { $0.test(ofElement: depth) })
  }
}

extension QueryValue {
  /// Whether the value, or one of the list, is nil.
  fileprivate var hasNull: Bool { isNull || elements.contains(where: \.isNull) }
}

extension QueryComparison.Operator {
  /// Whether comparing the number 0 with a constant may be true.
  fileprivate func mayHold(forNoneAnd constant: QueryValue) -> Bool {
    let none = QueryValue.integer(0)
    switch self {
    case .equal: return none.isEqual(to: constant)
    case .notEqual: return !none.isEqual(to: constant)
    case .greaterThan: return none.order(against: constant) == .greater
    case .greaterThanOrEqual: return [.greater, .same].contains(none.order(against: constant))
    default: return true
    }
  }
}

extension QueryCondition {
  /// The condition of a direct comparison on the member of the subquery at this depth; nil for other conditions.
  fileprivate func test(ofElement depth: Int) -> ColumnTest? {
    func isElement(_ term: QueryTerm) -> Bool {
      if case .element(depth) = term.node { return true }
      return false
    }
    guard case .comparison(let test) = self, test.modifier == .direct else { return nil }
    if let left = test.left.moved(isElement) { return ColumnTest(left, test.operator, test.right, test.options) }
    return test.right.moved(isElement).flatMap { ColumnTest(test.left, test.operator, $0, test.options) }
  }
}

extension QueryTerm {
  /// A relationship of the tested object, and the term for its targets, as their own; nil for other terms.
  fileprivate var movedBehindLink: (QueryLink, QueryTerm)? {
    var link: QueryLink?
    let moved = moved { term in
      guard case .relationship(let owner, let found) = term.node, case .current = owner.node else { return false }
      link = found
      return true
    }
    guard let moved, let link else { return nil }
    return (link, moved)
  }

  /// The same stored value, or folded text of one, with the tested object as its owner; nil for other owners.
  fileprivate func moved(_ isOwner: (QueryTerm) -> Bool) -> QueryTerm? {
    switch node {
    case .attribute(let owner, let column) where isOwner(owner):
      return QueryTerm(.attribute(of: owner.asCurrent, column), kind.element)
    case .relationship(let owner, let link) where isOwner(owner) && !link.isToMany:
      return QueryTerm(.relationship(of: owner.asCurrent, link), kind.element)
    case .function(.canonical, let arguments) where arguments.count == 1 && !arguments[0].isList:
      return arguments[0].moved(isOwner).map { QueryTerm(.function(.canonical, [$0]), kind) }
    default: return nil
    }
  }

  private var asCurrent: QueryTerm { QueryTerm(.current, kind.element) }
}
