import KVCloneCore
import KVCloneModel
import KVCloneRecords

/// Validates values of clones by the model's rules, before anything is written.
extension ClonePlanner {
  /// Checks the values of a clone against the model of the destination: within a store, those that are not copied from
  /// its source; across stores and states all, because that model may be stricter.
  mutating func validate(
    _ id: ObjectID, _ view: borrowing RecordView, _ plan: CloneRuleBook.EntityPlan, _ mapping: CloneMapping,
    _ source: borrowing Session
  ) throws {
    if mapping.bridge != nil {
      if mapping.entity.isValidated { try validateAll(id, view, plan, mapping, source) }
      return
    }
    for index in plan.validatedAttributes { try validate(index, id, view, plan, source) }
    if plan.isValidatedAtCommit { try validateAll(id, view, plan, mapping, source) }
  }

  /// Checks a value that is not copied from the source against the model's bounds and patterns.
  private mutating func validate(
    _ index: Int, _ id: ObjectID, _ view: borrowing RecordView, _ plan: CloneRuleBook.EntityPlan,
    _ source: borrowing Session
  ) throws {
    let attribute = plan.entity.attributes[index]
    let value: AttributeValue?
    do {
      value = try context.value(of: index, plan, view, id, source)
    } catch is CloneError {
      // Reported where the attribute's own rules are checked.
      return
    }
    // The rules of the attribute, and of its composite, report a required value that is missing.
    guard value != nil, let (_, text) = attribute.brokenRule(value, &patterns) else { return }
    report(
      CloneError(
        .invalidValue,
        "\(attribute.path) of a clone of \(plan.name(of: id)) \(text); change its clone rule",
        entity: plan.entity.name, property: attribute.path, object: plan.name(of: id)))
  }

  /// Checks what the commit checks when it validates a clone: also copied values, which may be older than the model's
  /// rules, and composites that are nil as a whole.
  private mutating func validateAll(
    _ id: ObjectID, _ view: borrowing RecordView, _ plan: CloneRuleBook.EntityPlan, _ mapping: CloneMapping,
    _ source: borrowing Session
  ) throws {
    let entity = mapping.entity
    var present: Set<String> = []
    var broken: [(attribute: CompiledAttribute, text: String)] = []
    for (index, attribute) in entity.attributes.enumerated() where attribute.field != nil && !attribute.isDerived {
      guard attribute.isValidated || attribute.composite != nil else { continue }
      var value = attribute.description.defaultValue
      if let mine = mapping.attribute(index) {
        do {
          value = try context.value(of: mine, plan, view, id, source)
        } catch is CloneError {
          // Reported where the attribute's own rules are checked.
          continue
        }
        if value != nil, let composite = attribute.composite { present.insert(composite) }
      }
      // Within a store, values of these attributes were checked before.
      if value != nil, mapping.bridge == nil, plan.validatedAttributes.contains(index) { continue }
      guard attribute.isValidated, let (_, text) = attribute.brokenRule(value, &patterns) else { continue }
      broken.append((attribute, text))
    }
    for (attribute, text) in broken {
      // A composite that is nil as a whole needs no elements.
      if let composite = attribute.composite, !present.contains(composite) { continue }
      report(invalid(attribute.path, text, id, plan))
    }
    for (path, composite) in entity.composites where !composite.isOptional && !present.contains(path) {
      report(invalid(path, "is required, and every element is nil", id, plan))
    }
  }

  func invalid(_ property: String, _ text: String, _ id: ObjectID, _ plan: CloneRuleBook.EntityPlan) -> CloneError {
    let name = plan.name(of: id)
    return CloneError(
      .invalidValue, "\(property) of a clone of \(name)\(elsewhere) \(text); change it, or its clone rule",
      entity: plan.entity.name, property: property, object: name)
  }

  /// Reports relationships that the destination's model requires and the source's lacks.
  mutating func reportUnlinked(_ bridge: EntityBridge, _ name: String) {
    let known = Set(bridge.relationships.map(\.code))
    for relationship in bridge.destination.relationships where !known.contains(relationship.code) {
      guard relationship.isValidated, let (_, text) = relationship.brokenRule(0) else { continue }
      report(
        CloneError(
          .incompatibleModel,
          "\(relationship.name) of a clone of \(name)\(elsewhere) \(text), and the source store has no "
            + "relationship with that name (R35)",
          entity: bridge.source.name, property: relationship.name, object: name))
    }
  }
}
