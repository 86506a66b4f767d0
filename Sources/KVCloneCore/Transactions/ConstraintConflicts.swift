import KVCloneModel
import KVCloneRecords

/// Two objects with the same values under a uniqueness constraint, for resolving the conflict: one is deleted or reset,
/// and the other may take over its values. The transaction's ``MergePolicy`` decides.
struct UniquenessConflict {
  let constraint: CompiledConstraint
  /// The object that had the values first: the one stored with them; the stored one if the other is new; else the one
  /// with the lower id.
  let holder: ObjectID
  let comer: ObjectID
}

/// The properties that the remaining object takes over from the deleted one. A property is set if it is neither nil nor
/// its default; all cases but ``nothing`` merge the members of lists.
enum ConflictTakeover {
  case nothing
  /// Only members of lists.
  case members
  /// Properties that the remaining object has not set.
  case missing
  /// All properties that the deleted object has set.
  case set
  /// All properties of the deleted object, including nil and defaults.
  case everything

  /// Returns whether to take over an attribute or a target.
  func takes(mineIsSet: Bool, theirsIsSet: Bool) -> Bool {
    switch self {
    case .nothing, .members: false
    case .missing: !mineIsSet && theirsIsSet
    case .set: theirsIsSet
    case .everything: true
    }
  }
}

