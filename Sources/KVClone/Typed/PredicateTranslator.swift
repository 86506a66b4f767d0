import Foundation
import KVCloneCore
import KVCloneModel

/// Translates Foundation's predicates to the store's own.
///
/// Each supported kind of expression conforms to ``TranslatableExpression``. Other kinds are an error: nothing is
/// evaluated on objects in memory.
struct PredicateTranslator {
  private let entity: String
  /// The meaning of each variable: the tested object, a member, or the unwrapped value of an optional chain.
  private var variables: [PredicateExpressions.VariableID: QueryExpression] = [:]
  private var lastMember = 0

  private init(entity: String) { self.entity = entity }

  /// - Throws: `invalidPredicate`.
  static func translate<Fields: EntityFields>(_ predicate: Foundation.Predicate<Fields>, entity: String)
    throws(StoreError) -> QueryPredicate
  {
    var translator = Self(entity: entity)
    translator.variables[predicate.variable.key] = .`self`
    return try translator.truth(predicate.expression)
  }

  /// Translates a part of the predicate.
  mutating func translate(_ expression: any PredicateExpression) throws(StoreError) -> TranslatedExpression {
    guard let translatable = expression as? any TranslatableExpression else {
      let name = "\(type(of: expression))".prefix { $0 != "<" }
      throw invalid("the store does not support \(name)")
    }
    return try translatable.translated(&self)
  }

  /// Translates a part to a condition.
  mutating func truth(_ expression: any PredicateExpression) throws(StoreError) -> QueryPredicate {
    try translate(expression).predicate
  }

  /// Translates a part to a value.
  mutating func value(_ expression: any PredicateExpression) throws(StoreError) -> QueryExpression {
    guard let value = try translate(expression).expression else {
      throw invalid("a range is used in place of a value")
    }
    return value
  }

  func variable(_ id: PredicateExpressions.VariableID) throws(StoreError) -> QueryExpression {
    guard let value = variables[id] else { throw invalid("a variable is used outside its scope") }
    return value
  }

  mutating func bind(_ id: PredicateExpressions.VariableID, to value: QueryExpression) { variables[id] = value }

  /// Returns the variable for the members of a subquery.
  mutating func bindMember(_ id: PredicateExpressions.VariableID) -> String {
    lastMember += 1
    let name = "x\(lastMember)"
    variables[id] = .variable(name)
    return name
  }

  /// - Throws: `invalidPredicate` for a type that Swift may order differently than the store.
  func checkOrder(of type: Any.Type) throws(StoreError) {
    if !StoreOrder.isKnown(of: type) {
      throw invalid("the store does not support the order of type \(type)")
    }
  }

  func invalid(_ message: String) -> StoreError {
    StoreError(
      .invalidPredicate, "the predicate cannot be translated: \(message); write it in the predicate language",
      entity: entity)
  }
}

/// An expression of Foundation's predicates with an equivalent in the store's language.
protocol TranslatableExpression {
  func translated(_ translator: inout PredicateTranslator) throws(StoreError) -> TranslatedExpression
}

/// The translation of a part of a predicate.
enum TranslatedExpression {
  case value(QueryExpression)
  case truth(QueryPredicate)
  /// A boolean that may be nil, as for optional chains: whether it is true, which is meaningless if `isNil` holds.
  case optionalTruth(QueryPredicate, isNil: QueryPredicate)
  /// A range; missing bounds are nil.
  case range(lower: QueryExpression?, upper: QueryExpression?, isClosed: Bool)

  /// The translation as a condition. nil is not true.
  var predicate: QueryPredicate {
    switch self {
    case .truth(let predicate): predicate
    case .optionalTruth(let predicate, let isNil):
      .all(isNil.isImpossible(where: predicate) ? [] : [.not(isNil)], predicate)
    case .value(.constant(.value(.boolean(let flag)))): .constant(flag)
    case .value(let expression): .comparison(QueryComparison(expression, .equal, .constant(.value(.boolean(true)))))
    case .range: .constant(false)
    }
  }

  /// The translation as a value; nil for a range.
  var expression: QueryExpression? {
    let (yes, no) = (
      QueryExpression.constant(.value(.boolean(true))), QueryExpression.constant(.value(.boolean(false)))
    )
    switch self {
    case .value(let expression): return expression
    case .truth(let predicate): return .conditional(predicate, yes, no)
    case .optionalTruth(let predicate, let isNil):
      return .conditional(isNil, .constant(.null), .conditional(predicate, yes, no))
    case .range: return nil
    }
  }

  /// The constant boolean or nil; nil for other translations.
  var constantTruth: Bool?? {
    switch self {
    case .value(.constant(.value(.boolean(let flag)))), .truth(.constant(let flag)): .some(flag)
    case .value(.constant(.null)): .some(nil)
    default: nil
    }
  }
}

extension QueryPredicate {
  /// `a AND b AND c` as one condition.
  static func all(_ parts: [QueryPredicate], _ last: QueryPredicate) -> QueryPredicate {
    let flat = (parts + [last]).flatMap { part in
      if case .and(let inner) = part { inner } else { [part] }
    }
    return flat.count == 1 ? flat[0] : .and(flat)
  }

  /// `a OR b OR c` as one condition.
  static func any(_ parts: [QueryPredicate]) -> QueryPredicate {
    let flat = parts.flatMap { part in
      if case .or(let inner) = part { inner } else { [part] }
    }
    return flat.count == 1 ? flat[0] : .or(flat)
  }

  static func isNil(_ value: QueryExpression) -> QueryPredicate {
    .comparison(QueryComparison(value, .equal, .constant(.null)))
  }

  /// Whether this test for nil is false wherever `other` is true, because `other` compares the same value, or one
  /// behind it, in a way that nil never fulfils.
  fileprivate func isImpossible(where other: QueryPredicate) -> Bool {
    guard case .comparison(let mine) = self, mine.operator == .equal, mine.right == .constant(.null),
      case .comparison(let its) = other, its.modifier == .direct, its.right.isKnownValue
    else { return false }
    switch its.operator {
    case .notEqual, .in: return false
    default: return its.left.isReached(through: mine.left)
    }
  }
}

extension QueryExpression {
  /// Whether it is a constant other than nil.
  var isKnownValue: Bool {
    switch self {
    case .constant(.null): false
    case .constant: true
    default: false
    }
  }

  /// Whether the value is equal to another, or a property behind it, so that it is nil if the other is.
  fileprivate func isReached(through other: QueryExpression) -> Bool {
    if self == other { return true }
    guard case .keyPath(let base, let names) = self else { return false }
    if case .keyPath(base, let first) = other { return names.starts(with: first) }
    return base == other
  }

  /// Whether the value is nil wherever another is: the same, one behind it, or a function of a nil argument.
  func isNil(with other: QueryExpression) -> Bool {
    if isReached(through: other) { return true }
    switch self {
    case .constant(.null): return true
    case .keyPath(let base, _): return base.isNil(with: other)
    case .function(_, let arguments): return arguments.contains { $0.isNil(with: other) }
    case .index(let list, _): return list.isNil(with: other)
    default: return false
    }
  }

  /// A property of the object that this expression yields.
  func property(_ name: String) -> QueryExpression {
    if case .keyPath(let base, let names) = self { return .keyPath(base, names + [name]) }
    return .keyPath(self, [name])
  }
}
