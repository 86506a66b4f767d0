import KVCloneCore
import KVCloneModel
import KVCloneRecords

/// Uniqueness constraints: only the result counts (M5).
extension MergeRun {
  /// Two objects of the result with the same values under one constraint or several.
  private struct Pair: Hashable, BitwiseCopyable {
    let first: UInt64
    let second: UInt64

    init(_ one: ObjectID, _ other: ObjectID) {
      (first, second) = (min(one, other).rawValue, max(one, other).rawValue)
    }
  }

  /// The steps, each of which looks at all objects with new values.
  private enum UnionStep: CaseIterable {
    /// Counts the objects that each one could be united with.
    case pair
    case unite
    /// Notes the violations that remain.
    case validate
  }

  /// Unites new objects with those of the other side that have the same unique values, and notes all other violations.
  ///
  /// An object with the values of two different ones is united with neither: that would also unite these two.
  func uniteObjects(_ clones: CloneRemainder?) throws {
    let open = ScratchMap<Pair, Bool>(in: space)
    let partners = ObjectMap(in: space)
    let seconds = ScratchMap<WideHash, UInt64>(in: space)
    var ambiguous = ObjectSet()
    for step in UnionStep.allCases {
      if step == .unite, partners.isEmpty { continue }
      if step == .validate { try redirectAnsweredLinks() }
      let keys = ScratchMap<WideHash, UInt64>(in: space)
      let candidates = try objectsWithNewKeys()
      try candidates.forEach { (id) throws -> Bool in
        guard let entity = try entity(id) else { return true }
        for constraint in entity.constraints {
          guard !undecided.contains(id), let key = try key(constraint, id, entity) else { continue }
          let restored = inserted.contains(id) ? id : nil
          if step == .validate, let clone = try clones?.keptHolder(of: constraint, key, besides: restored) {
            noteUniqueness(constraint, id, entity, holder: clone)
          }
          guard let holder = try holder(constraint, key, id, candidates, keys) else { continue }
          let pair = Pair(id, holder)
          if open[pair] != nil { continue }
          switch step {
          case .pair:
            // Three objects with the same values: only two of them can have these on a side.
            let hash = Self.hash(constraint, key)
            if let second = seconds[hash].map(ObjectID.init(rawValue:)), second != id {
              for id in [holder, second, id] { _ = ambiguous.insert(id) }
            }
            try seconds.set(hash, to: id.rawValue)
            guard try rivals(id, holder, constraint, key) != nil else { continue }
            for (one, other) in [(id, holder), (holder, id)] {
              if let known = partners[one], known != other { _ = ambiguous.insert(one) }
              try partners.set(one, to: other)
            }
          case .unite:
            guard !ambiguous.contains(id), !ambiguous.contains(holder),
              let rivals = try rivals(id, holder, constraint, key)
            else { continue }
            if try !unite(rivals, constraint) { try open.set(pair, to: true) }
            if united[id] != nil { return true }
          case .validate: noteUniqueness(constraint, id, entity, holder: holder)
          }
        }
        return true
      }
    }
  }

  /// Leads links to objects that were united, and which only an answer gave, to those that remain.
  private func redirectAnsweredLinks() throws {
    if united.isEmpty { return }
    try forEachRelationship(of: links.owners) { place, _, relationship in
      for member in links.members(true, at: place) {
        guard let remaining = united[member] else { continue }
        try removeLink(place.owner, relationship, member)
        try addLink(place.owner, relationship, remaining)
      }
    }
  }

  private func noteUniqueness(
    _ constraint: CompiledConstraint, _ id: ObjectID, _ entity: CompiledEntity, holder: ObjectID
  ) {
    issues.note(
      PlanIssue(
        entity.issue(
          .uniquenessConflict, constraint.name, id,
          "must be unique, and object \(holder.serial) has the same values in the result; change one of them")))
  }

  /// Returns the objects with other unique values than in ours.
  private func objectsWithNewKeys() throws -> ObjectSet {
    var ids = inserted.copy()
    var changed = attributes.owners.copy()
    changed.formUnion(links.owners)
    try changed.forEach { (id) throws -> Bool in
      guard !ids.contains(id), let entity = try entity(id) else { return true }
      let isNew = entity.constraints.contains { constraint in
        constraint.columns.contains { column in
          switch column {
          case .attribute(let index): attributes.value(index, of: id) != nil
          case .toOne(let index): links.isChanged(PropertyPlace(owner: id, code: entity.relationships[index].code))
          }
        }
      }
      if isNew { _ = ids.insert(id) }
      return true
    }
    return ids
  }

