import KVCloneCore
import KVCloneModel
import KVCloneRecords

/// The operations that turn ours into the result.
extension MergeRun {
  func plan() throws -> PlannedMerge {
    let operations = OperationLog(schema, in: space)
    var counts: [String: MergeCount] = [:]
    try forEachInserted { id, entity in
      let assignments = zip(entity.attributes, try values(id, entity)).compactMap { attribute, value in
        attribute.isMerged ? MergeOperation.Assignment(attribute: attribute, value: value) : nil
      }
      try operations.insert(id, entity, assignments)
      counts[entity.name, default: .init()].inserted += 1
    }
    var updated = ObjectSet()
    try addAttributes(to: operations, &updated)
    try addLinks(to: operations, &updated)
    try addOrders(to: operations, &updated)
    try updated.forEach { (id) throws -> Bool in
      if !inserted.contains(id), let entity = try entity(id) { counts[entity.name, default: .init()].updated += 1 }
      return true
    }
    var doomed = ObjectSet()
    for ids in [deleted.all, united.keys] {
      try ids.forEach { (id) throws -> Bool in
        if let entity = try ours.now.entity(of: id), doomed.insert(id) {
          counts[entity.name, default: .init()].deleted += 1
        }
        return true
      }
    }
    operations.delete(doomed)
    resolver.resolved.sort()
    return PlannedMerge(
      conflicts: resolver.resolved.resolvedList, openConflicts: resolver.resolved.openList,
      staleAnswers: resolver.staleConflicts(), issues: issues.issues, issueCount: issues.count,
      counts: counts,
      changes: PlannedChanges(operations, united: united, inserted: inserted, attributes: attributes))
  }

  private func addAttributes(to operations: OperationLog, _ updated: inout ObjectSet) throws {
    try attributes.owners.forEach { (id) throws -> Bool in
      _ = updated.insert(id)
      guard !inserted.contains(id), let entity = try entity(id) else { return true }
      let assignments = entity.attributes.indices.compactMap { index in
        attributes.value(index, of: id).map { value in
          MergeOperation.Assignment(attribute: entity.attributes[index], value: value)
        }
      }
      try operations.set(id, entity, assignments)
      return true
    }
  }

  private func addLinks(to operations: OperationLog, _ updated: inout ObjectSet) throws {
    try forEachRelationship(of: links.owners) { place, entity, relationship in
      guard links.isChanged(place), try isPresent(place.owner) else { return }
      _ = updated.insert(place.owner)
      guard ends.isCompared(relationship) else { return }
      let added = links.members(true, at: place)
      if relationship.isToMany {
        try operations.changeMembers(
          place.owner, entity, relationship, added: added, removed: links.members(false, at: place))
      } else {
        try operations.setTarget(place.owner, entity, relationship, added.first)
      }
    }
  }

  private func addOrders(to operations: OperationLog, _ updated: inout ObjectSet) throws {
    try forEachRelationship(of: orders.owners) { place, entity, relationship in
      guard let list = orders[place], try isPresent(place.owner) else { return }
      _ = updated.insert(place.owner)
      try operations.setOrder(place.owner, entity, relationship, list)
    }
  }

  /// Whether ours has an object, or the result inserts it: links of objects that are about to be deleted are changed,
  /// too.
  private func isPresent(_ id: ObjectID) throws -> Bool {
    try inserted.contains(id) || ours.now.entity(of: id) != nil
  }
}
