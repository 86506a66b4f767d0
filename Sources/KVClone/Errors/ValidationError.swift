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
  public struct Kind: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    /// The stable text of the kind, as in JSON.
    public let rawValue: String

    /// Creates a kind from its text. Later versions may add kinds, so a `switch` needs a `default`.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// The stable text of the kind.
    public var description: String { rawValue }

    /// A required attribute is nil.
    public static let requiredValueMissing = Kind(rawValue: "requiredValueMissing")
    /// A number or date is below the attribute's minimum.
    public static let valueTooSmall = Kind(rawValue: "valueTooSmall")
    /// A number or date is above the attribute's maximum.
    public static let valueTooLarge = Kind(rawValue: "valueTooLarge")
    /// A string has fewer characters than the minimum.
    public static let stringTooShort = Kind(rawValue: "stringTooShort")
    /// A string has more characters than the maximum.
    public static let stringTooLong = Kind(rawValue: "stringTooLong")
    /// A string does not match the attribute's regular expression.
    public static let patternMismatch = Kind(rawValue: "patternMismatch")
    /// A required relationship is empty.
    public static let requiredRelationshipMissing = Kind(rawValue: "requiredRelationshipMissing")
    /// A to-many relationship has fewer members than its minimum.
    public static let tooFewMembers = Kind(rawValue: "tooFewMembers")
    /// A to-many relationship has more members than its maximum.
    public static let tooManyMembers = Kind(rawValue: "tooManyMembers")
    /// Another object has the same values under a uniqueness constraint.
    public static let uniquenessConflict = Kind(rawValue: "uniquenessConflict")
    /// A validation hook of the app refuses the object.
    public static let rejectedByHook = Kind(rawValue: "refusedByHook")
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