  /// The values of an object under a constraint; nil if a value is nil, or is not known before the merge.
  private func key(_ constraint: CompiledConstraint, _ id: ObjectID, _ entity: CompiledEntity) throws -> UniqueKey? {
    let values = try self.values(id, entity)
    return try key(constraint, id, entity, values) { relationship in
      // A link to a deleted object that is denied may still be there, depending on the side with the deletion.
      guard let target = try target(id, relationship), try self.entity(target) != nil else { return nil }
      return target
    }
  }

  private func key(
    _ constraint: CompiledConstraint, _ id: ObjectID, _ entity: CompiledEntity, _ values: [AttributeValue?],
    _ target: (CompiledRelationship) throws -> ObjectID?
  ) throws -> UniqueKey? {
    var columns: [AttributeValue?] = []
    for column in constraint.columns {
      let code: UInt16
      switch column {
      case .attribute(let index):
        if entity.attributes[index].isDerived { return nil }
        code = entity.attributes[index].code
        columns.append(values[index])
      case .toOne(let index):
        code = entity.relationships[index].code
        columns.append(try target(entity.relationships[index]).map(CompiledConstraint.column))
      }
      if undecidedPlaces.contains(PropertyPlace(owner: id, code: code)) { return nil }
    }
    return UniqueKey(constraint, columns)
  }

  /// Whether an object has a key in one state.
  private func has(
    _ key: UniqueKey, _ id: ObjectID, _ constraint: CompiledConstraint, in state: any MergeState
  ) throws -> Bool {
    guard let entity = try state.entity(of: id), let own = constraint.inherited(by: entity) else { return false }
    return try self.key(own, id, entity, state.values(of: id, entity)) { try state.target(of: id, $0) } == key
  }

  private static func hash(_ constraint: CompiledConstraint, _ key: UniqueKey) -> WideHash {
    WideHash { hasher in
      hasher.combine(constraint.indexID)
      hasher.combine(key)
    }
  }

  /// Returns another object of the result with the same values.
  private func holder(
    _ constraint: CompiledConstraint, _ key: UniqueKey, _ id: ObjectID, _ candidates: ObjectSet,
    _ keys: ScratchMap<WideHash, UInt64>
  ) throws -> ObjectID? {
    let hash = Self.hash(constraint, key)
    if let known = keys[hash].map(ObjectID.init(rawValue:)), try entity(known) != nil { return known }
    try keys.set(hash, to: id.rawValue)
    for other in try ours.now.holders(of: constraint, key) where other != id && !candidates.contains(other) {
      guard !undecided.contains(other), let entity = try entity(other), let own = constraint.inherited(by: entity)
      else {
        continue
      }
      if try self.key(own, other, entity) == key { return other }
    }
    return nil
  }

  // MARK: Uniting

  /// Two objects that may be united.
  private struct Rivals {
    let ours: ObjectID
    let theirs: ObjectID
    /// The one that remains: that of the base, else that of ours.
    let remaining: ObjectID

    var other: ObjectID { remaining == ours ? theirs : ours }
  }

  /// Returns the two objects if one is new on its side, and each side has the values; nil for other violations. Objects
  /// of different entities cannot be united without losing properties, or links that lead to only one of the entities.
  private func rivals(_ one: ObjectID, _ two: ObjectID, _ constraint: CompiledConstraint, _ key: UniqueKey) throws
    -> Rivals?
  {
    guard try entity(one)?.code == entity(two)?.code else { return nil }
    for (mine, other) in [(one, two), (two, one)] {
      guard try has(key, mine, constraint, in: ours.now), try has(key, other, constraint, in: theirs.now) else {
        continue
      }
      if try theirs.hasInserted(other) && !restored.contains(other) {
        return Rivals(ours: mine, theirs: other, remaining: mine)
      }
      if try ours.hasInserted(mine) { return Rivals(ours: mine, theirs: other, remaining: other) }
    }
    return nil
  }

