import Foundation
import KVCloneCore
import KVCloneModel

// What is true or false: logic, equality, order, optionals.

extension PredicateExpressions.Conjunction: TranslatableExpression {
  func translated(_ translator: inout PredicateTranslator) throws(StoreError) -> TranslatedExpression {
    .truth(.all([try translator.truth(lhs)], try translator.truth(rhs)))
  }
}

extension PredicateExpressions.Disjunction: TranslatableExpression {
  func translated(_ translator: inout PredicateTranslator) throws(StoreError) -> TranslatedExpression {
    .truth(.any([try translator.truth(lhs), try translator.truth(rhs)]))
  }
}

extension PredicateExpressions.Negation: TranslatableExpression {
  func translated(_ translator: inout PredicateTranslator) throws(StoreError) -> TranslatedExpression {
    .truth(.not(try translator.truth(wrapped)))
  }
}

extension PredicateExpressions.Equal: TranslatableExpression {
  func translated(_ translator: inout PredicateTranslator) throws(StoreError) -> TranslatedExpression {
    .truth(try translator.equality(lhs, rhs))
  }
}

extension PredicateExpressions.NotEqual: TranslatableExpression {
  func translated(_ translator: inout PredicateTranslator) throws(StoreError) -> TranslatedExpression {
    switch try translator.equality(lhs, rhs) {
    // The negation of ANY is not ANY of the negation.
    case .comparison(var comparison) where comparison.operator == .equal && comparison.modifier == .direct:
      comparison.operator = .notEqual
      return .truth(.comparison(comparison))
    case let equality: return .truth(.not(equality))
    }
  }
}

extension PredicateTranslator {
  fileprivate mutating func equality(_ left: any PredicateExpression, _ right: any PredicateExpression)
    throws(StoreError) -> QueryPredicate
  {
    let (first, second) = (try translate(left), try translate(right))
    if let truth = second.constantTruth, let equality = Self.equality(first, truth) { return equality }
    if let truth = first.constantTruth, let equality = Self.equality(second, truth) { return equality }
    guard let a = first.expression, let b = second.expression else {
      throw invalid("a range is compared, which is not supported")
    }
    return .comparison(QueryComparison(a, .equal, b))
  }

  /// A comparison of a condition with true, false or nil.
  private static func equality(_ condition: TranslatedExpression, _ truth: Bool?) -> QueryPredicate? {
    switch (condition, truth) {
    case (.truth(let predicate), true?): predicate
    case (.truth(let predicate), false?): .not(predicate)
    case (.truth, nil): .constant(false)
    case (.optionalTruth, true?): condition.predicate
    case (.optionalTruth(let predicate, let isNil), false?): .all([.not(isNil)], .not(predicate))
    case (.optionalTruth(_, let isNil), nil): isNil
    case (.value, _), (.range, _): nil
    }
  }
}

extension PredicateExpressions.Comparison: TranslatableExpression {
  func translated(_ translator: inout PredicateTranslator) throws(StoreError) -> TranslatedExpression {
    try translator.checkOrder(of: LHS.Output.self)
    let sign: QueryComparison.Operator =
      switch op {
      case .lessThan: .lessThan
      case .lessThanOrEqual: .lessThanOrEqual
      case .greaterThan: .greaterThan
      case .greaterThanOrEqual: .greaterThanOrEqual
      @unknown default: throw translator.invalid("it uses an unknown comparison")
      }
    return .truth(.comparison(QueryComparison(try translator.value(lhs), sign, try translator.value(rhs))))
  }
}

// MARK: Optionals

extension PredicateExpressions.OptionalFlatMap: TranslatableExpression {
  func translated(_ translator: inout PredicateTranslator) throws(StoreError) -> TranslatedExpression {
    let value = try translator.value(wrapped)
    translator.bind(variable.key, to: value)
    switch try translator.translate(transform) {
    case .truth(let predicate): return .optionalTruth(predicate, isNil: .isNil(value))
    case .optionalTruth(let predicate, let isNil):
      return .optionalTruth(predicate, isNil: .any([.isNil(value), isNil]))
    // Values derived from nil are nil in the store's language too; other values, such as a count, need an explicit
    // test. A collection without an object is empty, and needs no test.
    case .value(let result) where !result.isNil(with: value) && !(RHS.Output.self is any FieldsCollection.Type):
      return .value(.conditional(.isNil(value), .constant(.null), result))
    case let other: return other
    }
  }
}

