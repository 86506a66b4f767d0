import KVCloneCore
import KVCloneModel
import KVCloneRecords

/// R24: the values of clones under uniqueness constraints, against the destination and against each other.
extension ClonePlanner {
  mutating func check(
    _ constraint: CompiledConstraint, _ id: ObjectID, _ view: borrowing RecordView, _ plan: CloneRuleBook.EntityPlan,
    _ mapping: CloneMapping, _ source: borrowing Session, _ destination: borrowing Session
  ) throws {
    guard
      let (values, isNew, isUnique) = try values(
        constraint.columns, id, view, plan, mapping, context, source, destination),
      let builder = constraint.builder(for: values)
    else { return }
    tally.bytesWritten += UInt64(builder.bytes.count + 16)
    if isUnique { return }
    let isWithinState = context.bridge == nil
    if isWithinState, try isEqualInCopies(values, constraint, id, view, plan, mapping, source, destination) {
      let name = plan.name(of: id)
      return report(
        CloneError(
          .uniquenessConflict,
          "all copies of \(name) would have the same \(constraint.name), which must be unique (R24, R32); exclude or "
            + "rebuild an attribute of the constraint", entity: plan.entity.name, property: constraint.name,
          object: name))
    }
    if !isNew,
      let holder = try IndexEntries.holder(of: constraint, builder, values: values, otherThan: nil, in: destination),
      isWithinState || !context.isClone(holder)
    {
      return report(conflict(constraint, id, plan, with: try destination.name(of: holder) + elsewhere))
    }
    if !isWithinState, !isNew,
      try isEqualInCopies(values, constraint, id, view, plan, mapping, source, destination)
    {
      return report(conflict(constraint, id, plan, with: "its other clone"))
    }
    guard mayMeet(constraint, plan), let other = self.values.note(constraint.indexID, builder, values, id) else {
      return
    }
    report(conflict(constraint, id, plan, with: "the clone of \(try source.name(of: other))"))
  }

  private func conflict(
    _ constraint: CompiledConstraint, _ id: ObjectID, _ plan: CloneRuleBook.EntityPlan, with other: String
  ) -> CloneError {
    let name = plan.name(of: id)
    return CloneError(
      .uniquenessConflict,
      "a clone of \(name) would have the same \(constraint.name) as \(other), which must be unique (R24); exclude "
        + "or rebuild an attribute of the constraint", entity: plan.entity.name, property: constraint.name,
      object: name)
  }

  /// Whether the values of the second of several copies are those of the first.
  private func isEqualInCopies(
    _ values: [AttributeValue?], _ constraint: CompiledConstraint, _ id: ObjectID, _ view: borrowing RecordView,
    _ plan: CloneRuleBook.EntityPlan, _ mapping: CloneMapping, _ source: borrowing Session,
    _ destination: borrowing Session
  ) throws -> Bool {
    guard let second else { return false }
    return try self.values(constraint.columns, id, view, plan, mapping, second, source, destination)?.values == values
  }

  /// The values of a clone in the columns of an index; nil if a rule cannot be followed, which is reported elsewhere.
  /// `isNew`: one of them references a clone, so no object of the destination has them. `isUnique`: one is a rebuilt
  /// UUID, so no other object has them.
  func values(
    _ columns: [CompiledConstraint.Column], _ id: ObjectID, _ view: borrowing RecordView,
    _ plan: CloneRuleBook.EntityPlan, _ mapping: CloneMapping, _ context: CloneContext, _ source: borrowing Session,
    _ destination: borrowing Session
  ) throws -> (values: [AttributeValue?], isNew: Bool, isUnique: Bool)? {
    var values: [AttributeValue?] = []
    var isNew = false
    var isUnique = false
    for column in columns {
      switch column {
      case .attribute(let index):
        guard let mine = mapping.attribute(index) else {
          values.append(mapping.entity.attributes[index].description.defaultValue)
          continue
        }
        // A rebuilt UUID is unique: it needs no lookup, and no memory for every object (R26).
        let rule = plan.rules[mine]
        if rule.rebuild == .uuid, !rule.isExcluded, rule.followParent == nil, !plan.entity.attributes[mine].isDerived {
          isUnique = true
        }
        do {
          values.append(try context.value(of: mine, plan, view, id, source))
        } catch is CloneError {
          return nil
        }
      case .toOne(let index):
        let (target, isClone) = try target(
          mapping.entity.relationships[index], id, view, plan, context, source, destination)
        isNew = isNew || isClone
        values.append(target.map { CompiledConstraint.column($0) })
      }
    }
    return (values, isNew, isUnique)
  }

