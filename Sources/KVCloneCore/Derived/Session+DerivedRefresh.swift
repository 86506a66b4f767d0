#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
package import KVCloneModel
package import KVCloneRecords

/// What a commit does about derived attributes, before it validates: those that were noted are computed, sources first, so
/// that each is computed once.
extension Session {
  package mutating func refreshDerived() throws(StoreError) {
    if changes.derived.isEmpty { return }
    // One commit has one `now()`.
    let now = changes.now ?? Date()
    for derivation in schema.derivations.all {
      for hop in stride(from: derivation.hops.count, to: 0, by: -1) { try goBack(derivation, from: hop) }
      guard let noted = changes.derived.take(derivation, hop: 0) else { continue }
      try forEach(in: noted) { (session, id) throws(StoreError) in try session.refresh(derivation, id, now: now) }
    }
    changes.derived.removeAll()
  }

  /// Computes a derived attribute, and writes it where it has changed.
  private mutating func refresh(_ derivation: Derivation, _ id: ObjectID, now: Date) throws(StoreError) {
    let entity: CompiledEntity
    let attribute: CompiledAttribute
    let value: AttributeValue?
    do {
      // Objects that were noted may have been deleted since.
      guard let view = try record(id) else { return }
      entity = try schema.entity(of: view, id: id)
      guard let own = schema.derivations.entity(entity.code)?.attribute(of: derivation) else { return }
      attribute = own
      value = try derivedValue(derivation, id, view, entity, now: now).value
      if try storedValue(own, id, view) == value { return }
    }
    try setDerived(id, entity, attribute, value)
  }

  /// Notes the objects from which a relationship of the derivation leads to what was noted behind it.
  private mutating func goBack(_ derivation: Derivation, from hop: Int) throws(StoreError) {
    guard let noted = changes.derived.take(derivation, hop: hop) else { return }
    let relationship = derivation.hops[hop - 1]
    try forEach(in: noted) { (session, id) throws(StoreError) in
      guard let entity = try session.entityIfThere(id) else { return }
      func note(_ session: inout Session, _ owners: [ObjectID]) {
        for owner in owners { session.changes.derived.insert(derivation, hop: hop - 1, owner) }
      }
      if !relationship.hasInverse {
        try session.forEachBatch(session.address(id, relationship.inverseCode)) {
          (session, owners) throws(StoreError) in
          note(&session, owners)
        }
      } else if let inverse = entity.inverse(of: relationship) {
        try session.forEachMemberBatch(id, inverse) { (session, owners) throws(StoreError) in note(&session, owners) }
      }
    }
  }

  private borrowing func entityIfThere(_ id: ObjectID) throws(StoreError) -> CompiledEntity? {
    guard let view = try record(id) else { return nil }
    return try schema.entity(of: view, id: id)
  }

  /// Calls `body` with every object of a set, by root entity and serial; it may change everything but the set.
  package mutating func forEach(
    in set: ObjectSet, _ body: (inout Session, ObjectID) throws(StoreError) -> Void
  ) throws(StoreError) {
    for (rootCode, serials) in set.sets.enumerated() {
      guard let serials else { continue }
      var next = serials.next(from: 0)
      while let serial = next {
        try body(&self, ObjectID(rootCode: UInt16(rootCode), serial: serial))
        next = serials.next(from: serial + 1)
      }
    }
  }
}
