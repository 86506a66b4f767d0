import Foundation
import KVCloneCore
import KVCloneModel

// To-many relationships, lists, ranges and texts.

extension PredicateExpressions.SequenceContainsWhere: TranslatableExpression {
  func translated(_ translator: inout PredicateTranslator) throws(StoreError) -> TranslatedExpression {
    let members = try translator.value(sequence)
    let name = translator.bindMember(variable.key)
    let condition = try translator.truth(test)
    if let simple = condition.any(of: members, called: name) { return .truth(simple) }
    return .truth(.countOf(members, name, condition, .greaterThan))
  }
}

extension PredicateExpressions.SequenceAllSatisfy: TranslatableExpression {
  func translated(_ translator: inout PredicateTranslator) throws(StoreError) -> TranslatedExpression {
    let members = try translator.value(sequence)
    let name = translator.bindMember(variable.key)
    return .truth(.countOf(members, name, .not(try translator.truth(test)), .equal))
  }
}

extension PredicateExpressions.Filter: TranslatableExpression {
  func translated(_ translator: inout PredicateTranslator) throws(StoreError) -> TranslatedExpression {
    let members = try translator.value(sequence)
    let name = translator.bindMember(variable.key)
    return .value(.subquery(members, variable: name, try translator.truth(filter)))
  }
}

extension QueryPredicate {
  /// Compares the number of members that match a condition with 0.
  fileprivate static func countOf(
    _ members: QueryExpression, _ name: String, _ condition: QueryPredicate, _ operator: QueryComparison.Operator
  ) -> QueryPredicate {
    let subquery = QueryExpression.subquery(members, variable: name, condition)
    return .comparison(
      QueryComparison(.collection(subquery, .count, []), `operator`, .constant(.value(.integer(0)))))
  }

  /// `ANY members.name BEGINSWITH 'A'`, if the condition on a member is simple enough, and false for nil.
  fileprivate func any(of members: QueryExpression, called variable: String) -> QueryPredicate? {
    guard case .comparison(var comparison) = self, comparison.modifier == .direct, comparison.right.isKnownValue,
      comparison.operator != .notEqual, comparison.operator != .in
    else { return nil }
    switch comparison.left {
    case .variable(variable): comparison.left = members
    case .keyPath(.variable(variable), let names) where names.count == 1:
      comparison.left = members.property(names[0])
    default: return nil
    }
    comparison.modifier = .any
    return .comparison(comparison)
  }
}

extension PredicateExpressions.SequenceContains: TranslatableExpression {
  func translated(_ translator: inout PredicateTranslator) throws(StoreError) -> TranslatedExpression {
    let item = try translator.value(element)
    if LHS.Output.self is any StringProtocol.Type {
      return .truth(.comparison(QueryComparison(try translator.value(sequence), .contains, item)))
    }
    switch try translator.translate(sequence) {
    case .range(let lower, let upper, let isClosed):
      try translator.checkOrder(of: RHS.Output.self)
      return .truth(.isWithin(item, lower, upper, isClosed))
    case .value(let list): return .truth(.comparison(QueryComparison(item, .in, list)))
    default: throw translator.invalid("a Boolean value has no members")
    }
  }
}

extension PredicateExpressions.CollectionIndexSubscript: TranslatableExpression {
  func translated(_ translator: inout PredicateTranslator) throws(StoreError) -> TranslatedExpression {
    if Wrapped.Output.self is any StringProtocol.Type {
      throw translator.invalid("a string is indexed, which is not supported")
    }
    return .value(.index(try translator.value(wrapped), .expression(try translator.value(index))))
  }
}

// MARK: Texts

extension PredicateExpressions.CollectionContainsCollection: TranslatableExpression {
  func translated(_ translator: inout PredicateTranslator) throws(StoreError) -> TranslatedExpression {
    guard Base.Output.self is any StringProtocol.Type else {
      throw translator.invalid("a list is searched for a list, which is not supported")
    }
    return .truth(.comparison(QueryComparison(try translator.value(base), .contains, try translator.value(other))))
  }
}

extension PredicateExpressions.SequenceStartsWith: TranslatableExpression {
  func translated(_ translator: inout PredicateTranslator) throws(StoreError) -> TranslatedExpression {
    guard Base.Output.self is any StringProtocol.Type else {
      throw translator.invalid("the start of a list is compared, which is not supported")
    }
    return .truth(.comparison(QueryComparison(try translator.value(base), .beginsWith, try translator.value(prefix))))
  }
}

// MARK: Ranges

extension PredicateExpressions.Range: TranslatableExpression {
  func translated(_ translator: inout PredicateTranslator) throws(StoreError) -> TranslatedExpression {
    .range(lower: try translator.value(lower), upper: try translator.value(upper), isClosed: false)
  }
}

extension PredicateExpressions.ClosedRange: TranslatableExpression {
  func translated(_ translator: inout PredicateTranslator) throws(StoreError) -> TranslatedExpression {
    .range(lower: try translator.value(lower), upper: try translator.value(upper), isClosed: true)
  }
}

extension PredicateExpressions.RangeExpressionContains: TranslatableExpression {
  func translated(_ translator: inout PredicateTranslator) throws(StoreError) -> TranslatedExpression {
    guard case .range(let lower, let upper, let isClosed) = try translator.translate(range) else {
      throw translator.invalid("a value that is not a range is used as a range")
    }
    try translator.checkOrder(of: Element.Output.self)
    return .truth(.isWithin(try translator.value(element), lower, upper, isClosed))
  }
}

extension QueryPredicate {
  fileprivate static func isWithin(
    _ value: QueryExpression, _ lower: QueryExpression?, _ upper: QueryExpression?, _ isClosed: Bool
  ) -> QueryPredicate {
    if isClosed, let lower, let upper {
      return .comparison(QueryComparison(value, .between, .aggregate([lower, upper])))
    }
    var parts: [QueryPredicate] = []
    if let lower { parts.append(.comparison(QueryComparison(value, .greaterThanOrEqual, lower))) }
    if let upper {
      parts.append(.comparison(QueryComparison(value, isClosed ? .lessThanOrEqual : .lessThan, upper)))
    }
    return parts.count == 1 ? parts[0] : .and(parts)
  }
}
