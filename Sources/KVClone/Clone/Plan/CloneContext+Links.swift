import KVCloneCore
import KVCloneModel
import KVCloneRecords

/// The targets of clones' links (R9 to R11).
extension CloneContext {
  /// The target of one link of a clone.
  enum LinkTarget {
    case clone(ObjectID)
    /// The object itself, or the corresponding object in another store.
    case original
    case none
  }

  /// The target of one link of the clone of `id`.
  func linkTarget(
    _ step: CloneRuleBook.RelationshipPlan, _ id: ObjectID, _ target: ObjectID, _ source: borrowing Session
  ) throws(StoreError) -> LinkTarget {
    var mode = step.mode
    if mode == .dynamic { mode = try self.mode(step, id, target, source) }
    switch mode {
    case .drop: return .none
    case .keep: return .original
    case .follow, .stop, .dynamic:
      if let clone = cloneID(of: target) { return .clone(clone) }
      guard mode != .follow else { throw schema.notFound(target) }
      return .original
    }
  }

  /// The mode of one link of a relationship with a dynamic mode.
  private func mode(
    _ step: CloneRuleBook.RelationshipPlan, _ id: ObjectID, _ target: ObjectID, _ source: borrowing Session
  ) throws(StoreError) -> CloneRuleBook.LinkMode {
    let disposition = mark.disposition(step, id, target)
    guard mark.set.contains(target) else { return disposition == .exclude ? .drop : .stop }
    let entity = try source.entity(of: target)
    guard let inverse = entity.inverse(of: step.relationship), let plan = book.plan(entity.code),
      let index = entity.relationshipIndexByCode[inverse.code]
    else { return book.answer(disposition, nil) }
    return book.answer(disposition, mark.disposition(plan.relationships[index], target, id))
  }

  /// The clones that will refer to a source's clone, among the objects that refer to the source through a relationship
  /// without an inverse; in batches, so that memory stays flat. Positions start at 0; the result is nil at the end.
  func clonedReferrers(_ code: UInt16, _ id: ObjectID, from position: UInt64, _ source: borrowing Session)
    throws(StoreError) -> (clones: [ObjectID], next: UInt64?)?
  {
    guard let batch = try source.storage.memberBatch(source.address(id, code), from: position) else { return nil }
    var clones: [ObjectID] = []
    for referrer in batch.members {
      guard let clone = cloneID(of: referrer) else { continue }
      guard let plan = book.plan(try source.entity(of: referrer).code),
        let step = plan.relationships.first(where: {
          !$0.relationship.hasInverse && $0.relationship.inverseCode == code
        })
      else { throw schema.corrupted(referrer, .wrongLayout) }
      if case .clone = try linkTarget(step, referrer, id, source) { clones.append(clone) }
    }
    return (clones, batch.next)
  }
}
