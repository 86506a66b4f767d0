import KVCloneModel
import KVCloneRecords

/// Two objects with the same values under a uniqueness constraint, when one has to give way, and what the other takes over.
/// Which does what is a transaction's ``MergePolicy``'s business.
struct UniquenessConflict {
  let constraint: CompiledConstraint
  /// The one that had the values first: the one stored with them, the stored one where the other is new, else the one with
  /// the lower id.
  let holder: ObjectID
  let comer: ObjectID
}

/// What an object that stays takes over from one that goes. A property is set where it is not nil and not the default;
/// members of lists are joined by all but ``nothing``.
enum ConflictTakeover {
  case nothing
  /// Members of lists only.
  case members
  /// What it has not set itself.
  case missing
  /// All that the other has set.
  case set
  /// All that the other has, nil and defaults too.
  case everything

  /// Whether it takes over an attribute or a target.
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
  /// Another object that has the same values as this one under a constraint; nil also for an object that is gone.
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

  /// The store as it was when this write transaction began: nobody else has written since.
  package static func stateBefore(in session: borrowing Session) throws(StoreError) -> Session {
    guard let engine = session.engine else {
      throw StoreError(.readOnly, "a read transaction has no conflicts to resolve")
    }
    return try HistorySource(engine: engine, schema: session.schema, storeUUID: session.storeUUID).session()
  }

  // MARK: Giving way

  /// Deletes an object of this transaction, and what cascades from it and is new too. What was stored is let go, and the rule
  /// deny has no say: the object never was.
  static func discardNew(_ id: ObjectID, sparing kept: ObjectID, in session: inout Session) throws(StoreError) {
    _ = try ObjectDeletion.deleteAll(
      try ObjectDeletion.cascade(from: ObjectSet([id]), onlyNew: true, sparing: kept, in: session), in: &session)
  }

  /// Gives an object's attributes and to-one relationships, or those of them that have to be unique, the values that are stored.
  /// Whether that changed anything.
  static func returnToStored(_ id: ObjectID, onlyUnique: Bool, in session: inout Session) throws(StoreError) -> Bool {
    let before = try stateBefore(in: session)
    let entity = try session.entity(of: id)
    // A derived attribute returns with what it is derived from.
    let onlyUnique =
      onlyUnique && !entity.attributes.contains { $0.description.isDerived && entity.uniqueCodes.contains($0.code) }
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
      // What this transaction has deleted does not come back.
      if let stored = target, try !session.exists(stored) { target = nil }
      try RelationshipLinks.setToOne(id, relationship, target, in: &session)
    }
    return !values.isEmpty || !blobs.isEmpty || !targets.isEmpty
  }

  /// The bytes once more: this transaction may have been the last to let go of them.
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

  /// Gives the object that stays what it takes over from the one that goes, which loses it, and cuts the links between the
  /// two, so that neither takes the other, or what is the other's now, along.
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

  /// Relationships without an inverse that lead to the one that goes lead to the other.
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
  /// Where a to-one relationship leads.
  fileprivate func target(of relationship: CompiledRelationship, in view: borrowing RecordView) -> ObjectID? {
    field(relationship.field, code: relationship.code, in: view).flatMap { view.toOne($0) }
  }
}

extension CompiledAttribute {
  /// Whether a value is more than what an object has when nobody says.
  fileprivate func isSet(_ value: AttributeValue?) -> Bool { value != nil && value != description.defaultValue }
}
