import KVClone
import KVCloneCore
import KVCloneModel
import KVCloneRecords

/// The values that objects made below clones, and clones in the place of their source, take over from the sources:
/// attributes with `followParent` that still have the clone's value (P4).
struct FollowedValues {
  private let states: DraftStates
  private let plan: PlannedChanges
  private let keys: CloneUserInfoKeys

  init(_ states: DraftStates, _ plan: PlannedChanges, _ keys: CloneUserInfoKeys) {
    self.states = states
    self.plan = plan
    self.keys = keys
  }

  func addOperations() throws {
    // The sources that clones take the place of (P5).
    try plan.inserted.forEach { (id) throws -> Bool in
      if states.clones[id] != nil { try addOperation(on: id) }
      return true
    }
    try states.inserted.forEach { (id) throws -> Bool in
      try addOperation(on: id)
      return true
    }
  }

  private func addOperation(on id: ObjectID) throws {
    let theirs = states.sides.theirs.now
    guard states.sources[id] == nil, let entity = try theirs.entity(of: id) else { return }
    let rules = entity.attributes.indices.compactMap { index -> (index: Int, name: String)? in
      let attribute = entity.attributes[index]
      guard attribute.field != nil, !attribute.isDerived,
        let name = attribute.description.cloneRule(keys).followParent
      else { return nil }
      return (index, name)
    }
    if rules.isEmpty { return }
    let values = try theirs.values(of: id, entity)
    var assignments: [MergeOperation.Assignment] = []
    for rule in rules {
      let change = try followed(rule.name, by: id, entity, values[rule.index])
      guard let change else { continue }
      assignments.append(.init(attribute: entity.attributes[rule.index], value: change))
    }
    if !assignments.isEmpty { try plan.operations.set(id, entity, assignments) }
  }

  /// The value of the source of the first clone that the object is linked to, if the object has that clone's value.
  private func followed(
    _ name: String, by id: ObjectID, _ entity: CompiledEntity, _ value: AttributeValue?
  ) throws -> AttributeValue?? {
    for relationship in entity.relationships {
      for source in try states.sides.theirs.now.members(of: id, relationship) {
        guard let clone = states.clones[source], let parent = try states.sides.theirs.now.entity(of: source),
          let index = parent.attributeIndex[name]
        else { continue }
        let session = states.session
        guard try session.exists(clone), try session.value(clone, name) == value else { return nil }
        if !plan.inserted.contains(source), let result = plan.attributes.value(index, of: source) {
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
