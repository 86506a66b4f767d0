public import Foundation
public import KVCloneCore
public import KVCloneModel

extension FetchRequest {
  /// Creates a request from Foundation's predicates and sort descriptors; see <doc:TypedSwift>.
  ///
  /// The translation is stored in `predicate` and `sortDescriptors`. Both can be inspected, and changed to use features
  /// that only the predicate language has.
  ///
  /// - Parameters:
  ///   - type: the Swift type of the entity.
  ///   - predicate: the predicate; nil for all objects.
  ///   - order: the sort descriptors; empty for ascending order of ids.
  ///   - limit: the maximum number of results; 0 for no limit.
  ///   - offset: the number of results to skip.
  /// - Throws: `invalidPredicate` for expressions that the store cannot evaluate.
  public init<Object: EntityObject>(
    _ type: Object.Type, where predicate: Foundation.Predicate<Object.Fields>? = nil,
    sortedBy order: [SortDescriptor<Object.Fields>] = [], limit: Int = 0, offset: Int = 0
  ) throws(StoreError) {
    let entity = Object.entity.name
    self.init(entity, fetchLimit: limit, fetchOffset: offset)
    if let predicate { self.predicate = try PredicateTranslator.translate(predicate, entity: entity) }
    for descriptor in order { sortDescriptors.append(try QuerySortDescriptor(descriptor, entity: entity)) }
  }
}

extension QuerySortDescriptor {
  /// Translates a sort descriptor.
  ///
  /// - Throws: `invalidPredicate` for a key path that is not a property, and for a comparison that the store does not
  ///   support.
  init<Fields: QueryFields>(_ descriptor: SortDescriptor<Fields>, entity: String) throws(StoreError) {
    guard descriptor.stringComparator == nil || descriptor.stringComparator?.isLexical == true else {
      throw StoreError(
        .invalidPredicate,
        "a sort descriptor compares by the rules of a locale, which a store does not support; pass the comparator .lexical",
        entity: entity)
    }
    guard let keyPath = descriptor.keyPath, let key = Fields.expression(for: keyPath) else {
      throw StoreError(
        .invalidPredicate,
        "the key path of a sort descriptor is not a property of \(entity) or the count of one; add a QuerySortDescriptor "
          + "with a key such as note.title to the request", entity: entity)
    }
    let valueType = type(of: keyPath).valueType
    if !StoreOrder.isKnown(of: valueType) {
      throw StoreError(
        .invalidPredicate,
        "a sort descriptor compares by the order of the type \(valueType), which a store does not support; "
          + "add a QuerySortDescriptor to the request, which compares raw values", entity: entity)
    }
    self.init(key, ascending: descriptor.order == .forward)
  }
}

extension String.StandardComparator {
  /// Whether it compares texts by code points; regardless of its order.
  fileprivate var isLexical: Bool { self == Self(.lexical, order: order) }
}

extension QueryFields {
  /// The property of a key path; nil if it is not one.
  static func name(of keyPath: AnyKeyPath) -> String? { properties.first { $0.value == keyPath }?.key }

  /// The expression of a key path: a property, or the count of a to-many relationship.
  fileprivate static func expression(for keyPath: AnyKeyPath) -> QueryExpression? {
    if let name = name(of: keyPath) { return name == Self.own ? .`self` : .keyPath(.`self`, [name]) }
    for (name, property) in properties {
      guard let list = type(of: property as AnyKeyPath).valueType as? any FieldsCollection.Type,
        (property as AnyKeyPath).appending(path: list.countKeyPath) == keyPath
      else { continue }
      return .collection(.keyPath(.`self`, [name]), .count, [])
    }
    return nil
  }

  /// The name of the object itself.
  static var own: String { "SELF" }
}

/// The members of a to-many relationship in predicates and sort descriptors.
protocol FieldsCollection {
  static var countKeyPath: AnyKeyPath { get }
}

extension Set: FieldsCollection where Element: EntityFields {
  static var countKeyPath: AnyKeyPath { \Self.count }
}

extension Array: FieldsCollection where Element: EntityFields {
  static var countKeyPath: AnyKeyPath { \Self.count }
}

/// Unwraps optional types at run time.
protocol OptionalType {
  static var wrapped: Any.Type { get }
  var value: Any? { get }
}

extension Optional: OptionalType {
  static var wrapped: Any.Type { Wrapped.self }
  var value: Any? { self }
}
