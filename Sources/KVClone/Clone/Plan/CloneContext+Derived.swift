import KVCloneCore
import KVCloneModel
import KVCloneRecords

/// The derived values that a clone operation has computed, and the depth of the current computation.
struct FutureValues {
  /// An object in the state after the commit: the clone of a source, or a stored one.
  struct Object: Hashable {
    let id: ObjectID
    let isClone: Bool
  }

  /// A derived attribute of an object.
  struct Key: Hashable {
    let object: Object
    let derivation: Int
  }

  /// The value is unknown before the commit: in another store or a later state, which have other objects outside the
  /// clones, and for UUIDs that differ in every copy.
  struct Unknown: Error {}

  /// The value of another attribute is needed first: long chains must not use the call stack (R3).
  struct TooDeep: Error { let key: Key }

  /// The maximum depth of dependent values on the call stack, before one of them is computed separately.
  static let depthLimit = 16
  /// The number of recently used values that are kept, twice.
  private static let recentLimit = 2048

  var depth = 0
  /// Whether a value is, or depends on, the time of the commit.
  var tellTheTime = false
  private var recent: [Key: AttributeValue?] = [:]
  private var older: [Key: AttributeValue?] = [:]
  /// Cached values of long chains, at intervals that keep memory flat.
  private var landmarks: [Key: AttributeValue?] = [:]

  /// Returns a cached value, and keeps it among the recent ones.
  mutating func value(_ key: Key) -> AttributeValue?? {
    if let known = recent[key] { return known }
    if let known = older[key] {
      note(key, known)
      return known
    }
    return landmarks[key]
  }

  mutating func note(_ key: Key, _ value: AttributeValue?, isLandmark: Bool = false) {
    if isLandmark {
      landmarks[key] = .some(value)
      return
    }
    if recent.count >= Self.recentLimit {
      older = recent
      recent = [:]
    }
    recent[key] = .some(value)
  }

  /// Removes the values of clones, for another copy; those of stored objects are equal for all.
  mutating func removeClones() {
    recent = recent.filter { !$0.key.object.isClone }
    older = older.filter { !$0.key.object.isClone }
    landmarks = landmarks.filter { !$0.key.object.isClone }
  }
}

/// Derived attributes as they will be after the clone's commit, before any of its objects exists: for attributes that
/// follow them (R17), for uniqueness constraints (R24), and for counting bytes (R36).
///
/// Everything is computed from attributes that are not derived, by the rules of the clone: stored derived values are
/// outdated, and outside objects' lists gain the clones (R9).
extension CloneContext {
  /// The value of a derived attribute on the clone of a source; nil if its expression yields none.
  ///
  /// - Throws: `CloneError` `parentUnavailable` if a value depends on itself through the clone's rules;
  ///   `FutureValues.Unknown` across stores, and from a snapshot, if it depends on objects outside.
  func derivedValue(of attribute: CompiledAttribute, _ id: ObjectID, _ session: borrowing Session) throws
    -> AttributeValue?
  {
    try derivedValue(of: attribute, FutureValues.Object(id: id, isClone: true), try session.entity(of: id), session)
  }

  private func derivedValue(
    of attribute: CompiledAttribute, _ object: FutureValues.Object, _ entity: CompiledEntity,
    _ session: borrowing Session
  ) throws -> AttributeValue? {
    guard isDerivedAlike(attribute, entity) else { throw FutureValues.Unknown() }
    let own = schema.derivations.entity(entity.code)?.own
    guard let derivation = own?.first(where: { $0.attribute.code == attribute.code })?.derivation else { return nil }
    let key = FutureValues.Key(object: object, derivation: derivation.index)
    if let known = futures.value(key) { return known }
    if futures.depth == 0 { return try workOut(key, session) }
    if futures.depth >= FutureValues.depthLimit { throw FutureValues.TooDeep(key: key) }
    futures.depth += 1
    defer { futures.depth -= 1 }
    let value = try compute(derivation, object, session)
    // Expensive to compute, and possibly used often.
    if case .aggregate = derivation.function { futures.note(key, value) }
    return value
  }

