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

extension Session {
  /// Another object that has the same values as this one under a constraint; nil also for an object that is gone.
  borrowing func uniquenessConflict(of id: ObjectID) throws(StoreError) -> UniquenessConflict? {
    guard let view = try record(id) else { return nil }
    let entity = try schema.entity(of: view, id: id)
    for constraint in entity.constraints {
      guard let other = try conflict(constraint, entity, view, id) else { continue }
      let isHolder = try isHolder(id, against: other, constraint)
      return UniquenessConflict(
        constraint: constraint, holder: isHolder ? id : other, comer: isHolder ? other : id)
    }
    return nil
  }

  private borrowing func isHolder(_ id: ObjectID, against other: ObjectID, _ constraint: CompiledConstraint)
    throws(StoreError) -> Bool
  {
    let areNew = (try isNew(id), try isNew(other))
    if areNew.0 != areNew.1 { return areNew.1 }
    if !areNew.0 {
      let before = try stateBefore()
      let wanted = try values(constraint, id)
      let held = (try before.values(constraint, id) == wanted, try before.values(constraint, other) == wanted)
      if held.0 != held.1 { return held.0 }
    }
    return id < other
  }

  private borrowing func values(_ constraint: CompiledConstraint, _ id: ObjectID) throws(StoreError)
    -> [AttributeValue?]
  {
    let view = try existingRecord(id)
    return try constraint.values(try schema.entity(of: view, id: id), view, id, schema)
  }

  /// The store as it was when this write transaction began: nobody else has written since.
  package borrowing func stateBefore() throws(StoreError) -> Session {
    guard let engine else { throw StoreError(.readOnly, "a read transaction has no conflicts to resolve") }
    return try HistorySource(engine: engine, schema: schema, storeUUID: storeUUID).session()
  }

  // MARK: Giving way

  /// Deletes an object of this transaction, and what cascades from it and is new too. What was stored is let go, and the rule
  /// deny has no say: the object never was.
  mutating func discardNew(_ id: ObjectID, sparing kept: ObjectID) throws(StoreError) {
    _ = try deleteAll(try cascade(from: ObjectSet([id]), onlyNew: true, sparing: kept))
  }

  /// Gives an object's attributes and to-one relationships, or those of them that have to be unique, the values that are stored.
  /// Whether that changed anything.
  mutating func returnToStored(_ id: ObjectID, onlyUnique: Bool) throws(StoreError) -> Bool {
    let before = try stateBefore()
    let entity = try entity(of: id)
    // A derived attribute returns with what it is derived from.
    let onlyUnique =
      onlyUnique && !entity.attributes.contains { $0.description.isDerived && entity.uniqueCodes.contains($0.code) }
    var values: [String: AttributeValue?] = [:]
    var blobs: [String] = []
    var targets: [(relationship: CompiledRelationship, target: ObjectID?)] = []
    do {
      let old = try before.existingRecord(id)
      let view = try existingRecord(id)
      for attribute in entity.attributes where attribute.field != nil && !attribute.description.isDerived {
        if onlyUnique, !entity.uniqueCodes.contains(attribute.code) { continue }
        let value = try entity.value(of: attribute, in: old, id: id, schema: schema)
        if try value == entity.value(of: attribute, in: view, id: id, schema: schema) { continue }
        if case .blob = value { blobs.append(attribute.path) } else { values[attribute.path] = .some(value) }
      }
      for relationship in entity.relationships where !relationship.isToMany {
        if onlyUnique, !entity.uniqueCodes.contains(relationship.code) { continue }
        let target = entity.target(of: relationship, in: old)
        if target != entity.target(of: relationship, in: view) { targets.append((relationship, target)) }
      }
    }
    if !values.isEmpty { try set(id, values) }
    for path in blobs { try copyData(from: before, id, path) }
    for (relationship, target) in targets {
      var target = target
      // What this transaction has deleted does not come back.
      if let stored = target, try !exists(stored) { target = nil }
      try setToOne(id, relationship, target)
    }
    return !values.isEmpty || !blobs.isEmpty || !targets.isEmpty
  }

