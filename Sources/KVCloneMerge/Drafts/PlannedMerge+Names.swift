import KVCloneCore
import KVCloneLMDB
import KVCloneModel
import KVCloneRecords

extension PlannedMerge {
  /// The plan with the clones of some objects in their place, which exist already.
  ///
  /// - Parameters:
  ///   - restored: the objects to replace.
  ///   - clones: the clone of each.
  ///   - hidden: the objects that stay in lists though the plan does not know them.
  func naming(
    _ restored: ObjectSet, _ clones: ObjectMap, keeping hidden: ObjectSet, _ session: borrowing Session,
    _ space: ScratchSpace
  ) throws(StoreError) -> PlannedMerge {
    if restored.isEmpty, hidden.isEmpty { return self }
    func name(_ id: ObjectID) -> ObjectID { restored.contains(id) ? clones[id] ?? id : id }
    let renamed = OperationLog(session.schema, in: space)
    try operations.forEach { (operation, entity) throws(StoreError) in
      guard let entity else { return }
      switch operation {
      case .insert(let id, _, let values):
        if restored.contains(id) {
          try renamed.set(name(id), entity, values)
        } else {
          try renamed.insert(id, entity, values)
        }
      case .set(let id, _, let values): try renamed.set(name(id), entity, values)
      case .setTarget(let id, let relationship, let target):
        try renamed.setTarget(name(id), entity, relationship, target.map(name))
      case .changeMembers(let id, let relationship, let added, let removed):
        try renamed.changeMembers(
          name(id), entity, relationship, added: added.map(name), removed: removed.map(name))
      case .setOrder(let id, let relationship, let members):
        var members = members.map(name)
        if !hidden.isEmpty, try session.exists(name(id)) {
          let known = ObjectSet(members)
          members += try session.members(name(id), relationship).filter { hidden.contains($0) && !known.contains($0) }
        }
        try renamed.setOrder(name(id), entity, relationship, members)
      case .delete: break
      }
    }
    // The deletion names objects of ours, which have no clone in their place.
    renamed.delete(operations.deleted)
    var plan = self
    plan.changes = PlannedChanges(
      renamed, united: changes.united, inserted: changes.inserted, attributes: changes.attributes)
    return plan
  }
}