  /// The target of a clone's to-one relationship.
  private func target(
    _ relationship: CompiledRelationship, _ id: ObjectID, _ view: borrowing RecordView,
    _ plan: CloneRuleBook.EntityPlan, _ context: CloneContext, _ source: borrowing Session,
    _ destination: borrowing Session
  ) throws -> (id: ObjectID?, isClone: Bool) {
    guard let index = plan.entity.relationshipIndex[relationship.name] else { return (nil, false) }
    let step = plan.relationships[index]
    guard let field = plan.entity.field(step.relationship.field, code: step.relationship.code, in: view),
      let target = view.toOne(field)
    else { return (nil, false) }
    switch try context.linkTarget(step, id, target, source) {
    case .none: return (nil, false)
    case .clone(let clone): return (clone, true)
    case .original:
      guard let matcher else { return (target, false) }
      return (try matcher.match(target, relationship, source, destination), false)
    }
  }

  // MARK: Values without comparison

  /// The constraints of a store under which two clones can have equal values although their sources do not: a default,
  /// `now`, a parent's value, or what is derived from them, is equal for many.
  static func comparedConstraints(_ book: CloneRuleBook) -> Set<UInt16> {
    Set(
      book.allPlans.flatMap { plan in
        plan.entity.constraints.filter { constraint in
          constraint.columns.contains { column in
            guard case .attribute(let index) = column else { return false }
            let rule = plan.rules[index]
            return rule.isExcluded || rule.followParent != nil || rule.rebuild == .now
              || plan.entity.attributes[index].isDerived
          }
        }.map(\.indexID)
      })
  }

  /// Whether two clones of one copy can have equal values although their sources do not. Other values need not be
  /// stored (R26).
  private mutating func mayMeet(_ constraint: CompiledConstraint, _ plan: CloneRuleBook.EntityPlan) -> Bool {
    guard let bridge = context.bridge else { return comparedConstraints.contains(constraint.indexID) }
    let key = DistinctKey(index: constraint.indexID, entity: plan.entity.code)
    if let known = distinct[key] { return !known }
    let isDistinct = isDistinct(constraint, plan, bridge)
    distinct[key] = isDistinct
    return !isDistinct
  }

  /// Whether clones in another store or state differ because their sources do: the source's model has the same
  /// constraint for the same entities, and the clones have their sources' values.
  private func isDistinct(_ constraint: CompiledConstraint, _ plan: CloneRuleBook.EntityPlan, _ bridge: CloneBridge)
    -> Bool
  {
    guard let mine = plan.entity.constraints.first(where: { $0.name == constraint.name }) else { return false }
    // One index in the destination may be several in the source, and values are unique only within each of these.
    return bridge.destination.entities.allSatisfy { other in
      guard let columns = other.constraints.first(where: { $0.indexID == constraint.indexID })?.columns,
        let entity = bridge.source.entitiesByName[other.name], !entity.isAbstract
      else { return true }
      return entity.constraints.contains { $0.indexID == mine.indexID }
        && columns.allSatisfy { isCopied($0, other, entity) }
    }
  }

  private func isCopied(_ column: CompiledConstraint.Column, _ other: CompiledEntity, _ entity: CompiledEntity) -> Bool
  {
    guard case .attribute(let index) = column, index < other.attributes.count,
      let mine = entity.attributeIndex[other.attributes[index].path]
    else { return false }
    // An unreachable entity has no clones.
    return !entity.attributes[mine].isDerived && context.book.plan(entity.code)?.rules[mine].isCopied ?? true
  }
}