  /// Returns whether the conflict of two objects has an answer, and unites them.
  private func unite(_ rivals: Rivals, _ constraint: CompiledConstraint) throws -> Bool {
    guard let entity = try entity(rivals.ours) else { return true }
    var fingerprint = ConflictFingerprint()
    fingerprint.add(rivals.ours)
    fingerprint.add(rivals.theirs)
    for (id, state) in [(rivals.ours, ours.now), (rivals.theirs, theirs.now)] {
      guard let entity = try state.entity(of: id) else { continue }
      for (attribute, value) in zip(entity.attributes, try state.values(of: id, entity)) where attribute.isMerged {
        try fingerprint.add(value, in: state)
      }
    }
    let conflict = try conflict(
      .notUnique, rivals.ours, entity, property: constraint.name, other: rivals.theirs, fingerprint: fingerprint)
    guard case .side(let side)? = try resolver.answer(conflict, side: book.side(of: entity)) else { return false }
    try uniteAttributes(rivals, preferring: side)
    try uniteLinks(rivals, preferring: side)
    try united.set(rivals.other, to: rivals.remaining)
    _ = inserted.remove(rivals.other)
    return true
  }

  private func uniteAttributes(_ rivals: Rivals, preferring side: MergeSide) throws {
    let (remaining, other) = (rivals.remaining, rivals.other)
    guard let entity = try entity(remaining) else { return }
    let (own, others) = (try values(remaining, entity), try values(other, entity))
    let prefersOwn = (side == .ours) == (remaining == rivals.ours)
    for (index, attribute) in entity.attributes.enumerated() where attribute.isMerged {
      guard let value = others[index], own[index] == nil || !prefersOwn else { continue }
      try setAttribute(index, of: remaining, to: value, insteadOf: own[index])
    }
  }

  /// Leads all links of the united object to the remaining one.
  private func uniteLinks(_ rivals: Rivals, preferring side: MergeSide) throws {
    let (remaining, other) = (rivals.remaining, rivals.other)
    guard let entity = try entity(remaining) else { return }
    try uniteTargets(rivals, entity, prefersOwn: (side == .ours) == (remaining == rivals.ours))
    for relationship in entity.relationships where relationship.isToMany {
      for member in try members(other, relationship) {
        try removeLink(other, relationship, member)
        try addLink(remaining, relationship, member == other ? remaining : member)
      }
    }
    for code in entity.referrerCodes {
      for referrer in try referrers(of: other, code) {
        guard let relationship = try self.entity(referrer)?.relationship(referrerCode: code),
          try hasMember(other, referrer, relationship)
        else { continue }
        try removeLink(referrer, relationship, other)
        try addLink(referrer, relationship, remaining)
      }
    }
  }

  /// Gives the remaining object one of the targets of both. A link between the two becomes a link of the remaining one
  /// to itself only if neither has another partner there, so that no object loses its partner to it.
  private func uniteTargets(_ rivals: Rivals, _ entity: CompiledEntity, prefersOwn: Bool) throws {
    let (remaining, other) = (rivals.remaining, rivals.other)
    var targets: [UInt16: ObjectID] = [:]
    var linked: Set<UInt16> = []
    for relationship in entity.relationships where !relationship.isToMany {
      for id in prefersOwn ? [remaining, other] : [other, remaining] {
        guard let target = try target(id, relationship), try self.entity(target) != nil else { continue }
        if target == remaining || target == other {
          linked.insert(relationship.code)
        } else if targets[relationship.code] == nil {
          targets[relationship.code] = target
        }
      }
    }
    for relationship in entity.relationships where !relationship.isToMany {
      for id in [remaining, other] { try setTarget(id, relationship, nil) }
    }
    for relationship in entity.relationships where !relationship.isToMany {
      if let target = targets[relationship.code] {
        try setTarget(remaining, relationship, target)
      } else if linked.contains(relationship.code),
        relationship.inverseIsToMany || targets[relationship.inverseCode] == nil
      {
        try setTarget(remaining, relationship, remaining)
      }
    }
  }

  private func referrers(of id: ObjectID, _ code: UInt16) throws -> [ObjectID] {
    Set(try ours.now.referrers(of: id, code)).union(try theirs.now.referrers(of: id, code)).sorted()
  }
}

extension CompiledConstraint {
  /// The same constraint with the columns of another entity; nil if that does not have it.
  fileprivate func inherited(by entity: CompiledEntity) -> CompiledConstraint? {
    entity.constraints.first { $0.indexID == indexID }
  }
}
