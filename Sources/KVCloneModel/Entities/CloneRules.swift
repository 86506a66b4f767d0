/// A deep clone's treatment of a relationship.
///
/// The rule overrides the default, which depends on the inverse: an owned object is cloned, a shared object is
/// referenced (R5 to R7).
public enum CloneRule: String, Sendable, Hashable, Codable, CaseIterable {
  /// Clones the targets.
  case follow
  /// Links the clone to the original targets.
  case reference
  /// Leaves the clone's relationship empty.
  case skip
}

/// A deep clone's treatment of an attribute, strongest rule first: exclude, follow, rebuild, copy (R15 to R18).
package struct AttributeCloneRule: Sendable, Hashable {
  /// A generated value.
  package enum Rebuild: String, Sendable, Hashable {
    /// A new UUID for each clone.
    case uuid
    /// The time of the clone operation.
    case now
  }

  /// The treatment of objects without a parent to follow.
  package enum WithoutParent: Sendable, Hashable {
    /// Copies the value, or rebuilds it if there is a rebuild rule, too.
    case keep
    /// Sets the default value, else nil.
    case blank
    /// No rule: an error if an object has no parent.
    case absent
    /// An invalid rule: an error if an object has no parent.
    case invalid(String)
  }

  /// Whether the clone gets the default value, else nil.
  package var isExcluded: Bool
  /// The kind of generated value, if the attribute's type supports it.
  package var rebuild: Rebuild?
  /// The name of the attribute that takes its value from the discovery parent's clone.
  package var followParent: String?
  /// The treatment of objects without a parent to follow.
  package var withoutParent: WithoutParent

  /// Whether the value is copied unchanged.
  package var isCopied: Bool { !isExcluded && rebuild == nil && followParent == nil }

  /// Creates a rule.
  package init(
    isExcluded: Bool = false, rebuild: Rebuild? = nil, followParent: String? = nil,
    withoutParent: WithoutParent = .absent
  ) {
    self.isExcluded = isExcluded
    self.rebuild = rebuild
    self.followParent = followParent
    self.withoutParent = withoutParent
  }
}

/// A deep clone's treatment of a relationship, regardless of its inverse (R5, R7).
package struct RelationshipCloneRule: Sendable, Hashable {
  /// Whether the clone's relationship is left empty, which takes precedence over ``override``.
  package var isExcluded: Bool
  /// The model's override of the rule that the inverse implies.
  package var override: CloneRule?
}

extension AttributeDescription {
  /// Returns the attribute's rule from its `userInfo`. For an inherited attribute, use the one from
  /// ``ManagedObjectModel/attributes(of:)``: its annotations are merged (R22).
  package func cloneRule(_ keys: CloneUserInfoKeys = .standard) -> AttributeCloneRule {
    let withoutParent: AttributeCloneRule.WithoutParent =
      switch userInfo[keys.withoutParent] {
      case "keep": .keep
      case "blank": .blank
      case nil: .absent
      case .some(let text): .invalid(text)
      }
    return AttributeCloneRule(
      isExcluded: userInfo[keys.exclude] != nil, rebuild: rebuildRule(keys), followParent: userInfo[keys.followParent],
      withoutParent: withoutParent)
  }

  private func rebuildRule(_ keys: CloneUserInfoKeys) -> AttributeCloneRule.Rebuild? {
    let rule = userInfo[keys.rebuild].flatMap { AttributeCloneRule.Rebuild(rawValue: $0.lowercased()) }
    return rule == .uuid && type == .uuid || rule == .now && type == .date ? rule : nil
  }

  /// Whether there is a rebuild rule that the type does not support (R16).
  package func hasImpossibleRebuildRule(_ keys: CloneUserInfoKeys) -> Bool {
    userInfo[keys.rebuild] != nil && rebuildRule(keys) == nil
  }
}

extension RelationshipDescription {
  /// Returns the relationship's rule from its `userInfo`; an unknown override is ignored here, and an error of
  /// validation.
  package func cloneRule(_ keys: CloneUserInfoKeys = .standard) -> RelationshipCloneRule {
    RelationshipCloneRule(
      isExcluded: userInfo[keys.exclude] != nil,
      override: userInfo[keys.clone].flatMap(CloneRule.init(rawValue:)))
  }
}
