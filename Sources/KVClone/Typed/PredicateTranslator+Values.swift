import Foundation
import KVCloneCore
import KVCloneModel

// Variables, key paths and constants.

extension PredicateExpressions.Variable: TranslatableExpression {
  func translated(_ translator: inout PredicateTranslator) throws(StoreError) -> TranslatedExpression {
    .value(try translator.variable(key))
  }
}

extension PredicateExpressions.KeyPath: TranslatableExpression {
  func translated(_ translator: inout PredicateTranslator) throws(StoreError) -> TranslatedExpression {
    let base = try translator.value(root)
    if let fields = Root.Output.self as? any QueryFields.Type {
      guard let name = fields.name(of: keyPath) else {
        throw translator.invalid("a key path is not a property of the model")
      }
      return .value(name == fields.own ? base : base.property(name))
    }
    let isText = Root.Output.self is any StringProtocol.Type
    let count: QueryExpression = isText ? .function(.length, [base]) : .collection(base, .count, [])
    switch kind {
    case .collectionCount: return .value(count)
    case .collectionIsEmpty:
      return .truth(.comparison(QueryComparison(count, .equal, .constant(.value(.integer(0))))))
    case .collectionFirst where !isText: return .value(.index(base, .first))
    case .bidirectionalCollectionLast where !isText: return .value(.index(base, .last))
    default: break
    }
    if let type = Root.Output.self as? any (RawRepresentable & CaseIterable).Type, type.isRawValue(keyPath) {
      return .value(base)
    }
    throw translator.invalid("a key path is not a property of the model")
  }
}

extension CaseIterable where Self: RawRepresentable {
  /// Whether a key path leads to the raw value, which is the stored one, or to a constant.
  fileprivate static func isRawValue(_ keyPath: AnyKeyPath) -> Bool {
    guard let keyPath = keyPath as? KeyPath<Self, RawValue> else { return false }
    return allCases.allSatisfy { item in
      guard let raw = item.rawValue as? any AttributeConvertible,
        let other = item[keyPath: keyPath] as? any AttributeConvertible
      else { return false }
      return raw.attributeValue == other.attributeValue
    }
  }
}

extension PredicateExpressions.Value: TranslatableExpression {
  func translated(_ translator: inout PredicateTranslator) throws(StoreError) -> TranslatedExpression {
    if let range = value as? any BoundedRange, let bounds = range.bounds { return bounds }
    guard let constant = QueryConstant(value) else {
      throw translator.invalid("attributes cannot have values of type \(Output.self)")
    }
    return .value(.constant(constant))
  }
}

extension PredicateExpressions.NilLiteral: TranslatableExpression {
  func translated(_ translator: inout PredicateTranslator) throws(StoreError) -> TranslatedExpression {
    .value(.constant(.null))
  }
}

extension QueryConstant {
  /// Converts a Swift value; nil for one that is not an attribute value.
  fileprivate init?(_ value: Any) {
    switch value {
    case let optional as any OptionalType:
      guard let wrapped = optional.value else {
        self = .null
        return
      }
      self.init(wrapped)
    case let id as ObjectID: self = .object(id)
    case let id as any AnyTypedObjectID: self = .object(id.objectID)
    case let data as Data: self = .value(.binary(data))
    case let character as Character: self = .value(.string(String(character)))
    case let text as Substring: self = .value(.string(String(text)))
    case let convertible as any AttributeConvertible: self = .value(convertible.attributeValue)
    case let number as any BinaryInteger:
      guard let integer = Int64(exactly: number) else { return nil }
      self = .value(.integer(integer))
    case let raw as any RawRepresentable: self.init(raw.rawValue)
    case let sequence as any Sequence:
      var items: [QueryConstant] = []
      for item in sequence {
        guard let constant = QueryConstant(item) else { return nil }
        items.append(constant)
      }
      self = .list(items)
    default: return nil
    }
  }
}

/// The id of an object of any entity.
protocol AnyTypedObjectID {
  var objectID: ObjectID { get }
}

extension TypedObjectID: AnyTypedObjectID {}

/// A range that was made before the predicate.
private protocol BoundedRange {
  var bounds: TranslatedExpression? { get }
}

private func bound(_ value: Any) -> QueryExpression? { QueryConstant(value).map { .constant($0) } }

extension Range: BoundedRange {
  fileprivate var bounds: TranslatedExpression? {
    guard let lower = bound(lowerBound), let upper = bound(upperBound) else { return nil }
    return .range(lower: lower, upper: upper, isClosed: false)
  }
}

extension ClosedRange: BoundedRange {
  fileprivate var bounds: TranslatedExpression? {
    guard let lower = bound(lowerBound), let upper = bound(upperBound) else { return nil }
    return .range(lower: lower, upper: upper, isClosed: true)
  }
}

extension PartialRangeFrom: BoundedRange {
  fileprivate var bounds: TranslatedExpression? {
    bound(lowerBound).map { .range(lower: $0, upper: nil, isClosed: true) }
  }
}

extension PartialRangeThrough: BoundedRange {
  fileprivate var bounds: TranslatedExpression? {
    bound(upperBound).map { .range(lower: nil, upper: $0, isClosed: true) }
  }
}

extension PartialRangeUpTo: BoundedRange {
  fileprivate var bounds: TranslatedExpression? {
    bound(upperBound).map { .range(lower: nil, upper: $0, isClosed: false) }
  }
}
