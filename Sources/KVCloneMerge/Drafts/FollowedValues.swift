import KVClone
import KVCloneCore
import KVCloneModel
import KVCloneRecords

/// The values that objects made below clones, and clones in the place of their source, take over from the sources:
/// attributes with `followParent` that still have the clone's value (P4).
struct FollowedValues {
  private let states: DraftStates
  private let keys: CloneUserInfoKeys
  /// The sources that clones take the place of (P5).
  private let restored: [ObjectID]
  /// The values that the merge sets, by object and attribute.
  private var results: [ObjectID: [UInt16: AttributeValue?]] = [:]

  init(_ states: DraftStates, _ plan: PlannedMerge, _ keys: CloneUserInfoKeys) {
    self.states = states
    self.keys = keys
    restored = plan.insertedObjects.filter { states.clones[$0] != nil }
    for case .set(let id, _, let assignments) in plan.operations {
      for assignment in assignments { results[id, default: [:]][assignment.attribute.code] = .some(assignment.value) }
    }
  }

  func operations() throws -> [MergeOperation] {
    var operations: [MergeOperation] = []
    let theirs = states.sides.theirs.now
    var ids = restored
    states.inserted.forEach { id in
      ids.append(id)
      return true
    }
    for id in ids {
      guard states.sources[id] == nil, let entity = try theirs.entity(of: id) else { continue }
      let rules = entity.attributes.indices.compactMap { index -> (index: Int, name: String)? in
        let attribute = entity.attributes[index]
        guard attribute.field != nil, !attribute.isDerived,
          let name = attribute.description.cloneRule(keys).followParent
        else { return nil }
        return (index, name)
      }
      if rules.isEmpty { continue }
      let values = try theirs.values(of: id, entity)
      var assignments: [MergeOperation.Assignment] = []
      for rule in rules {
        let change = try followed(rule.name, by: id, entity, values[rule.index])
        guard let change else { continue }
        assignments.append(.init(attribute: entity.attributes[rule.index], value: change))
      }
      if !assignments.isEmpty { operations.append(.set(id, entity, assignments)) }
    }
    return operations
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
        let code = parent.attributes[index].code
        if let result = results[source]?[code] { return result == value ? nil : .some(result) }
        guard try states.sides.ours.now.entity(of: source) != nil else { return nil }
        let present = try states.sides.ours.now.values(of: source, parent)[index]
        return present == value ? nil : .some(present)
      }
    }
    return nil
  }
}