  /// Whether the attribute is derived in the same way in the destination.
  private func isDerivedAlike(_ attribute: CompiledAttribute, _ entity: CompiledEntity) -> Bool {
    guard let bridge else { return true }
    guard let other = bridge.destination.entitiesByName[entity.name], let index = other.attributeIndex[attribute.path]
    else { return false }
    let there = other.attributes[index].description
    return there.isDerived && there.type == attribute.description.type
      && there.derivationExpression == attribute.description.derivationExpression
  }

  /// Computes a value, after those that it depends on through too many others.
  private func workOut(_ key: FutureValues.Key, _ session: borrowing Session) throws -> AttributeValue? {
    var current = key
    var waiting: [FutureValues.Key] = []
    var begun: Set<FutureValues.Key> = [key]
    while true {
      do {
        futures.depth = 1
        defer { futures.depth = 0 }
        let value = try compute(schema.derivations.all[current.derivation], current.object, session)
        futures.note(current, value, isLandmark: !waiting.isEmpty)
        guard let next = waiting.popLast() else { return value }
        begun.remove(current)
        current = next
      } catch {
        guard let first = (error as? FutureValues.TooDeep)?.key else { throw error }
        guard begun.insert(first).inserted else { throw circle(first) }
        waiting.append(current)
        current = first
      }
    }
  }

  private func compute(_ derivation: Derivation, _ object: FutureValues.Object, _ session: borrowing Session) throws
    -> AttributeValue?
  {
    switch derivation.function {
    case .now: return try time(derivation, object, session)
    case .value: return try sourceValue(derivation, object, session).flatMap(derivation.type.derived)
    case .text(let function): return Derivation.text(function, try sourceValue(derivation, object, session))
    case .aggregate(.count):
      var count: Int64 = 0
      try forEachMember(derivation.hops[0], object, session) { _ in
        count += 1
        return true
      }
      return derivation.type.derived(from: .integer(count))
    case .aggregate(let function):
      guard let source = derivation.source else { return nil }
      // Rebuilt values differ in every copy.
      if derivation.type == .uuid, !object.isClone, copies > 1 { throw FutureValues.Unknown() }
      var aggregate = DerivedAggregate(function)
      try forEachMember(derivation.hops[0], object, session) { member in
        aggregate.add(try value(of: source, member, session))
        return true
      }
      return aggregate.value(derivation.type)
    }
  }

  /// `now()`: for clones, and for objects with lists that gain clones.
  private func time(_ derivation: Derivation, _ object: FutureValues.Object, _ session: borrowing Session) throws
    -> AttributeValue?
  {
    let view = try session.existingRecord(object.id)
    let entity = try schema.entity(of: view, id: object.id)
    var isTouched = object.isClone || session.changes.derived.contains(derivation, hop: 0, object.id)
    for relationship in entity.relationships where relationship.isToMany && relationship.hasInverse && !isTouched {
      try forEachMember(relationship, object, session) { member in
        isTouched = member.isClone
        return !isTouched
      }
    }
    if isTouched {
      futures.tellTheTime = true
      return .date(session.state.now ?? now)
    }
    guard let own = schema.derivations.entity(entity.code)?.attribute(of: derivation) else { return nil }
    return try session.storedValue(own, object.id, view)
  }

  /// The source attribute of an object, or of the future target of its to-one relationships; nil if one is empty.
  private func sourceValue(_ derivation: Derivation, _ object: FutureValues.Object, _ session: borrowing Session) throws
    -> AttributeValue?
  {
    guard let source = derivation.source else { return nil }
    var object = object
    for hop in derivation.hops {
      var target: FutureValues.Object?
      try forEachMember(hop, object, session) { member in
        target = member
        return false
      }
      guard let found = target else { return nil }
      object = found
    }
    return try value(of: source, object, session)
  }