  /// The bytes once more: this transaction may have been the last to let go of them.
  private mutating func copyData(from before: borrowing Session, _ id: ObjectID, _ path: String) throws(StoreError) {
    do {
      try setData(id, path) { writer in
        _ = try before.readData(id, path) { (piece) throws(StoreError) in try writer.append(piece) }
      }
    } catch {
      throw (error as? StoreError) ?? StoreError(.io, "a binary value could not be copied: \(error)")
    }
  }

  // MARK: Taking over

  /// Gives the object that stays what it takes over from the one that goes, which loses it, and cuts the links between the
  /// two, so that neither takes the other, or what is the other's now, along.
  mutating func takeOver(_ what: ConflictTakeover, from gone: ObjectID, to kept: ObjectID) throws(StoreError) {
    let (theirs, mine) = (try entity(of: gone), try entity(of: kept))
    try takeAttributes(what, from: gone, theirs, to: kept, mine)
    for relationship in theirs.relationships {
      let own = mine.relationshipIndexByCode[relationship.code].map { mine.relationships[$0] }
      if relationship.isToMany {
        try takeMembers(what, relationship, own, from: gone, to: kept)
      } else {
        try takeTarget(what, relationship, own, from: gone, to: kept)
      }
    }
    if what != .nothing { try takeReferrers(from: gone, theirs, to: kept, mine) }
  }

  private mutating func takeAttributes(
    _ what: ConflictTakeover, from gone: ObjectID, _ theirs: CompiledEntity, to kept: ObjectID, _ mine: CompiledEntity
  ) throws(StoreError) {
    var values: [String: AttributeValue?] = [:]
    do {
      let goneView = try existingRecord(gone)
      let keptView = try existingRecord(kept)
      for attribute in mine.attributes where attribute.field != nil && !attribute.description.isDerived {
        guard let other = theirs.attributes.first(where: { $0.code == attribute.code && $0.field != nil }) else {
          continue
        }
        let old = try mine.value(of: attribute, in: keptView, id: kept, schema: schema)
        let new = try theirs.value(of: other, in: goneView, id: gone, schema: schema)
        if what.takes(mineIsSet: attribute.isSet(old), theirsIsSet: other.isSet(new)) {
          values[attribute.path] = .some(new)
        }
      }
    }
    if !values.isEmpty { try set(kept, values) }
  }

  private mutating func takeTarget(
    _ what: ConflictTakeover, _ relationship: CompiledRelationship, _ own: CompiledRelationship?,
    from gone: ObjectID, to kept: ObjectID
  ) throws(StoreError) {
    let target = try target(of: relationship, gone)
    if target == kept { return try setToOne(gone, relationship, nil) }
    guard let own, target != gone else { return }
    let present = try self.target(of: own, kept)
    if what.takes(mineIsSet: present != nil && present != gone, theirsIsSet: target != nil) {
      try setToOne(kept, own, target)
      try setToOne(gone, relationship, nil)
    }
  }

  private mutating func takeMembers(
    _ what: ConflictTakeover, _ relationship: CompiledRelationship, _ own: CompiledRelationship?,
    from gone: ObjectID, to kept: ObjectID
  ) throws(StoreError) {
    if try detach(gone, relationship.code, kept) { try detachBack(gone, relationship, kept) }
    guard let own, what != .nothing else { return }
    let members = try members(gone, relationship).filter { $0 != gone }
    try link(kept, own.name, members)
    try setMembers(gone, relationship.name, [])
  }

  /// Relationships without an inverse that lead to the one that goes lead to the other.
  private mutating func takeReferrers(
    from gone: ObjectID, _ theirs: CompiledEntity, to kept: ObjectID, _ mine: CompiledEntity
  ) throws(StoreError) {
    for code in theirs.referrerCodes {
      for referrer in try referrers(gone, code) where referrer != gone && referrer != kept {
        guard let relationship = try entity(of: referrer).relationship(referrerCode: code),
          mine.isKind(of: relationship.destinationCode)
        else { continue }
        try link(referrer, relationship.name, [kept])
      }
    }
  }

  private borrowing func target(of relationship: CompiledRelationship, _ id: ObjectID) throws(StoreError) -> ObjectID? {
    let view = try existingRecord(id)
    return try schema.entity(of: view, id: id).target(of: relationship, in: view)
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
