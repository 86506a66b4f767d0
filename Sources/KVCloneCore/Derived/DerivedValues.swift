#if canImport(FoundationEssentials)
  package import FoundationEssentials
#else
  import Foundation
#endif
package import KVCloneModel
package import KVCloneRecords

/// Computes values of derived attributes from the state that this transaction sees.
package enum DerivedValues {
  /// Returns the value of a derivation for an object, and whether it is independent of the order of the members.
  package static func value(
    _ derivation: Derivation, _ id: ObjectID, _ view: borrowing RecordView, _ entity: CompiledEntity, now: Date,
    in session: borrowing Session
  ) throws(StoreError) -> (value: AttributeValue?, isExact: Bool) {
    switch derivation.function {
    case .now: return (.date(now), false)
    case .value:
      return (try sourceValue(derivation, id, view, entity, in: session).flatMap(derivation.type.derived), true)
    case .text(let function):
      return (Derivation.text(function, try sourceValue(derivation, id, view, entity, in: session)), true)
    case .aggregate(.count):
      let count = Self.memberCount(derivation.hops[0], view)
      return (derivation.type.derived(from: .integer(Int64(count))), true)
    case .aggregate(let function):
      guard let source = derivation.source,
        // The entity's own index: records of a subentity may have the list at another position than the declaring
        // entity.
        let index = entity.relationshipIndexByCode[derivation.hops[0].code]
      else { return (nil, true) }
      var aggregate = DerivedAggregate(function)
      try session.forEachMember(id, entity.relationships[index], in: view, entity) { (member) throws(StoreError) in
        aggregate.add(try session.storedValue(source, member, try session.existingRecord(member)))
        return true
      }
      return (aggregate.value(derivation.type), aggregate.isExact)
    }
  }

  /// Returns the source attribute of an object, or of the object behind its to-one relationships; nil if one of these
  /// is empty.
  private static func sourceValue(
    _ derivation: Derivation, _ id: ObjectID, _ view: borrowing RecordView, _ entity: CompiledEntity,
    in session: borrowing Session
  ) throws(StoreError) -> AttributeValue? {
    guard let source = derivation.source else { return nil }
    guard let first = derivation.hops.first else { return try session.storedValue(source, id, view) }
    var target = Self.target(of: first, view)
    for hop in derivation.hops.dropFirst() {
      guard let next = target else { return nil }
      target = Self.target(of: hop, try session.existingRecord(next))
    }
    guard let target else { return nil }
    return try session.storedValue(source, target, try session.existingRecord(target))
  }

  private static func target(of relationship: CompiledRelationship, _ view: borrowing RecordView) -> ObjectID? {
    view.layout.fieldIndex(ofProperty: relationship.code).flatMap { view.toOne($0) }
  }

  private static func memberCount(_ relationship: CompiledRelationship, _ view: borrowing RecordView) -> Int {
    view.layout.fieldIndex(ofProperty: relationship.code).map { view.head($0).count } ?? 0
  }
}

extension Derivation {
  /// Applies a text function of predicates to a value.
  package static func text(_ function: QueryFunction, _ value: AttributeValue?) -> AttributeValue? {
    guard let value, case .string(let text) = QueryFunctions.call(function, [QueryValue(value)]) else { return nil }
    return .string(text)
  }
}