  private func value(of source: CompiledAttribute, _ object: FutureValues.Object, _ session: borrowing Session) throws
    -> AttributeValue?
  {
    let view = try session.existingRecord(object.id)
    let entity = try schema.entity(of: view, id: object.id)
    guard let index = entity.attributeIndex[source.path], entity.attributes[index].field != nil else { return nil }
    let attribute = entity.attributes[index]
    if attribute.isDerived { return try derivedValue(of: attribute, object, entity, session) }
    guard object.isClone else { return try session.storedValue(attribute, object.id, view) }
    guard let plan = book.plan(entity.code) else { throw schema.corrupted(object.id, .wrongLayout) }
    return try value(of: index, plan, view, object.id, session)
  }

  /// Calls `body` with the future targets of a relationship, in the list's order, until it returns false.
  private func forEachMember(
    _ hop: CompiledRelationship, _ object: FutureValues.Object, _ session: borrowing Session,
    _ body: (FutureValues.Object) throws -> Bool
  ) throws {
    let view = try session.existingRecord(object.id)
    let entity = try schema.entity(of: view, id: object.id)
    guard let index = entity.relationshipIndexByCode[hop.code] else { return }
    let relationship = entity.relationships[index]
    // Clones come last in unordered lists, and in lists that gain some: once for every copy.
    let isSorted = relationship.isToMany && (!object.isClone || !relationship.isOrdered)
    let rounds = !isSorted ? 1 : object.isClone ? 2 : relationship.hasInverse ? 1 + copies : 1
    var failure: (any Error)?
    for round in 0..<rounds where failure == nil {
      var goesOn = true
      try session.forEachMember(object.id, relationship, in: view, entity) { (id) throws(StoreError) in
        // Only earlier members, though the list may already contain clones.
        if bridge == nil, isClone(id) { return true }
        let target: FutureValues.Object?
        if object.isClone {
          target = try self.target(of: relationship, object.id, id, entity, session)
        } else if round == 0 {
          target = FutureValues.Object(id: id, isClone: false)
        } else {
          target = try links(id, relationship, object.id, session) ? FutureValues.Object(id: id, isClone: true) : nil
        }
        guard let target, !isSorted || target.isClone == (round > 0) else { return true }
        do {
          // Objects of the other store or state, which have not been matched yet.
          if bridge != nil, !target.isClone { throw FutureValues.Unknown() }
          goesOn = try body(target)
        } catch {
          failure = error
          goesOn = false
        }
        return goesOn
      }
      if !goesOn { break }
    }
    if let failure { throw failure }
  }

  /// The future target of one link of a clone.
  private func target(
    of relationship: CompiledRelationship, _ id: ObjectID, _ target: ObjectID, _ entity: CompiledEntity,
    _ session: borrowing Session
  ) throws(StoreError) -> FutureValues.Object? {
    guard let plan = book.plan(entity.code), let index = entity.relationshipIndexByCode[relationship.code] else {
      throw schema.corrupted(id, .wrongLayout)
    }
    switch try linkTarget(plan.relationships[index], id, target, session) {
    case .clone: return FutureValues.Object(id: target, isClone: true)
    case .original: return FutureValues.Object(id: target, isClone: false)
    case .none: return nil
    }
  }

  /// Whether the clone of a member of a stored object's list becomes a member, too.
  private func links(
    _ member: ObjectID, _ relationship: CompiledRelationship, _ owner: ObjectID, _ session: borrowing Session
  ) throws(StoreError) -> Bool {
    guard mark.set.contains(member) else { return false }
    let entity = try session.entity(of: member)
    guard let inverse = entity.inverse(of: relationship) else { return false }
    return try target(of: inverse, member, owner, entity, session) == FutureValues.Object(id: owner, isClone: false)
  }

  private func circle(_ key: FutureValues.Key) -> CloneError {
    let derivation = schema.derivations.all[key.derivation]
    let entity = schema.entity(code: key.object.id.rootCode)
    let name = entity?.attributes.first { $0.code == derivation.code }?.path
    let object = schema.rootName(of: key.object.id)
    return CloneError(
      .parentUnavailable,
      "\(name ?? "a derived attribute") of the clone of \(object) is derived from values that follow it (R17); change "
        + "followParent of these to another attribute", entity: entity?.name, property: name, object: object)
  }
}
