import KVClone
import KVCloneCore
import KVCloneModel
import KVCloneRecords

/// The values that objects made below clones, and clones in the place of their source, take over from the sources:
/// attributes with `followParent` that still have the clone's value (P4).
struct FollowedValues {
  private let states: DraftStates
  private let keys: CloneUserInfoKeys

  init(_ states: DraftStates, _ keys: CloneUserInfoKeys) {
    self.states = states
    self.keys = keys
  }

  /// Adds the values to the result of a merge.
  ///
  /// - Parameter inserted: the objects that the merge inserts.
  func add(to attributes: MergedAttributes, _ inserted: ObjectSet) throws {
    // The sources that clones take the place of (P5).
    try inserted.forEach { (id) throws -> Bool in
      if states.clones[id] != nil { try add(of: id, to: attributes, inserted) }
      return true
    }
    var waiting = states.inserted
    while !waiting.isEmpty {
      var changed = ObjectSet()
      try waiting.forEach { (id) throws -> Bool in
        if try add(of: id, to: attributes, inserted) { _ = changed.insert(id) }
        return true
      }
      // An object below another new one follows that one's new value.
      waiting = try linkedNewObjects(of: changed)
    }
  }

  /// Returns the new objects that are linked to some objects.
  private func linkedNewObjects(of ids: ObjectSet) throws -> ObjectSet {
    var found = ObjectSet()
    let theirs = states.sides.theirs.now
    try ids.forEach { (id) throws -> Bool in
      guard let entity = try theirs.entity(of: id) else { return true }
      for relationship in entity.relationships where relationship.hasInverse {
        for member in try theirs.members(of: id, relationship) where states.inserted.contains(member) {
          _ = found.insert(member)
        }
      }
      for code in entity.referrerCodes {
        for referrer in try theirs.referrers(of: id, code) where states.inserted.contains(referrer) {
          _ = found.insert(referrer)
        }
      }
      return true
    }
    return found
  }

  /// - Returns: whether the object got a value.
  @discardableResult
  private func add(of id: ObjectID, to attributes: MergedAttributes, _ inserted: ObjectSet) throws -> Bool {
    let theirs = states.sides.theirs.now
    guard states.sources[id] == nil, let entity = try theirs.entity(of: id) else { return false }
    let rules = entity.attributes.indices.compactMap { index -> (index: Int, name: String)? in
      let attribute = entity.attributes[index]
      guard attribute.field != nil, !attribute.isDerived,
        let name = attribute.description.cloneRule(keys).followParent
      else { return nil }
      return (index, name)
    }
    if rules.isEmpty { return false }
    let values = try theirs.values(of: id, entity)
    var isChanged = false
    for rule in rules where attributes.value(rule.index, of: id) == nil {
      let change = try followed(rule.name, by: id, entity, values[rule.index], attributes, inserted)
      guard let change else { continue }
      try attributes.set(rule.index, of: id, to: change)
      isChanged = true
    }
    return isChanged
  }

  /// The value of the source of the first clone that the object is linked to, if the object has that clone's value; or
  /// the one that a new object took over, if it has that object's former value.
  private func followed(
    _ name: String, by id: ObjectID, _ entity: CompiledEntity, _ value: AttributeValue?,
    _ attributes: MergedAttributes, _ inserted: ObjectSet
  ) throws -> AttributeValue?? {
    for relationship in entity.relationships {
      for source in try states.sides.theirs.now.members(of: id, relationship) {
        guard let parent = try states.sides.theirs.now.entity(of: source), let index = parent.attributeIndex[name]
        else { continue }
        guard let clone = states.clones[source] else {
          guard states.inserted.contains(source), let result = attributes.value(index, of: source),
            try states.sides.theirs.now.values(of: source, parent)[index] == value
          else { continue }
          return result == value ? nil : .some(result)
        }
        let session = states.session
        guard try session.exists(clone), try session.value(clone, name) == value else { return nil }
        if !inserted.contains(source), let result = attributes.value(index, of: source) {
          return result == value ? nil : .some(result)
        }
        guard try states.sides.ours.now.entity(of: source) != nil else { return nil }
        let present = try states.sides.ours.now.values(of: source, parent)[index]
        return present == value ? nil : .some(present)
      }
    }
    return nil
  }
}
