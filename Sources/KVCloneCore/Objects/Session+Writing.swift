package import KVCloneModel
package import KVCloneRecords

extension Session {
  /// Inserts an object with its links, and defaults for attributes without a given value; returns its id.
  package mutating func insert(
    _ entity: CompiledEntity, _ attributes: [String: AttributeValue?], _ relationships: [String: [ObjectID]]
  ) throws(StoreError) -> ObjectID {
    guard !entity.isAbstract else {
      throw StoreError(
        .abstractEntity, "\(entity.name) is abstract; insert an object of one of its sub-entities", entity: entity.name)
    }
    // All errors of the caller are detected before anything changes.
    return try insert(
      entity, try entity.assignments(attributes), try RelationshipLinks.firstLinks(entity, relationships, in: self))
  }

  /// Inserts an object of a concrete entity with values and links that were checked.
  ///
  /// - Parameters:
  ///   - links: links to existing objects, which get their side of them.
  ///   - ownSides: links to objects that the caller inserts as well. Each gets its side from its own call, or from
  ///     ``attachBack(_:_:_:)``.
  package mutating func insert(
    _ entity: CompiledEntity, _ assignments: [(attribute: CompiledAttribute, value: AttributeValue?)],
    _ links: [(relationship: CompiledRelationship, targets: [ObjectID])],
    ownSides: [(relationship: CompiledRelationship, targets: [ObjectID])] = []
  ) throws(StoreError) -> ObjectID {
    if deferred?.isFull ?? false { try settle() }
    let id = try nextID(entity)
    scratch.reset(entity.layout)
    for (attribute, value) in entity.defaults { try put(value, in: attribute, of: id) }
    for (attribute, value) in assignments where !attribute.isDerived { try put(value, in: attribute, of: id) }
    // The object's own side is part of its record; then every partner gets its inverse link.
    for (relationship, targets) in links { try putMembers(targets, relationship, of: id) }
    for (relationship, targets) in ownSides { try putMembers(targets, relationship, of: id) }
    try refuseFullRecord(id)
    try append(id, entity)
    changes.isEmpty = false
    changes.noteInsert(id)
    state.history?.noteInserts(from: id, count: 1)
    try IndexEntries.note(id, entity, in: &self)
    DerivedChanges.noteInsert(id, entity, in: &self)
    for (relationship, targets) in links { try attachBack(id, relationship, targets) }
    return id
  }

  /// Sets the inverse side of a new object's links; most may be deferred (``DeferredInserts``).
  package mutating func attachBack(_ id: ObjectID, _ relationship: CompiledRelationship, _ targets: [ObjectID])
    throws(StoreError)
  {
    if relationship.inverseMayWait {
      let deferred = deferredInserts()
      for target in targets {
        if deferred.isFull { try settle() }
        deferred.links.append(target, relationship.inverseCode, id)
      }
      return
    }
    // The previous partner of a target may itself have a deferred link.
    if !relationship.inverseIsToMany { try settle() }
    for target in targets { try RelationshipLinks.attachBack(id, relationship, target, in: &self) }
  }

  /// Sets attributes of an object. A value equal to the stored one changes nothing, the commit stamp included.
  package mutating func set(_ id: ObjectID, _ attributes: [String: AttributeValue?]) throws(StoreError) {
    let entity = try entity(of: id)
    let assignments = try entity.assignments(attributes)
    try entity.refuseDerived(assignments, object: "\(entity.name)/\(id.serial)")
    _ = try load(id)
    var changed: [(attribute: CompiledAttribute, value: AttributeValue?)] = []
    for assignment in assignments {
      let old = try entity.value(of: assignment.attribute, in: scratch.view, id: id, schema: schema)
      if assignment.attribute.field == nil || old != assignment.value { changed.append(assignment) }
    }
    // Transient values are not part of the record: the stored object stays unchanged.
    for (attribute, value) in changed where attribute.field == nil { try put(value, in: attribute, of: id) }
    changed.removeAll { $0.attribute.field == nil }
    guard !changed.isEmpty else { return }
    try write(changed, to: id, entity)
  }

  /// Returns a copy of the object, which may leave the transaction.
  package borrowing func object(_ id: ObjectID) throws(StoreError) -> ManagedObject {
    try managedObject(try existingRecord(id), id: id)
  }

  package borrowing func managedObject(_ view: borrowing RecordView, id: ObjectID) throws(StoreError) -> ManagedObject {
    let entity = try schema.entity(of: view, id: id)
    let transients = changes.transients.isEmpty ? [:] : transients(of: id, entity)
    return ManagedObject(view, id: id, entity: entity, schema: schema, transients: transients)
  }

  /// Returns whether any object of the store has provenance: one lookup per transaction that deletes.
  package mutating func hasProvenance() throws(StoreError) -> Bool {
    if let known = state.hasProvenance { return known }
    let first: [UInt8] = [0]
    let isThere = try storage.seek(schema.tables.provenance, first.span.bytes, .atOrAfter) != nil
    state.hasProvenance = isThere
    return isThere
  }

  /// Deletes the provenance of an object.
  package mutating func forgetProvenance(of id: ObjectID) throws(StoreError) {
    let key = ShortKey.object(id)
    try storage.delete(schema.tables.provenance, key.bytes)
  }
}
