/// What a commit refuses: every broken rule of the model that the transaction's objects show, not just the first.
public struct ValidationError: KVCloneError, Hashable {
  /// The broken rules, by object.
  public let issues: [ValidationIssue]

  /// The first issue's kind.
  public var kindName: String { issues.first?.kind.rawValue ?? "validationFailed" }
  /// The first issue's entity.
  public var entity: String? { issues.first?.entity }
  /// The first issue's property.
  public var property: String? { issues.first?.property }
  /// The first issue's object.
  public var object: String? { issues.first?.object }
  /// The first issue, and how many more there are.
  public var message: String {
    guard let first = issues.first else { return "the transaction breaks a rule of the model; nothing was saved" }
    let rest = issues.count > 1 ? " (and \(issues.count - 1) more)" : ""
    return first.message + rest + "; nothing was saved"
  }

  init(issues: [ValidationIssue]) {
    self.issues = issues
  }
}

/// One rule of the model that one object breaks.
public struct ValidationIssue: Sendable, Hashable {
  /// The kinds of rule.
  public enum Kind: String, Sendable, Hashable {
    /// A required attribute is nil.
    case requiredValueMissing
    /// A number or date is below the attribute's minimum.
    case valueTooSmall
    /// A number or date is above the attribute's maximum.
    case valueTooLarge
    /// A string has fewer characters than the minimum.
    case stringTooShort
    /// A string has more characters than the maximum.
    case stringTooLong
    /// A string does not match the attribute's regular expression.
    case patternMismatch
    /// A required relationship is empty.
    case requiredRelationshipMissing
    /// A to-many relationship has fewer members than its minimum.
    case tooFewMembers
    /// A to-many relationship has more members than its maximum.
    case tooManyMembers
    /// Another object has the same values under a uniqueness constraint.
    case uniquenessConflict
    /// A validation hook of the app refuses the object.
    case refusedByHook
  }

  /// Which rule.
  public let kind: Kind
  /// The object's concrete entity.
  public let entity: String
  /// The property, or the constraint's properties with commas between; empty where a hook names none.
  public let property: String
  /// The object, as `Item/3`.
  public let object: String
  /// What is wrong and what would be right.
  public let message: String
  /// The object that has the same values under the constraint, as `Item/2`; nil for other rules.
  public let other: String?
}
