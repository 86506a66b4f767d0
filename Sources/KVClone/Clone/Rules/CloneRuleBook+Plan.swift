import KVCloneCore
import KVCloneModel

extension CloneRuleBook {
  /// The rules that decided about properties of the counted entities, in the model's order.
  func appliedRules(_ tally: CloneTally) -> [AppliedRule] {
    var applied: [AppliedRule] = []
    for entity in schema.entities where tally.counts[Int(entity.code)] > 0 {
      guard let plan = plan(entity.code) else { continue }
      for (index, attribute) in entity.attributes.enumerated() {
        if let rule = attribute.ruleText(plan.rules[index]) {
          applied.append(AppliedRule(entity: entity.name, property: attribute.path, rule: rule))
        }
      }
      for step in plan.relationships {
        var rule = step.decision.reason
        if step.rootDecision.reason != rule { rule = "root: \(step.rootDecision.reason); below: \(rule)" }
        applied.append(AppliedRule(entity: entity.name, property: step.relationship.name, rule: rule))
      }
    }
    return applied
  }
}

extension CloneRuleBook {
  /// The relationships of the counted entities, in the model's order.
  func branches(_ tally: CloneTally) -> [CloneBranch] {
    var branches: [CloneBranch] = []
    for entity in schema.entities where tally.counts[Int(entity.code)] > 0 {
      for step in plan(entity.code)?.relationships ?? [] {
        let destination = schema.entity(code: step.relationship.destinationCode)
        branches.append(
          CloneBranch(
            entity: entity.name, relationship: step.relationship.name, isToMany: step.relationship.isToMany,
            action: step.decision.disposition.action, rule: step.decision.reason,
            rootAction: step.rootDecision.disposition.action, rootRule: step.rootDecision.reason,
            destinations: (destination?.concreteCodes ?? []).compactMap { schema.entity(code: $0)?.name }.sorted()))
      }
    }
    return branches
  }
}

extension CloneRuleBook.Disposition {
  var action: CloneBranch.Action {
    switch self {
    case .follow: .follow
    case .stop: .share
    case .exclude: .skip
    }
  }
}

extension CompiledAttribute {
  /// Describes the effect of a rule on the attribute; nil for a plain copy.
  func ruleText(_ rule: AttributeCloneRule) -> String? {
    if description.isDerived { return "recomputed (R19)" }
    if field == nil { return "transient, copied from a source in the transaction only (R20)" }
    if rule.isExcluded { return description.defaultValue == nil ? "excluded, nil (R15)" : "excluded, default (R15)" }
    if let name = rule.followParent {
      let otherwise =
        switch rule.withoutParent {
        case .keep: "else kept"
        case .blank: "else blank"
        case .absent, .invalid: "else an error"
        }
      return "follows the parent's \(name), \(otherwise) (R17, R18)"
    }
    switch rule.rebuild {
    case .uuid: return "rebuilt uuid (R16)"
    case .now: return "rebuilt now (R16)"
    case nil: return nil
    }
  }
}
