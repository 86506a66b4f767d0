import KVClone
import KVCloneModel

/// The treatment of a property by a deep clone, from the model alone: calls can override it.
struct CloneTreatment: Sendable, Hashable {
  /// The kinds of treatment, and their colours.
  enum Kind: String, Sendable, CaseIterable {
    /// Clones the targets, or takes the value of the parent's clone.
    case follow
    /// Links to the original targets.
    case share
    /// Leaves the property empty, or at its default.
    case skip
    /// Generates a value.
    case rebuild
    /// Copies the value: no rule.
    case copy
  }

  var kind: Kind
  /// The rule and its origin, such as `share, the inverse is to-many (R6)`.
  var reason: String

  /// The treatment of a relationship of an entity, inherited or its own.
  init(of relationship: RelationshipDescription, in entity: String, _ model: ManagedObjectModel) {
    let keys = CloneUserInfoKeys.standard
    let rule = relationship.cloneRule(keys)
    if rule.isExcluded {
      self.init(.skip, "excluded by userInfo \(keys.exclude) (R5)")
    } else if let override = rule.override {
      let kind: Kind =
        switch override {
        case .follow: .follow
        case .reference: .share
        case .skip: .skip
        }
      self.init(kind, "\(override.rawValue), by userInfo \(keys.clone) (R7)")
    } else if let inverse = model.inverse(of: relationship.name, in: entity)?.relationship {
      self =
        inverse.isToMany
        ? Self(.share, "share, the inverse is to-many (R6)") : Self(.follow, "follow, the inverse is to-one (R7)")
    } else {
      self.init(.follow, "follow, no inverse (R7)")
    }
  }

  /// The treatment of an attribute, inherited or its own.
  init(of attribute: AttributeDescription) {
    let rule = attribute.cloneRule()
    if attribute.isDerived {
      self.init(.copy, "recomputed (R19)")
    } else if attribute.isTransient {
      self.init(.copy, "transient (R20)")
    } else if rule.isExcluded {
      self.init(.skip, attribute.defaultValue == nil ? "excluded, nil (R15)" : "excluded, default (R15)")
    } else if let name = rule.followParent {
      self.init(.follow, "follows the parent's \(name) (R17)")
    } else if let rebuild = rule.rebuild {
      self.init(.rebuild, "rebuilt \(rebuild.rawValue) (R16)")
    } else {
      self.init(.copy, "copied")
    }
  }

  private init(_ kind: Kind, _ reason: String) {
    self.kind = kind
    self.reason = reason
  }

  /// The kind of a badge of the style sheet.
  var badgeKind: String {
    switch kind {
    case .follow, .share, .skip: kind.rawValue
    case .rebuild: "good"
    case .copy: "neutral"
    }
  }
}

extension RelationshipDescription {
  /// The numbers of targets that the model allows, such as `0…n`.
  var cardinality: String {
    let least = isOptional ? 0 : isToMany ? minCount : 1
    if !isToMany { return least == 0 ? "0…1" : "1" }
    let most = maxCount > 0 ? "\(maxCount)" : "n"
    return "\(least)…\(most)"
  }
}
