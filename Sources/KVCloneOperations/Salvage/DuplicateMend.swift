import KVCloneCore
import KVCloneModel
import KVCloneRecords

/// Resolves duplicates of unique values.
struct DuplicateMend: ~Copyable, SessionOwner {
  private var session: Session

  init(_ session: consuming Session) {
    self.session = session
  }

  consuming func finish() -> Session { session }

  /// Removes values from objects with duplicates that have precedence. Returns the number of these objects.
  mutating func resolve(_ run: SalvageRun) throws(StoreError) -> Int {
    let losers = try duplicates(run)
    for (id, constraint) in losers { try giveUp(id, constraint, run) }
    return losers.count
  }

  /// Objects with the same values under a uniqueness constraint as another one, which has precedence.
  private borrowing func duplicates(_ run: SalvageRun) throws(StoreError) -> [(ObjectID, CompiledConstraint)] {
    var walk = IndexWalk()
    // By the first object with the values: the one with precedence so far.
    var keepers: [ObjectID: ObjectID] = [:]
    var losers = Set<ObjectID>()
    var found: [(ObjectID, CompiledConstraint)] = []
    try session.forEachEntry(session.schema.tables.indexes) { (key, _) throws(StoreError) in
      guard let id = try? IndexKey.objectID(of: copy key), let index = try? IndexKey.indexID(of: copy key) else {
        return true
      }
      let view = try session.existingRecord(id)
      let entity = try session.schema.entity(of: view, id: id)
      guard let constraint = entity.constraints.first(where: { $0.indexID == index }) else { return true }
      let values = try constraint.values(entity, view, id, session.schema)
      guard let builder = constraint.builder(for: values), let first = walk.earlier(builder, values, id) else {
        keepers[id] = nil
        return true
      }
      let other = keepers[first] ?? first
      let earlier = try session.existingRecord(other)
      if builder.isTruncated {
        let entity = try session.schema.entity(of: earlier, id: other)
        guard try constraint.values(entity, earlier, other, session.schema) == values else { return true }
      }
      let isFirst =
        run.isDoubtful(other) == run.isDoubtful(id) ? earlier.commit >= view.commit : run.isDoubtful(id)
      let loser = isFirst ? id : other
      if !isFirst { keepers[first] = id }
      // A value removed for one constraint may resolve another one: the next round checks that.
      if losers.insert(loser).inserted { found.append((loser, constraint)) }
      return true
    }
    return found
  }

  /// Removes one of the values of a constraint from an object; deletes the object if none can be removed.
  private mutating func giveUp(
    _ id: ObjectID, _ constraint: CompiledConstraint, _ run: SalvageRun
  ) throws(StoreError) {
    // It may have been deleted for another constraint.
    guard try session.exists(id) else { return }
    let entity = try session.load(id)
    let name = "\(entity.name)/\(id.serial)"
    let reason = "another object has the same values under \(constraint.name), which must be unique"
    switch try Surrender.find(session, id, entity, constraint) {
    case .value(let attribute):
      try session.write([(attribute, nil)], to: id, entity)
      run.lose(
        .value, object: name, property: attribute.path, breaksRule: !attribute.description.isOptional, reason)
    case .link(let relationship, let target):
      _ = try session.detach(id, relationship.code, target)
      try RelationshipLinks.detachBack(id, relationship, target, in: &session)
      run.lose(
        .link, object: name, property: relationship.name, breaksRule: !relationship.description.isOptional, reason)
    case nil:
      try tellPartners(id, entity, run)
      _ = try ObjectDeletion.deleteAll(ObjectSet([id]), in: &session)
      run.report.lostObjectCount += 1
      run.lose(.object, object: name, reason)
    }
  }

  /// Reports the links that others lose with an object.
  private mutating func tellPartners(_ id: ObjectID, _ entity: CompiledEntity, _ run: SalvageRun) throws(StoreError) {
    let name = "\(entity.name)/\(id.serial)"
    for relationship in entity.relationships where relationship.hasInverse {
      try session.forEachMemberBatch(id, relationship) { (session, members) throws(StoreError) in
        for member in members where member != id {
          let other = try session.entity(of: member)
          if let inverse = other.inverse(of: relationship) { try Self.tell(member, other, inverse, name, run, session) }
        }
      }
    }
    for code in entity.referrerCodes {
      try session.forEachBatch(session.address(id, code)) { (session, referrers) throws(StoreError) in
        for referrer in referrers where referrer != id {
          let other = try session.entity(of: referrer)
          if let link = other.relationship(referrerCode: code) {
            try Self.tell(referrer, other, link, name, run, session)
          }
        }
      }
    }
  }

  private static func tell(
    _ id: ObjectID, _ entity: CompiledEntity, _ relationship: CompiledRelationship, _ lost: String, _ run: SalvageRun,
    _ session: borrowing Session
  ) throws(StoreError) {
    let description = relationship.description
    let left = relationship.isToMany ? try session.count(id, relationship.name) - 1 : 0
    run.lose(
      .link, object: "\(entity.name)/\(id.serial)", property: relationship.name,
      breaksRule: relationship.isToMany ? left < description.minCount : !description.isOptional,
      "its target \(lost) is lost")
  }
}
