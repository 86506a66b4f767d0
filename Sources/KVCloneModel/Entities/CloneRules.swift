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

/// What a deep clone does with an attribute, strongest rule first: exclude, follow, rebuild, copy (R15 to R18).
package struct AttributeCloneRule: Sendable, Hashable {
  /// A fresh value.
  package enum Rebuild: String, Sendable, Hashable {
    /// A new UUID for each clone.
    case uuid
    /// The time of the clone operation.
    case now
  }

  /// What to do without a parent to follow.
  package enum WithoutParent: Sendable, Hashable {
    /// The value is copied, or rebuilt where that is asked for too.
    case keep
    /// The default value, else nil.
    case blank
    /// Nothing is said: an error when the case arises.
    case absent
    /// Something that is no rule: an error when the case arises.
    case invalid(String)
  }

  /// Whether the clone gets the default value, else nil.
  package var isExcluded: Bool
  /// The fresh value that is asked for, where the attribute's type can have it.
  package var rebuild: Rebuild?
  /// The name of the attribute whose value is taken from the discovery parent's clone.
  package var followParent: String?
  /// What to do without a parent to follow.
  package var withoutParent: WithoutParent

  /// Whether the value is simply copied.
  package var isCopied: Bool { !isExcluded && rebuild == nil && followParent == nil }

  /// Makes a rule.
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

/// What a deep clone does with a relationship before its inverse is asked (R5, R7).
package struct RelationshipCloneRule: Sendable, Hashable {
  /// Whether the clone's relationship is left empty, which is stronger than ``override``.
  package var isExcluded: Bool
  /// The answer that the model gives instead of the inverse.
  package var override: CloneRule?

  /// Makes a rule.
  package init(isExcluded: Bool = false, override: CloneRule? = nil) {
    self.isExcluded = isExcluded
    self.override = override
  }
}

extension AttributeDescription {
  /// The attribute's rule by its `userInfo`. On an inherited attribute, ask the one that
  /// ``ManagedObjectModel/attributes(of:)`` gives, whose annotations are merged (R22).
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

  /// Whether a rebuild rule is written that the type cannot have (R16).
  package func hasImpossibleRebuildRule(_ keys: CloneUserInfoKeys) -> Bool {
    userInfo[keys.rebuild] != nil && rebuildRule(keys) == nil
  }
}

extension RelationshipDescription {
  /// The relationship's rule by its `userInfo`; an override that does not exist is none, and an error at validation.
  package func cloneRule(_ keys: CloneUserInfoKeys = .standard) -> RelationshipCloneRule {
    RelationshipCloneRule(
      isExcluded: userInfo[keys.exclude] != nil,
      override: userInfo[keys.clone].flatMap(CloneRule.init(rawValue:)))
  }
}
