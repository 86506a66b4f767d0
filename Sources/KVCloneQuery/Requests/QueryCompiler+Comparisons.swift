import Foundation
import KVCloneCore
import KVCloneModel

/// Compiles comparisons: their sides, the conversion of constants, and the detection of mistakes.
extension QueryCompiler {
  mutating func test(_ comparison: QueryComparison) throws(StoreError) -> QueryTest {
    try check(comparison.options)
    return try test(try term(comparison.left), try term(comparison.right), comparison)
  }

  /// Compiles a comparison of two compiled sides.
  func test(
    _ left: QueryTerm, _ right: QueryTerm, _ comparison: QueryComparison
  ) throws(StoreError) -> QueryTest {
    var (left, right) = (left, right)
    if case .string? = left.constant, let list = ofOneKind(right), (try? adapted(left, to: list)) != nil {
      right = list
    }
    if case .string? = right.constant, let list = ofOneKind(left), (try? adapted(right, to: list)) != nil {
      left = list
    }
    right = try adapted(right, to: left, at: comparison.columns.right)
    left = try adapted(left, to: right, at: comparison.columns.left)
    try check(left, right, comparison)
    if case .null? = right.constant { left = left.withoutLargeValues }
    if case .null? = left.constant { right = right.withoutLargeValues }
    if comparison.operator == .matches, case .string(let pattern)? = right.constant, TextPattern(pattern) == nil {
      throw invalid("the regular expression of MATCHES cannot be parsed; check its brackets and escapes")
    }
    return QueryTest(left, comparison.operator, right, comparison.modifier, comparison.options)
  }

  func check(_ options: QueryComparison.Options, isSortKey: Bool = false) throws(StoreError) {
    if options.contains(.numeric), !isSortKey {
      throw invalid("[numeric] only applies to sort keys, not to comparisons; remove it")
    }
    if options.contains(.localeSensitive) {
      throw invalid("[l] compares by the rules of a locale, which a store does not have; remove it, or use [cd]")
    }
  }

  private func check(_ left: QueryTerm, _ right: QueryTerm, _ comparison: QueryComparison) throws(StoreError) {
    let isMembership = comparison.operator == .contains && left.isList && comparison.modifier == .direct
    if comparison.modifier != .direct {
      guard left.isList || left.isUnknown else {
        throw invalid(
          "ANY, ALL and NONE require a to-many key path on their left, and \(left.text) is a single value; remove the modifier"
        )
      }
    } else if left.isList, !isMembership {
      throw invalid(
        "\(left.text) is to-many; write ANY, ALL or NONE before it, or use a collection operator such as @count",
        left)
    }
    let takesList = comparison.operator == .in || comparison.operator == .between
    if right.isList, !takesList {
      throw invalid(
        "\(right.text) is to-many; put it on the left with ANY or ALL before it, or use IN", right)
    }
    let (mine, its) = (left.kind.element, right.kind.element)
    guard mine.fits(its) else {
      throw wrongType(
        left.path == nil ? right : left,
        "\(left.text) is \(mine.name) and cannot be compared with \(its.name); compare values of the same type")
    }
    switch comparison.operator {
    case .equal, .notEqual, .in: break
    case .contains where isMembership: break
    case .contains, .beginsWith, .endsWith, .like, .matches:
      guard mine.fits(.text), its.fits(.text) else {
        throw wrongType(
          left,
          "\(comparison.operator.rawValue) compares strings, and \(left.text) is \(mine.name); use another operator")
      }
    default:
      guard mine.isOrdered, its.isOrdered else {
        throw wrongType(left, "\(left.text) is \(mine.name), which has no order; use == or IN")
      }
    }
  }

  /// The same for a side with a column in the format, if there is one, which errors contain.
  private func adapted(_ term: QueryTerm, to other: QueryTerm, at column: Int) throws(StoreError) -> QueryTerm {
    do throws(StoreError) {
      return try adapted(term, to: other)
    } catch {
      if column == 0 { throw error }
      throw StoreError(
        error.kind, "column \(column): \(error.message)", entity: error.entity, property: error.property,
        object: error.object)
    }
  }

  /// Converts constants to the type that they are compared with: a UUID, a date and an object may be written as text.
  private func adapted(_ term: QueryTerm, to other: QueryTerm) throws(StoreError) -> QueryTerm {
    if case .list(let parts) = term.node {
      var others: [QueryTerm] = []
      for part in parts { others.append(try adapted(part, to: other)) }
      return QueryTerm(.list(others), others.first { !$0.isUnknown }.map { .list($0.kind.element) } ?? term.kind)
    }
    guard let value = term.constant else { return term }
    switch value {
    case .string, .list, .object: break
    default: return term
    }
    let converted = try adapted(value, to: other.kind.element, other)
    return QueryTerm(.constant(converted), QueryKind(converted))
  }

  /// Converts the texts of a list with UUIDs, dates or objects to the same type; nil for other terms. A text on the
  /// other side is then compared with all elements in the same way.
  private func ofOneKind(_ term: QueryTerm) -> QueryTerm? {
    func isWrittenAsText(_ kind: QueryKind) -> Bool {
      switch kind {
      case .uuid, .date, .object: true
      default: false
      }
    }
    switch term.node {
    case .list(let parts):
      guard let model = parts.first(where: { isWrittenAsText($0.kind.element) }) else { return nil }
      return QueryTerm(
        .list(parts.map { (try? adapted($0, to: model)) ?? $0 }), .list(model.kind.element))
    case .constant(.list(let values)):
      guard let kind = values.lazy.map({ QueryKind($0) }).first(where: isWrittenAsText) else { return nil }
      return QueryTerm(.constant(.list(values.map { (try? adapted($0, to: kind, term)) ?? $0 })), .list(kind))
    default: return nil
    }
  }

  private func adapted(_ value: QueryValue, to kind: QueryKind, _ other: QueryTerm) throws(StoreError) -> QueryValue {
    switch (value, kind) {
    case (.list(let values), _):
      var others: [QueryValue] = []
      for value in values { others.append(try adapted(value, to: kind, other)) }
      return .list(others)
    case (.string(let text), .uuid):
      guard let uuid = UUID(uuidString: text) else {
        throw wrongType(
          other, "a UUID is compared with a string that is not a UUID; write 8-4-4-4-12 hexadecimal digits")
      }
      return .uuid(uuid)
    case (.string(let text), .date):
      switch CalendarText.read(text) {
      case .success(let seconds): return .date(seconds)
      case .failure(let problem):
        throw wrongType(
          other, "a date is compared with a string that is not a date: \(problem); write it as 2026-01-31T12:00:00Z")
      }
    case (.string(let text), .object):
      guard let (id, _) = try? schema.parse(text, storeUUID: storeUUID) else {
        throw wrongType(
          other, "an object is compared with a string that is not the name of an object; write Entity/serial")
      }
      return .object(id)
    default: return value
    }
  }
}

extension QueryTerm {
  /// The same term for a comparison with nil only.
  fileprivate var withoutLargeValues: QueryTerm {
    guard case .attribute(let owner, let column) = node, column.readsLargeValues else { return self }
    return QueryTerm(.attribute(of: owner, QueryColumn(withoutLargeValues: column)), kind)
  }
}
