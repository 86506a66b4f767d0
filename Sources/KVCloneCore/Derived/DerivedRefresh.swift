#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
package import KVCloneModel
package import KVCloneRecords

/// Computes the recorded derived attributes at a commit, before validation: sources first, so that each is computed
/// once.
package enum DerivedRefresh {
  package static func refreshAll(in session: inout Session) throws(StoreError) {
    if session.changes.derived.isEmpty { return }
    // One commit uses one value of `now()`.
    let now = session.state.now ?? Date()
    for derivation in session.schema.derivations.all {
      for hop in stride(from: derivation.hops.count, to: 0, by: -1) { try goBack(derivation, from: hop, in: &session) }
      guard let noted = session.changes.derived.take(derivation, hop: 0) else { continue }
      try forEach(in: noted, in: &session) { (session, id) throws(StoreError) in
        try DerivedRefresh.refresh(derivation, id, now: now, in: &session)
      }
    }
    session.changes.derived.removeAll()
  }

  /// Computes a derived attribute, and writes it if it has changed.
  private static func refresh(_ derivation: Derivation, _ id: ObjectID, now: Date, in session: inout Session)
    throws(StoreError)
  {
    let entity: CompiledEntity
    let attribute: CompiledAttribute
    let value: AttributeValue?
    do {
      // The object may have been deleted since it was recorded.
      guard let view = try session.record(id) else { return }
      entity = try session.schema.entity(of: view, id: id)
      guard let own = session.schema.derivations.entity(entity.code)?.attribute(of: derivation) else { return }
      attribute = own
      value = try DerivedValues.value(derivation, id, view, entity, now: now, in: session).value
      if try session.storedValue(own, id, view) == value { return }
    }
    try DerivedChanges.set(id, entity, attribute, value, in: &session)
  }

  /// Records the objects from which a relationship of the derivation leads to the objects that were recorded for the
  /// next hop.
  private static func goBack(_ derivation: Derivation, from hop: Int, in session: inout Session) throws(StoreError) {
    guard let noted = session.changes.derived.take(derivation, hop: hop) else { return }
    let relationship = derivation.hops[hop - 1]
    try forEach(in: noted, in: &session) { (session, id) throws(StoreError) in
      guard let entity = try DerivedRefresh.entityIfThere(id, in: session) else { return }
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

  private static func entityIfThere(_ id: ObjectID, in session: borrowing Session) throws(StoreError) -> CompiledEntity?
  {
    guard let view = try session.record(id) else { return nil }
    return try session.schema.entity(of: view, id: id)
  }

  /// Calls `body` with every object of a set, by root entity and serial; it may change everything but the set.
  package static func forEach(
    in set: ObjectSet, in session: inout Session, _ body: (inout Session, ObjectID) throws(StoreError) -> Void
  ) throws(StoreError) {
    var windows = ReadWindows(session.storage)
    for (rootCode, serials) in set.sets.enumerated() {
      guard let serials else { continue }
      var next = serials.next(from: 0)
      while let serial = next {
        windows.next()
        try body(&session, ObjectID(rootCode: UInt16(rootCode), serial: serial))
        next = serials.next(from: serial + 1)
      }
    }
  }

  /// Whether the store's derived attributes are those of its model, maintained by every write.
  package static func hasValues(in session: borrowing Session) -> Bool {
    guard let fingerprint = session.schema.derivations.fingerprint else { return true }
    let stored = try? Metadata.get(
      session.storage, session.schema.tables.metadata, MetadataKey.derivations, as: BytesValue.self)
    return stored == Metadata.derivations(fingerprint)
  }

  /// Records every object that has derived attributes.
  ///
  /// - Parameter includesTimes: whether to include attributes that are `now()`.
  package static func noteAll(includesTimes: Bool = true, in session: inout Session) throws(StoreError) {
    for entity in session.schema.entities where !entity.isAbstract {
      let all = session.schema.derivations.entity(entity.code)?.own ?? []
      let own = all.filter { includesTimes || $0.derivation.function != .now }
      if own.isEmpty { continue }
      var found = PendingDerivations()
      swap(&found, &session.changes.derived)
      try session.forEachRecord(of: entity, includesSubentities: false) { (id, _) throws(StoreError) in
        for (derivation, _) in own { found.insert(derivation, hop: 0, id) }
        return true
      }
      swap(&found, &session.changes.derived)
    }
  }
}
