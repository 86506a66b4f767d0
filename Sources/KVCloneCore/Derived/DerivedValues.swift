#if canImport(FoundationEssentials)
  package import FoundationEssentials
#else
  import Foundation
#endif
package import KVCloneModel
package import KVCloneRecords

/// What a derived attribute's value is by the state that this transaction sees.
package enum DerivedValues {
  /// The value that a derivation gives for an object, and whether no other order of its members would give another.
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
        // Its own: in records of a subentity the list may be in another place than in those of the entity that declares it.
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

  /// The source attribute of an object, or of the one that its to-one relationships lead to; nil where one is empty.
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
  /// A text as a function of predicates changes it.
  package static func text(_ function: QueryFunction, _ value: AttributeValue?) -> AttributeValue? {
    guard let value, case .string(let text) = QueryFunctions.call(function, [QueryValue(value)]) else { return nil }
    return .string(text)
  }
}
