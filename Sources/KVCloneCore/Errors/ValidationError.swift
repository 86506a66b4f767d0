/// The error of a commit that violates rules of the model. It lists every violation, not only the first.
public struct ValidationError: KVCloneError, Hashable {
  /// The violations, grouped by object; at most 1,000.
  public let issues: [ValidationIssue]

  /// The stable text of the first issue's kind.
  public var kindName: String { issues.first?.kind.rawValue ?? "validationFailed" }
  /// The entity of the first issue.
  public var entity: String? { issues.first?.entity }
  /// The property of the first issue.
  public var property: String? { issues.first?.property }
  /// The object of the first issue.
  public var object: String? { issues.first?.object }
  /// The message of the first issue, and the number of further issues.
  public var message: String {
    guard let first = issues.first else { return "the transaction violates a rule of the model; nothing was saved" }
    let rest = issues.count > 1 ? " (and \(issues.count - 1) more)" : ""
    return first.message + rest + "; nothing was saved"
  }

  package init(issues: [ValidationIssue]) {
    self.issues = issues
  }
}

/// The violation of one model rule by one object.
public struct ValidationIssue: Sendable, Hashable {
  /// The kinds of violations.
  ///
  /// Later versions may add kinds. A `switch` over kinds therefore needs a `default` case.
  public struct Kind: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    /// The stable text of the kind, as in JSON.
    public let rawValue: String

    /// Creates a kind from its stable text.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// The stable text of the kind.
    public var description: String { rawValue }

    /// A required attribute is nil.
    public static let requiredValueMissing = Kind(rawValue: "requiredValueMissing")
    /// A number or date is below the attribute's minimum.
    public static let valueTooSmall = Kind(rawValue: "valueTooSmall")
    /// A number or date is above the attribute's maximum.
    public static let valueTooLarge = Kind(rawValue: "valueTooLarge")
    /// A string is shorter than the minimum, in UTF-16 code units.
    public static let stringTooShort = Kind(rawValue: "stringTooShort")
    /// A string is longer than the maximum, in UTF-16 code units.
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
    /// A validation hook of the app rejected the object.
    public static let rejectedByHook = Kind(rawValue: "refusedByHook")
  }

  /// The kind of the violated rule.
  public let kind: Kind
  /// The concrete entity of the object.
  public let entity: String
  /// The property, or the properties of the constraint separated by commas; empty if a hook names none.
  public let property: String
  /// The object, such as `Item/3`.
  public let object: String
  /// The violation and the valid values.
  public let message: String
  /// The object with the same values under the constraint, such as `Item/2`; nil for other rules.
  public let other: String?
}
