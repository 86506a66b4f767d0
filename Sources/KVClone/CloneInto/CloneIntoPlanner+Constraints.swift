import KVCloneCore
import KVCloneModel
import KVCloneRecords

/// R24 across stores: the clones' values under the destination's uniqueness constraints, against that store and against
/// each other.
extension CloneIntoPlanner {
  mutating func check(
    _ constraint: CompiledConstraint, _ bridge: EntityBridge, _ id: ObjectID, _ view: borrowing RecordView,
    _ plan: CloneRuleBook.EntityPlan, _ source: borrowing Session, _ destination: borrowing Session
  ) throws {
    guard
      let (values, isNew, isUnique) = try values(
        constraint.columns, bridge, id, view, plan, 0, source, destination),
      let builder = constraint.builder(for: values)
    else { return }
    tally.bytesWritten += UInt64(builder.bytes.count + 16)
    if isUnique { return }
    let name = "\(plan.entity.name)/\(id.serial)"
    func conflict(_ with: String) -> CloneError {
      CloneError(
        .uniquenessConflict,
        "a clone of \(name) would have the same \(constraint.name) as \(with), which must be unique (R24); exclude "
          + "or rebuild an attribute of the constraint", entity: plan.entity.name, property: constraint.name,
        object: name)
    }
    if !isNew, let holder = try destination.holder(of: constraint, builder, values: values, otherThan: nil),
      !context.isClone(holder)
    {
      return report(conflict(try destination.name(of: holder) + context.bridge.elsewhere))
    }
    if !isNew, attributes.count > 1,
      let (others, _, _) = try self.values(constraint.columns, bridge, id, view, plan, 1, source, destination),
      others == values
    {
      return report(conflict("its other clone"))
    }
    if isDistinct(constraint, bridge, plan) { return }
    if let other = self.values.note(constraint.indexID, builder, values, id) {
      report(conflict("the clone of \(try source.name(of: other))"))
    }
  }

  /// Whether clones of one copy differ because their sources do: the source's model has the same constraint for the
  /// same entities, and the clones have their sources' values. Such values need not be remembered (R26).
  private mutating func isDistinct(
    _ constraint: CompiledConstraint, _ bridge: EntityBridge, _ plan: CloneRuleBook.EntityPlan
  ) -> Bool {
    let key = DistinctKey(index: constraint.indexID, entity: plan.entity.code)
    if let known = distinct[key] { return known }
    let isKnown = plan.entity.constraints.first { $0.name == constraint.name }.map { mine in
      // One index in the destination may be several in the source, whose values differ only among themselves.
      context.bridge.destination.entities.allSatisfy { other in
        guard other.constraints.contains(where: { $0.indexID == constraint.indexID }),
          let entity = context.bridge.source.entitiesByName[other.name], !entity.isAbstract
        else { return true }
        let columns = other.constraints.first { $0.indexID == constraint.indexID }?.columns ?? []
        return entity.constraints.contains { $0.indexID == mine.indexID }
          && columns.allSatisfy { isCopied($0, other, entity) }
      }
    }
    distinct[key] = isKnown ?? false
    return isKnown ?? false
  }

  private func isCopied(_ column: CompiledConstraint.Column, _ other: CompiledEntity, _ entity: CompiledEntity) -> Bool
  {
    guard case .attribute(let index) = column, index < other.attributes.count,
      let mine = entity.attributeIndex[other.attributes[index].path]
    else { return false }
    // An entity that nothing leads to has no clones.
    return !entity.attributes[mine].isDerived && context.book.plan(entity.code)?.rules[mine].isCopied ?? true
  }

  /// Counts the entries of the destination's fetch indexes.
  mutating func countIndexEntries(
    _ bridge: EntityBridge, _ id: ObjectID, _ view: borrowing RecordView, _ plan: CloneRuleBook.EntityPlan,
    _ source: borrowing Session, _ destination: borrowing Session
  ) throws {
    for index in bridge.destination.fetchIndexes {
      guard
        let (values, _, _) = try values(
          index.columns.map(\.place), bridge, id, view, plan, 0, source, destination)
      else { continue }
      tally.bytesWritten += index.entryByteCount(values)
    }
  }

  /// The values of a clone in the columns of an index; nil where a rule cannot be followed, which is reported elsewhere.
  /// `isNew`: one of them names a clone, so nothing in the destination can have them. `isUnique`: one is a rebuilt UUID, so
  /// nothing else can (R26).
  private func values(
    _ columns: [CompiledConstraint.Column], _ bridge: EntityBridge, _ id: ObjectID, _ view: borrowing RecordView,
    _ plan: CloneRuleBook.EntityPlan, _ copy: Int, _ source: borrowing Session, _ destination: borrowing Session
  ) throws -> (values: [AttributeValue?], isNew: Bool, isUnique: Bool)? {
    var values: [AttributeValue?] = []
    var isNew = false
    var isUnique = false
    for column in columns {
      switch column {
      case .attribute(let index):
        guard let mine = bridge.attributes[index] else {
          values.append(bridge.destination.attributes[index].description.defaultValue)
          continue
        }
        let rule = plan.rules[mine]
        if rule.rebuild == .uuid, !rule.isExcluded, rule.followParent == nil { isUnique = true }
        do {
          values.append(try attributes[copy].value(of: mine, plan, view, id, source))
        } catch is CloneError {
          return nil
        }
      case .toOne(let index):
        let target = try self.target(index, bridge, id, view, plan, copy, source, destination)
        isNew = isNew || target?.isClone ?? false
        values.append(target.map { CompiledConstraint.column($0.id) })
      }
    }
    return (values, isNew, isUnique)
  }

  /// What a clone's to-one relationship leads to.
  private func target(
    _ index: Int, _ bridge: EntityBridge, _ id: ObjectID, _ view: borrowing RecordView,
    _ plan: CloneRuleBook.EntityPlan,
    _ copy: Int, _ source: borrowing Session, _ destination: borrowing Session
  ) throws -> (id: ObjectID, isClone: Bool)? {
    let relationship = bridge.destination.relationships[index]
    guard let mine = plan.entity.relationshipIndex[relationship.name] else { return nil }
    let step = plan.relationships[mine]
    guard let field = plan.entity.field(step.relationship.field, code: step.relationship.code, in: view),
      let target = view.toOne(field)
    else { return nil }
    switch try context.link(step, id, target, attributes[copy], source) {
    case .none: return nil
    case .clone: return context.cloneID(of: target, copy: copy).map { ($0, true) }
    case .outside: return try matcher.match(target, relationship, source, destination).map { ($0, false) }
    }
  }
}
