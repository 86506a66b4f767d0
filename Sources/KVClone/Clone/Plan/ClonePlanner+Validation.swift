import KVCloneCore
import KVCloneModel
import KVCloneRecords

/// Values of clones against the model's rules, before anything is written.
extension ClonePlanner {
  /// Holds a value that a clone does not have from its source against the model's bounds and patterns.
  mutating func validate(
    _ index: Int, _ id: ObjectID, _ view: borrowing RecordView, _ plan: CloneRuleBook.EntityPlan,
    _ session: borrowing Session
  ) throws {
    let attribute = plan.entity.attributes[index]
    let value: AttributeValue?
    do {
      value = try context.value(of: index, plan, view, id, session)
    } catch is CloneError {
      // Reported where the attribute's own rules are checked.
      return
    }
    // The rules of the attribute, and of its composite, report a required value that is missing.
    guard value != nil, let (_, text) = attribute.brokenRule(value, &patterns) else { return }
    report(
      CloneError(
        .invalidValue,
        "\(attribute.path) of a clone of \(plan.entity.name)/\(id.serial) \(text); change its clone rule",
        entity: plan.entity.name, property: attribute.path, object: "\(plan.entity.name)/\(id.serial)"))
  }

  /// Checks what the commit checks of a clone that it validates: values that are copied, too, which may be older than
  /// the model's rules, and composites that are nil as a whole.
  mutating func validateAll(
    _ id: ObjectID, _ view: borrowing RecordView, _ plan: CloneRuleBook.EntityPlan, _ session: borrowing Session
  ) throws {
    let entity = plan.entity
    let name = "\(entity.name)/\(id.serial)"
    func refusal(_ property: String, _ text: String) -> CloneError {
      CloneError(
        .invalidValue, "\(property) of a clone of \(name) \(text); change it, or its clone rule", entity: entity.name,
        property: property, object: name)
    }
    var present: Set<String> = []
    var values: [(index: Int, value: AttributeValue?)] = []
    for (index, attribute) in entity.attributes.enumerated() where attribute.field != nil && !attribute.isDerived {
      let value: AttributeValue?
      do {
        value = try context.value(of: index, plan, view, id, session)
      } catch is CloneError {
        // Reported where the attribute's own rules are checked.
        continue
      }
      if value != nil, let composite = attribute.composite { present.insert(composite) }
      if attribute.isValidated, !plan.validatedAttributes.contains(index) || value == nil {
        values.append((index, value))
      }
    }
    for (index, value) in values {
      let attribute = entity.attributes[index]
      if value == nil, let composite = attribute.composite, !present.contains(composite) { continue }
      if let (_, text) = attribute.brokenRule(value, &patterns) { report(refusal(attribute.path, text)) }
    }
    for (path, composite) in entity.composites where !composite.isOptional && !present.contains(path) {
      report(refusal(path, "is required, and every element is nil"))
    }
  }
}
