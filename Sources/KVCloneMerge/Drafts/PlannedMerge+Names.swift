import KVCloneCore
import KVCloneModel

extension PlannedMerge {
  /// The objects that the merge inserts.
  var insertedObjects: [ObjectID] {
    operations.compactMap { if case .insert(let id, _, _) = $0 { id } else { nil } }
  }

  /// The plan with more operations before its deletions.
  func adding(_ more: [MergeOperation]) -> PlannedMerge {
    if more.isEmpty { return self }
    let start = operations.firstIndex { if case .delete = $0 { true } else { false } } ?? operations.endIndex
    return with(Array(operations[..<start]) + more + Array(operations[start...]))
  }

  /// The plan with other ids for some objects, which exist already.
  ///
  /// - Parameter hidden: the objects that stay in lists though the plan does not know them.
  func naming(_ names: [ObjectID: ObjectID], keeping hidden: [ObjectID: ObjectID], _ session: borrowing Session)
    throws(StoreError) -> PlannedMerge
  {
    if names.isEmpty, hidden.isEmpty { return self }
    func name(_ id: ObjectID) -> ObjectID { names[id] ?? id }
    var renamed: [MergeOperation] = []
    for operation in operations {
      switch operation {
      case .insert(let id, let entity, let values):
        renamed.append(names[id].map { .set($0, entity, values) } ?? operation)
      case .set(let id, let entity, let values): renamed.append(.set(name(id), entity, values))
      case .setTarget(let id, let relationship, let target):
        renamed.append(.setTarget(name(id), relationship, target.map(name)))
      case .changeMembers(let id, let relationship, let added, let removed):
        renamed.append(
          .changeMembers(name(id), relationship, added: added.map(name), removed: removed.map(name)))
      case .setOrder(let id, let relationship, let members):
        var members = members.map(name)
        if !hidden.isEmpty, try session.exists(name(id)) {
          members += try session.members(name(id), relationship).filter { hidden[$0] != nil && !members.contains($0) }
        }
        renamed.append(.setOrder(name(id), relationship, members))
      case .delete(let ids): renamed.append(.delete(ids.map(name)))
      }
    }
    return with(renamed)
  }

  private func with(_ operations: [MergeOperation]) -> PlannedMerge {
    PlannedMerge(
      conflicts: conflicts, staleAnswers: staleAnswers, issues: issues, issueCount: issueCount, operations: operations,
      counts: counts, united: united)
  }
}