package enum ConstraintConflicts {
  /// Returns another object with the same values under a constraint; nil also for a deleted object.
  static func uniquenessConflict(of id: ObjectID, in session: borrowing Session) throws(StoreError)
    -> UniquenessConflict?
  {
    guard let view = try session.record(id) else { return nil }
    let entity = try session.schema.entity(of: view, id: id)
    for constraint in entity.constraints {
      guard let other = try IndexEntries.conflict(constraint, entity, view, id, in: session) else { continue }
      let isHolder = try isHolder(id, against: other, constraint, in: session)
      return UniquenessConflict(
        constraint: constraint, holder: isHolder ? id : other, comer: isHolder ? other : id)
    }
    return nil
  }

  private static func isHolder(
    _ id: ObjectID, against other: ObjectID, _ constraint: CompiledConstraint, in session: borrowing Session
  )
    throws(StoreError) -> Bool
  {
    let areNew = (try session.isNew(id), try session.isNew(other))
    if areNew.0 != areNew.1 { return areNew.1 }
    if !areNew.0 {
      let before = try stateBefore(in: session)
      let wanted = try values(constraint, id, in: session)
      let held = (
        try ConstraintConflicts.values(constraint, id, in: before) == wanted,
        try ConstraintConflicts.values(constraint, other, in: before) == wanted
      )
      if held.0 != held.1 { return held.0 }
    }
    return id < other
  }

  private static func values(_ constraint: CompiledConstraint, _ id: ObjectID, in session: borrowing Session)
    throws(StoreError)
    -> [AttributeValue?]
  {
    let view = try session.existingRecord(id)
    return try constraint.values(try session.schema.entity(of: view, id: id), view, id, session.schema)
  }

  /// Returns the state of the store when this write transaction began: no other writer has changed it since.
  package static func stateBefore(in session: borrowing Session) throws(StoreError) -> Session {
    guard let engine = session.engine else {
      throw StoreError(.readOnly, "a read transaction has no conflicts to resolve")
    }
    return try HistorySource(engine: engine, schema: session.schema, storeUUID: session.storeUUID).session()
  }

  // MARK: Discarding and resetting

  /// Deletes a new object of this transaction, and the new objects that the rule cascade reaches. Stored objects are
  /// unlinked, and the rule deny does not apply: the object never existed.
  static func discardNew(_ id: ObjectID, sparing kept: ObjectID, in session: inout Session) throws(StoreError) {
    _ = try ObjectDeletion.deleteAll(
      try ObjectDeletion.cascade(from: ObjectSet([id]), onlyNew: true, sparing: kept, in: session), in: &session)
  }

  /// Resets an object's attributes and to-one relationships, or only the unique ones, to their stored values. Returns
  /// whether anything changed.
  static func returnToStored(_ id: ObjectID, onlyUnique: Bool, in session: inout Session) throws(StoreError) -> Bool {
    let before = try stateBefore(in: session)
    let entity = try session.entity(of: id)
    // A derived attribute is reset together with its sources.
    let onlyUnique = onlyUnique && !entity.hasDerivedConstraint
    var values: [String: AttributeValue?] = [:]
    var blobs: [String] = []
    var targets: [(relationship: CompiledRelationship, target: ObjectID?)] = []
    do {
      let old = try before.existingRecord(id)
      let view = try session.existingRecord(id)
      for attribute in entity.attributes where attribute.field != nil && !attribute.description.isDerived {
        if onlyUnique, !entity.uniqueCodes.contains(attribute.code) { continue }
        let value = try entity.value(of: attribute, in: old, id: id, schema: session.schema)
        if try value == entity.value(of: attribute, in: view, id: id, schema: session.schema) { continue }
        if case .blob = value { blobs.append(attribute.path) } else { values[attribute.path] = .some(value) }
      }
      for relationship in entity.relationships where !relationship.isToMany {
        if onlyUnique, !entity.uniqueCodes.contains(relationship.code) { continue }
        let target = entity.target(of: relationship, in: old)
        if target != entity.target(of: relationship, in: view) { targets.append((relationship, target)) }
      }
    }
    if !values.isEmpty { try session.set(id, values) }
    for path in blobs { try copyData(from: before, id, path, in: &session) }
    for (relationship, target) in targets {
      var target = target
      // An object that this transaction has deleted is not restored.
      if let stored = target, try !session.exists(stored) { target = nil }
      try RelationshipLinks.setToOne(id, relationship, target, in: &session)
    }
    return !values.isEmpty || !blobs.isEmpty || !targets.isEmpty
  }

  /// Copies the bytes: this transaction may have removed the last reference to them.
  private static func copyData(
    from before: borrowing Session, _ id: ObjectID, _ path: String, in session: inout Session
  ) throws(StoreError) {
    do {
      try BlobAssignment.setData(id, path, in: &session) { writer in
        _ = try BlobValues.read(id, path, in: before) { (piece) throws(StoreError) in try writer.append(piece) }
      }
    } catch {
      throw (error as? StoreError) ?? StoreError(.io, "a binary value could not be copied: \(error)")
    }
  }

  // MARK: Taking over

  /// Transfers values from the deleted object to the remaining one, and removes the links between the two, so that a
  /// cascade from one reaches neither the other nor the objects that it took over.
  static func takeOver(_ what: ConflictTakeover, from gone: ObjectID, to kept: ObjectID, in session: inout Session)
    throws(StoreError)
  {
    let (theirs, mine) = (try session.entity(of: gone), try session.entity(of: kept))
    try takeAttributes(what, from: gone, theirs, to: kept, mine, in: &session)
    for relationship in theirs.relationships {
      let own = mine.relationshipIndexByCode[relationship.code].map { mine.relationships[$0] }
      if relationship.isToMany {
        try takeMembers(what, relationship, own, from: gone, to: kept, in: &session)
      } else {
        try takeTarget(what, relationship, own, from: gone, to: kept, in: &session)
      }
    }
    if what != .nothing { try takeReferrers(from: gone, theirs, to: kept, mine, in: &session) }
  }

  private static func takeAttributes(
    _ what: ConflictTakeover, from gone: ObjectID, _ theirs: CompiledEntity, to kept: ObjectID, _ mine: CompiledEntity,
    in session: inout Session
  ) throws(StoreError) {
    var values: [String: AttributeValue?] = [:]
    do {
      let goneView = try session.existingRecord(gone)
      let keptView = try session.existingRecord(kept)
      for attribute in mine.attributes where attribute.field != nil && !attribute.description.isDerived {
        guard let other = theirs.attributes.first(where: { $0.code == attribute.code && $0.field != nil }) else {
          continue
        }
        let old = try mine.value(of: attribute, in: keptView, id: kept, schema: session.schema)
        let new = try theirs.value(of: other, in: goneView, id: gone, schema: session.schema)
        if what.takes(mineIsSet: attribute.isSet(old), theirsIsSet: other.isSet(new)) {
          values[attribute.path] = .some(new)
        }
      }
    }
    if !values.isEmpty { try session.set(kept, values) }
  }

  private static func takeTarget(
    _ what: ConflictTakeover, _ relationship: CompiledRelationship, _ own: CompiledRelationship?,
    from gone: ObjectID, to kept: ObjectID, in session: inout Session
  ) throws(StoreError) {
    let target = try target(of: relationship, gone, in: session)
    if target == kept { return try RelationshipLinks.setToOne(gone, relationship, nil, in: &session) }
    guard let own, target != gone else { return }
    let present = try ConstraintConflicts.target(of: own, kept, in: session)
    if what.takes(mineIsSet: present != nil && present != gone, theirsIsSet: target != nil) {
      try RelationshipLinks.setToOne(kept, own, target, in: &session)
      try RelationshipLinks.setToOne(gone, relationship, nil, in: &session)
    }
  }

  private static func takeMembers(
    _ what: ConflictTakeover, _ relationship: CompiledRelationship, _ own: CompiledRelationship?,
    from gone: ObjectID, to kept: ObjectID, in session: inout Session
  ) throws(StoreError) {
    if try session.detach(gone, relationship.code, kept) {
      try RelationshipLinks.detachBack(gone, relationship, kept, in: &session)
    }
    guard let own, what != .nothing else { return }
    let members = try session.members(gone, relationship).filter { $0 != gone }
    try RelationshipLinks.link(kept, own.name, members, in: &session)
    try RelationshipLinks.setMembers(gone, relationship.name, [], in: &session)
  }

  /// Redirects relationships without an inverse from the deleted object to the other one.
  private static func takeReferrers(
    from gone: ObjectID, _ theirs: CompiledEntity, to kept: ObjectID, _ mine: CompiledEntity, in session: inout Session
  ) throws(StoreError) {
    for code in theirs.referrerCodes {
      for referrer in try session.referrers(gone, code) where referrer != gone && referrer != kept {
        guard let relationship = try session.entity(of: referrer).relationship(referrerCode: code),
          mine.isKind(of: relationship.destinationCode)
        else { continue }
        try RelationshipLinks.link(referrer, relationship.name, [kept], in: &session)
      }
    }
  }

  private static func target(of relationship: CompiledRelationship, _ id: ObjectID, in session: borrowing Session)
    throws(StoreError) -> ObjectID?
  {
    let view = try session.existingRecord(id)
    return try session.schema.entity(of: view, id: id).target(of: relationship, in: view)
  }
}

extension CompiledEntity {
  /// Returns the target of a to-one relationship.
  fileprivate func target(of relationship: CompiledRelationship, in view: borrowing RecordView) -> ObjectID? {
    field(relationship.field, code: relationship.code, in: view).flatMap { view.toOne($0) }
  }
}

extension CompiledAttribute {
  /// Returns whether a value differs from the default and from nil.
  fileprivate func isSet(_ value: AttributeValue?) -> Bool { value != nil && value != description.defaultValue }
}
