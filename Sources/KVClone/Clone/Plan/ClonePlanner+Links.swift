import KVCloneCore
import KVCloneModel
import KVCloneRecords

/// Links of clones before they are created: the remaining members of each relationship, and the gains of other objects.
extension ClonePlanner {
  /// Checks the links of one relationship: the number that remains (R14), and their effect on outside objects (R13).
  ///
  /// - Parameter relationship: the clone's.
  mutating func check(
    _ step: CloneRuleBook.RelationshipPlan, _ relationship: CompiledRelationship, _ id: ObjectID,
    _ view: borrowing RecordView, _ plan: CloneRuleBook.EntityPlan, _ source: borrowing Session,
    _ destination: borrowing Session
  ) throws {
    var links = 0
    var members = 0
    var isDropped = false
    var missing: String?
    var matches: Set<ObjectID> = []
    try source.forEachMember(id, step.relationship, in: view, plan.entity) { (target) throws(StoreError) in
      members += 1
      switch try context.linkTarget(step, id, target, source) {
      case .clone: links += 1
      case .none: isDropped = true
      case .original:
        guard let matcher else {
          links += 1
          try noteGain(of: target, relationship, id, plan, destination)
          return !isFull
        }
        guard let match = try matcher.match(target, relationship, source, destination) else {
          if let error = try matcher.refusal(of: target, relationship, linkedFrom: plan.name(of: id), source) {
            if unmatched.insert(target).inserted { report(error) }
            links += 1
          } else if missing == nil {
            missing = try matcher.reason(for: target, source)
          }
          return !isFull
        }
        // Two objects may correspond to one in the destination, if they were found by different constraints.
        guard matches.insert(match).inserted else { return true }
        links += 1
        try noteGain(of: match, relationship, id, plan, destination)
      }
      return true
    }
    countList(step.relationship, in: view, plan.entity, links: links, dropped: members - links)
    if let lost = isDropped ? dropReason(step, id) : missing {
      guard let (_, text) = relationship.brokenRule(links) else { return }
      report(
        CloneError(
          .requiredRelationshipExcluded,
          "\(relationship.name) of a clone of \(plan.name(of: id)) \(text), because it is \(lost) (R14)",
          entity: plan.entity.name, property: relationship.name, object: plan.name(of: id)))
    } else if matcher == nil {
      guard plan.isValidatedAtCommit, let (_, text) = relationship.brokenRule(links) else { return }
      report(
        CloneError(
          .invalidValue, "\(relationship.name) of a clone of \(plan.name(of: id)) \(text)", entity: plan.entity.name,
          property: relationship.name, object: plan.name(of: id)))
    } else if relationship.isValidated, let (_, text) = relationship.brokenRule(links) {
      report(invalid(relationship.name, text, id, plan))
    }
  }

  /// Why a link is not created, as text that follows "because it is".
  private func dropReason(_ step: CloneRuleBook.RelationshipPlan, _ id: ObjectID) -> String {
    let decision = context.mark.rootSet.contains(id) ? step.rootDecision : step.decision
    let mayBeAnswer =
      context.bridge == nil
      ? !context.mark.answers.isEmpty && decision.disposition != .exclude : context.book.options.willClone != nil
    return mayBeAnswer ? "\(decision.reason), or the result of willClone (R30)" : decision.reason
  }

  /// Counts the cost of a list beyond its slot in the record.
  private mutating func countList(
    _ relationship: CompiledRelationship, in view: borrowing RecordView, _ entity: CompiledEntity, links: Int,
    dropped: Int
  ) {
    guard relationship.isToMany, let field = entity.field(relationship.field, code: relationship.code, in: view) else {
      return
    }
    if links > FormatLimits.inlineIDLimit {
      tally.bytesWritten += context.listByteCount(links)
    } else if !view.head(field).isChunked {
      // The source's record contains all of them.
      tally.bytesWritten -= UInt64(dropped) * 8
    } else if context.bridge == nil, dropped == 0,
      context.book.programs.direct(entity: entity.code, layout: view.layout.id) != nil
    {
      // A short list stays in chunks if it is cloned chunk by chunk,
      tally.bytesWritten += context.listByteCount(links)
    } else {
      // and moves to the record if its links are processed one by one.
      tally.bytesWritten += UInt64(links) * 8
    }
  }

  // MARK: Outside objects

  /// Records that an object that is not cloned gains the clone of `id`.
  private mutating func noteGain(
    of target: ObjectID, _ relationship: CompiledRelationship, _ id: ObjectID, _ plan: CloneRuleBook.EntityPlan,
    _ destination: borrowing Session
  ) throws(StoreError) {
    tally.bytesWritten += 8
    guard relationship.hasInverse else { return }
    _ = tally.touched.insert(target)
    let holder = try destination.entity(of: target)
    let inverse = holder.inverse(of: relationship)
    if !relationship.inverseIsToMany, context.bridge == nil {
      // The source is already the inverse.
      let name = plan.name(of: id)
      let targetName = "\(holder.name)/\(target.serial)"
      return report(
        CloneError(
          .inverseTaken,
          "the clone of \(name) would replace \(name) as the \(inverse?.name ?? "inverse") of \(targetName), because "
            + "\(relationship.name) is not followed (R13); follow or exclude it", entity: holder.name,
          property: inverse?.name, object: targetName))
    }
    guard let inverse, !inverse.isToMany || inverse.description.maxCount > 0 else { return }
    gains[GainKey(target: target, code: inverse.code), default: Gain(source: plan.name(of: id))].count += 1
  }

  /// Checks the gains of outside objects, all copies together (R13).
  mutating func checkGains(_ destination: borrowing Session) throws(StoreError) {
    for (key, gain) in gains.sorted(by: { ($0.key.target, $0.key.code) < ($1.key.target, $1.key.code) }) {
      let entity = try destination.entity(of: key.target)
      let relationship = try entity.relationship(code: key.code, key.target, destination.schema)
      let count = try destination.count(key.target, relationship.name)
      let (sum, overflow) = gain.count.multipliedReportingOverflow(by: context.copies)
      let name = "\(entity.name)/\(key.target.serial)"
      let total = overflow ? Int.max : sum
      if !relationship.isToMany, count + total > 1 {
        report(
          CloneError(
            .inverseTaken,
            "\(relationship.name) of \(name)\(elsewhere) can have one object, and "
              + (count > 0 ? "has one already" : "\(total) clones link to it")
              + ", as the clone of \(gain.source) does (R13); exclude the relationship", entity: entity.name,
            property: relationship.name, object: name))
      } else if relationship.isToMany, total > relationship.description.maxCount - count {
        report(
          CloneError(
            .maxCountExceeded,
            "\(relationship.name) of \(name)\(elsewhere) has \(count) members and would gain \(total), more "
              + "than its maximum of \(relationship.description.maxCount) (R13)", entity: entity.name,
            property: relationship.name, object: name))
      }
    }
  }
}
