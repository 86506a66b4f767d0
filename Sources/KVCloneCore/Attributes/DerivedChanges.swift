package import KVCloneModel
import KVCloneRecords

/// Propagates every change to the derived attributes that depend on it.
///
/// Sums of integers and decimals, minimums and maximums are updated immediately from the one changed member: unless the
/// object is recorded for refresh, its value always matches its list. All other derived attributes are recorded, and
/// the commit computes them.
package enum DerivedChanges {
  /// Records a new object: all of its own derived attributes must be computed.
  package static func noteInsert(_ id: ObjectID, _ entity: CompiledEntity, in session: inout Session) {
    guard let rules = session.schema.derivations.entity(entity.code) else { return }
    for own in rules.own { session.changes.derived.insert(own.derivation, hop: 0, id) }
  }

  /// Returns attributes of an object before they change.
  static func sources(
    _ id: ObjectID, _ entity: CompiledEntity,
    _ changed: [(attribute: CompiledAttribute, value: AttributeValue?)], in session: borrowing Session
  ) throws(StoreError) -> [AttributeValue?] {
    guard let rules = session.schema.derivations.entity(entity.code) else { return [] }
    var values: [AttributeValue?] = []
    for (attribute, _) in changed {
      let isSource = rules.attributes[attribute.code] != nil
      values.append(isSource ? try session.storedValue(attribute, id, session.scratch.view) : nil)
    }
    return values
  }

  /// Updates derived attributes after attributes of an object changed, from the values that ``sources(_:_:_:)``
  /// returned.
  static func attributesChanged(
    _ id: ObjectID, _ entity: CompiledEntity,
    _ changed: [(attribute: CompiledAttribute, value: AttributeValue?)], from before: [AttributeValue?],
    in session: inout Session
  ) throws(StoreError) {
    guard let rules = session.schema.derivations.entity(entity.code) else { return }
    if changed.contains(where: { !$0.attribute.description.isDerived }) {
      for derivation in rules.touched { session.changes.derived.insert(derivation, hop: 0, id) }
    }
    for (index, (attribute, value)) in changed.enumerated() {
      for dependency in rules.attributes[attribute.code] ?? [] {
        let derivation = dependency.derivation
        guard dependency.hop == 1, derivation.isIncremental, derivation.hasSingleOwner else {
          session.changes.derived.insert(derivation, hop: dependency.hop, id)
          continue
        }
        guard let owner = try owner(of: id, derivation, in: session) else { continue }
        try adjust(derivation, owner, lost: before[index], gained: value, in: &session)
      }
    }
  }

  /// Updates derived attributes after a relationship of an object gained or lost a member on its own side; if neither
  /// is given, the whole list may have changed.
  static func linkChanged(
    _ id: ObjectID, _ entity: CompiledEntity, _ relationship: CompiledRelationship, gained: ObjectID? = nil,
    lost: ObjectID? = nil, in session: inout Session
  ) throws(StoreError) {
    guard let rules = session.schema.derivations.entity(entity.code) else { return }
    for derivation in rules.touched { session.changes.derived.insert(derivation, hop: 0, id) }
    for dependency in rules.relationships[relationship.code] ?? [] {
      let derivation = dependency.derivation
      // If an object is its own member, both the sum and its source change.
      guard dependency.hop == 0, derivation.isIncremental, let member = gained ?? lost, member != id,
        !session.changes.derived.contains(derivation, hop: 1, member), let source = derivation.source
      else {
        session.changes.derived.insert(derivation, hop: dependency.hop, id)
        continue
      }
      let value = try session.storedValue(source, member, try session.existingRecord(member))
      try adjust(derivation, id, lost: lost == nil ? nil : value, gained: gained == nil ? nil : value, in: &session)
    }
  }

  /// Updates derived attributes after a relationship of an object gained new objects, some of which may not be written
  /// yet.
  static func newObjectsLinked(
    _ id: ObjectID, _ entity: CompiledEntity, _ relationship: CompiledRelationship,
    _ members: some RandomAccessCollection<ObjectID>, in session: inout Session
  ) throws(StoreError) {
    guard session.schema.derivations.entity(entity.code) != nil else { return }
    // Up to this number, looking up each member costs less than one scan of the whole list.
    var areKnown = members.count <= 64
    for member in members where areKnown { areKnown = try session.exists(member) }
    guard areKnown else { return try linkChanged(id, entity, relationship, in: &session) }
    for member in members { try linkChanged(id, entity, relationship, gained: member, in: &session) }
  }

  /// Returns the object with the list that an object belongs to.
  private static func owner(of id: ObjectID, _ derivation: Derivation, in session: borrowing Session) throws(StoreError)
    -> ObjectID?
  {
    let view = try session.existingRecord(id)
    guard let field = view.layout.fieldIndex(ofProperty: derivation.hops[0].inverseCode) else { return nil }
    return view.toOne(field)
  }

  /// Applies the change of one member to an object's derived attribute.
  private static func adjust(
    _ derivation: Derivation, _ id: ObjectID, lost: AttributeValue?, gained: AttributeValue?, in session: inout Session
  ) throws(StoreError) {
    // An attribute that the commit computes anyway need not be accurate until then.
    if session.changes.derived.contains(derivation, hop: 0, id) { return }
    guard case .aggregate(let function) = derivation.function else { return }
    let value: AttributeValue?
    let attribute: CompiledAttribute
    let entity: CompiledEntity
    do {
      let view = try session.existingRecord(id)
      entity = try session.schema.entity(of: view, id: id)
      guard let own = session.schema.derivations.entity(entity.code)?.attribute(of: derivation) else { return }
      attribute = own
      value = try session.storedValue(own, id, view)
    }
    switch DerivedAggregate.adjusted(function, value, lost: lost, gained: gained, derivation.type) {
    case .recompute: session.changes.derived.insert(derivation, hop: 0, id)
    case .value(let new): if new != value { try set(id, entity, attribute, new, in: &session) }
    }
  }

  /// Writes a derived attribute, and propagates the change to attributes derived from it.
  static func set(
    _ id: ObjectID, _ entity: CompiledEntity, _ attribute: CompiledAttribute, _ value: AttributeValue?,
    in session: inout Session
  ) throws(StoreError) {
    _ = try session.load(id)
    try session.write([(attribute, value)], to: id, entity)
  }
}
