import KVCloneCore
import KVCloneModel
import KVCloneRecords

/// Values that have to be unique, and are not.
extension SalvageMend {
  /// Two objects may have the same values under a uniqueness constraint where one of them is older than the state. Then the one of which
  /// less is sure loses its value, or, where that is derived, what it is derived from.
  func resolveDuplicates() throws(StoreError) {
    guard schema.entities.contains(where: { !$0.constraints.isEmpty }) else { return }
    // Who gave something up has it no more when the next round looks; what else it has may be another one's, too.
    for _ in 0..<64 {
      try run.steps.check()
      var session = try writeSession()
      let losers = try session.duplicates(run)
      for (id, constraint) in losers { try session.giveUp(id, constraint, run) }
      try session.refreshDerived()
      try session.commitStorage()
      if losers.isEmpty { return }
    }
  }
}

/// What an object can do without, so that its values are others.
enum Surrender {
  case value(CompiledAttribute)
  case link(CompiledRelationship, ObjectID)
}

extension Session {
  /// Objects that have the same values under a uniqueness constraint as another one, which has more right to them.
  fileprivate borrowing func duplicates(_ run: SalvageRun) throws(StoreError) -> [(ObjectID, CompiledConstraint)] {
    var walk = IndexWalk()
    // By the first of those with the same values: the one that has most right to them so far.
    var keepers: [ObjectID: ObjectID] = [:]
    var losers = Set<ObjectID>()
    var found: [(ObjectID, CompiledConstraint)] = []
    try forEachEntry(schema.tables.indexes) { (key, _) throws(StoreError) in
      guard let id = try? IndexKey.objectID(of: copy key), let index = try? IndexKey.indexID(of: copy key) else {
        return true
      }
      let view = try existingRecord(id)
      let entity = try schema.entity(of: view, id: id)
      guard let constraint = entity.constraints.first(where: { $0.indexID == index }) else { return true }
      let values = try constraint.values(entity, view, id, schema)
      guard let builder = constraint.builder(for: values), let first = walk.earlier(builder, values, id) else {
        keepers[id] = nil
        return true
      }
      let other = keepers[first] ?? first
      let earlier = try existingRecord(other)
      if builder.isTruncated {
        let entity = try schema.entity(of: earlier, id: other)
        guard try constraint.values(entity, earlier, other, schema) == values else { return true }
      }
      let isFirst =
        run.isDoubtful(other) == run.isDoubtful(id) ? earlier.commit >= view.commit : run.isDoubtful(id)
      let loser = isFirst ? id : other
      if !isFirst { keepers[first] = id }
      // What it gives up for one constraint may be enough for another one: the next round sees.
      if losers.insert(loser).inserted { found.append((loser, constraint)) }
      return true
    }
    return found
  }

  /// Takes one of the values of a constraint from an object; where there is none that could be taken, the object goes.
  fileprivate mutating func giveUp(
    _ id: ObjectID, _ constraint: CompiledConstraint, _ run: SalvageRun
  ) throws(StoreError) {
    // It may be gone already, for another constraint.
    guard try exists(id) else { return }
    let entity = try load(id)
    let name = "\(entity.name)/\(id.serial)"
    let reason = "another object has the same values under \(constraint.name), which must be unique"
    switch try surrender(id, entity, constraint) {
    case .value(let attribute):
      try write([(attribute, nil)], to: id, entity)
      run.lose(
        .value, object: name, property: attribute.path, breaksRule: !attribute.description.isOptional, reason)
    case .link(let relationship, let target):
      _ = try detach(id, relationship.code, target)
      try detachBack(id, relationship, target)
      run.lose(
        .link, object: name, property: relationship.name, breaksRule: !relationship.description.isOptional, reason)
    case nil:
      try tellPartners(id, entity, run)
      _ = try deleteAll(ObjectSet([id]))
      run.report.lostObjectCount += 1
      run.lose(.object, object: name, reason)
    }
  }

  /// The first of the values that is the object's own, else what the first of the derived ones is made of.
  borrowing func surrender(
    _ id: ObjectID, _ entity: CompiledEntity, _ constraint: CompiledConstraint
  ) throws(StoreError) -> Surrender? {
    for column in constraint.columns {
      switch column {
      case .attribute(let index):
        if !entity.attributes[index].isDerived { return .value(entity.attributes[index]) }
      case .toOne(let index):
        let relationship = entity.relationships[index]
        if let target = try toOne(id, relationship) { return .link(relationship, target) }
      }
    }
    for case .attribute(let index) in constraint.columns {
      if let source = try source(of: entity.attributes[index], id, entity) { return source }
    }
    return nil
  }

  /// What of an object a derived attribute is made of; nil where that is nothing of its own, or the members of a list: without them it
  /// could have the same values as others.
  private borrowing func source(
    of attribute: CompiledAttribute, _ id: ObjectID, _ entity: CompiledEntity
  ) throws(StoreError) -> Surrender? {
    var attribute = attribute
    // What is derived may be made of what is derived, and never of itself.
    while attribute.isDerived {
      let own = schema.derivations.entity(entity.code)?.own.first { $0.attribute.code == attribute.code }
      guard let derivation = own?.derivation else { return nil }
      if let hop = derivation.hops.first {
        guard !hop.isToMany, let index = entity.relationshipIndexByCode[hop.code],
          let target = try toOne(id, entity.relationships[index])
        else { return nil }
        return .link(entity.relationships[index], target)
      }
      guard let source = derivation.source, let known = entity.attributes.first(where: { $0.code == source.code })
      else { return nil }
      attribute = known
    }
    let view = try existingRecord(id)
    guard let preset = attribute.field, let field = entity.field(preset, code: attribute.code, in: view),
      !view.isNull(field)
    else { return nil }
    return .value(attribute)
  }

  /// Tells the links that others lose with an object.
  private mutating func tellPartners(_ id: ObjectID, _ entity: CompiledEntity, _ run: SalvageRun) throws(StoreError) {
    let name = "\(entity.name)/\(id.serial)"
    for relationship in entity.relationships where relationship.hasInverse {
      try forEachMemberBatch(id, relationship) { (session, members) throws(StoreError) in
        for member in members where member != id {
          let other = try session.entity(of: member)
          if let inverse = other.inverse(of: relationship) { try session.tell(member, other, inverse, name, run) }
        }
      }
    }
    for code in entity.referrerCodes {
      try forEachBatch(address(id, code)) { (session, referrers) throws(StoreError) in
        for referrer in referrers where referrer != id {
          let other = try session.entity(of: referrer)
          if let link = other.relationship(referrerCode: code) { try session.tell(referrer, other, link, name, run) }
        }
      }
    }
  }

  private borrowing func tell(
    _ id: ObjectID, _ entity: CompiledEntity, _ relationship: CompiledRelationship, _ lost: String, _ run: SalvageRun
  ) throws(StoreError) {
    let description = relationship.description
    let left = relationship.isToMany ? try count(id, relationship.name) - 1 : 0
    run.lose(
      .link, object: "\(entity.name)/\(id.serial)", property: relationship.name,
      breaksRule: relationship.isToMany ? left < description.minCount : !description.isOptional,
      "its target \(lost) is lost")
  }
}
