import KVCloneCore
import KVCloneModel

/// The operations that turn ours into the result.
extension MergeRun {
  func plan() throws -> PlannedMerge {
    var operations: [MergeOperation] = []
    var counts: [String: MergeCount] = [:]
    var updated = Set(attributes.keys).union(orders.keys.map(\.owner))
    for (id, entity) in inserted.sorted(by: { $0.key < $1.key }) {
      let assignments = zip(entity.attributes, try values(id, entity)).compactMap { attribute, value in
        attribute.isMerged ? MergeOperation.Assignment(attribute: attribute, value: value) : nil
      }
      operations.append(.insert(id, entity, assignments))
      counts[entity.name, default: .init()].inserted += 1
    }
    for (id, values) in attributes.sorted(by: { $0.key < $1.key }) where inserted[id] == nil {
      guard let entity = try entity(id) else { continue }
      let assignments = values.sorted { $0.key < $1.key }.map { index, value in
        MergeOperation.Assignment(attribute: entity.attributes[index], value: value)
      }
      operations.append(.set(id, entity, assignments))
    }
    for (place, difference) in links.differences.sorted(by: { $0.key < $1.key }) where !difference.isEmpty {
      updated.insert(place.owner)
      guard let relationship = try relationship(place), ends.isCompared(relationship) else { continue }
      operations.append(
        relationship.isToMany
          ? .changeMembers(
            place.owner, relationship, added: difference.added.sorted(), removed: difference.removed.sorted())
          : .setTarget(place.owner, relationship, difference.added.first))
    }
    for (place, list) in orders.sorted(by: { $0.key < $1.key }) {
      guard let relationship = try relationship(place) else { continue }
      operations.append(.setOrder(place.owner, relationship, list))
    }
    let doomed = try (Array(deleted.keys) + united.keys).filter { try ours.now.entity(of: $0) != nil }.sorted()
    for id in doomed {
      guard let entity = try ours.now.entity(of: id) else { continue }
      counts[entity.name, default: .init()].deleted += 1
    }
    if !doomed.isEmpty { operations.append(.delete(doomed)) }
    for id in updated where inserted[id] == nil {
      guard let entity = try entity(id) else { continue }
      counts[entity.name, default: .init()].updated += 1
    }
    return PlannedMerge(
      conflicts: resolver.resolved.sorted { $0.conflict.place < $1.conflict.place },
      staleAnswers: resolver.staleConflicts(), issues: issues.issues, issueCount: issues.count,
      operations: operations, counts: counts, united: united)
  }

  /// The relationship of an object that ours has or the result inserts: links of objects that are about to be deleted
  /// are changed, too.
  private func relationship(_ place: LinkPlace) throws -> CompiledRelationship? {
    let entity = try inserted[place.owner] ?? ours.now.entity(of: place.owner)
    guard let entity, let index = entity.relationshipIndexByCode[place.code] else { return nil }
    return entity.relationships[index]
  }
}