extension PredicateExpressions.NilCoalesce: TranslatableExpression {
  func translated(_ translator: inout PredicateTranslator) throws(StoreError) -> TranslatedExpression {
    let (optional, fallback) = (try translator.translate(lhs), try translator.translate(rhs))
    switch (optional, fallback.constantTruth) {
    case (.optionalTruth, false??): return .truth(optional.predicate)
    case (.optionalTruth(let predicate, let isNil), true??): return .truth(.any([isNil, predicate]))
    case (.optionalTruth(let predicate, let isNil), _):
      return .truth(.any([.all([isNil], fallback.predicate), .all([.not(isNil)], predicate)]))
    case (.value(let value), false??):
      return .truth(.comparison(QueryComparison(value, .equal, .constant(.value(.boolean(true))))))
    case (.value(let value), true??):
      return .truth(.comparison(QueryComparison(value, .notEqual, .constant(.value(.boolean(false))))))
    case (.truth, _): return optional
    default:
      guard let value = optional.expression, let other = fallback.expression else {
        throw translator.invalid("a range is optional, which is not supported")
      }
      return .value(.conditional(.isNil(value), other, value))
    }
  }
}

extension PredicateExpressions.ForcedUnwrap: TranslatableExpression {
  /// Nil propagates as in the store's language in places where Foundation would trap.
  func translated(_ translator: inout PredicateTranslator) throws(StoreError) -> TranslatedExpression {
    let optional = try translator.translate(inner)
    if case .optionalTruth = optional { return .truth(optional.predicate) }
    return optional
  }
}

extension PredicateExpressions.Conditional: TranslatableExpression {
  func translated(_ translator: inout PredicateTranslator) throws(StoreError) -> TranslatedExpression {
    let condition = try translator.truth(test)
    let (yes, no) = (try translator.translate(trueBranch), try translator.translate(falseBranch))
    if If.Output.self == Bool.self {
      return .truth(.any([.all([condition], yes.predicate), .all([.not(condition)], no.predicate)]))
    }
    guard let first = yes.expression, let second = no.expression else {
      throw translator.invalid("a range depends on a condition, which is not supported")
    }
    return .value(.conditional(condition, first, second))
  }
}

// MARK: Arithmetic

extension PredicateExpressions.Arithmetic: TranslatableExpression {
  func translated(_ translator: inout PredicateTranslator) throws(StoreError) -> TranslatedExpression {
    let function: QueryFunction =
      switch op {
      case .add: .add
      case .subtract: .subtract
      case .multiply: .multiply
      @unknown default: throw translator.invalid("it uses an unknown operator")
      }
    return .value(.function(function, [try translator.value(lhs), try translator.value(rhs)]))
  }
}

extension PredicateExpressions.IntDivision: TranslatableExpression {
  func translated(_ translator: inout PredicateTranslator) throws(StoreError) -> TranslatedExpression {
    .value(.function(.divide, [try translator.value(lhs), try translator.value(rhs)]))
  }
}

extension PredicateExpressions.FloatDivision: TranslatableExpression {
  func translated(_ translator: inout PredicateTranslator) throws(StoreError) -> TranslatedExpression {
    .value(.function(.divide, [try translator.value(lhs), try translator.value(rhs)]))
  }
}

extension PredicateExpressions.IntRemainder: TranslatableExpression {
  func translated(_ translator: inout PredicateTranslator) throws(StoreError) -> TranslatedExpression {
    .value(.function(.modulus, [try translator.value(lhs), try translator.value(rhs)]))
  }
}

extension PredicateExpressions.UnaryMinus: TranslatableExpression {
  func translated(_ translator: inout PredicateTranslator) throws(StoreError) -> TranslatedExpression {
    .value(.function(.negate, [try translator.value(wrapped)]))
  }
}
