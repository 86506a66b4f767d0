import KVCloneCore
import KVCloneModel
import KVCloneRecords

extension Session {
  /// Where one link of the clone goes.
  borrowing func linkTarget(
    _ step: CloneRuleBook.RelationshipPlan, _ id: ObjectID, _ target: ObjectID, _ context: CloneContext
  ) throws(StoreError) -> CloneLinkTarget {
    var mode = step.mode
    if mode == .dynamic { mode = try context.mode(step, id, target, self) }
    switch mode {
    case .drop: return .none
    case .keep: return .original
    case .follow, .stop, .dynamic:
      if let clone = context.cloneID(of: target) { return .clone(clone) }
      guard mode != .follow else { throw schema.notFound(target) }
      return .original
    }
  }

  /// Who refers to the clone of `id`: clones of those who refer to it, where they link to clones.
  borrowing func clonedReferrers(_ code: UInt16, _ id: ObjectID, _ context: CloneContext) throws(StoreError)
    -> [ObjectID]
  {
    var clones: [ObjectID] = []
    for referrer in try referrers(id, code) {
      guard let clone = context.cloneID(of: referrer) else { continue }
      let entity = try entity(of: referrer)
      guard let plan = context.book.plan(entity.code),
        let step = plan.relationships.first(where: {
          !$0.relationship.hasInverse && $0.relationship.inverseCode == code
        })
      else { throw schema.corrupted(referrer, .wrongLayout) }
      if case .clone = try linkTarget(step, referrer, id, context) { clones.append(clone) }
    }
    return clones
  }
}

/// Where one link of a clone goes.
enum CloneLinkTarget {
  case clone(ObjectID)
  case original
  case none
}
