/// A problem in a model that does not prevent its use: what it is, where it is, and how it is interpreted.
public struct ModelWarning: Hashable, Sendable {
  /// The kind of a warning. The text of a kind is stable.
  public struct Kind: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    /// The stable text of the kind, as in JSON.
    public let rawValue: String

    /// Creates a kind from its text. Later versions may add kinds, so a `switch` needs a `default`.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// The stable text of the kind.
    public var description: String { rawValue }

    /// A relationship has no inverse; deep clones follow it.
    public static let missingInverse = Kind(rawValue: "missingInverse")
    /// The two sides of a relationship do not name each other; they are treated as two relationships without an
    /// inverse.
    public static let oneSidedInverse = Kind(rawValue: "oneSidedInverse")
    /// A default value or bound cannot be parsed as the attribute's type, or only ambiguously.
    public static let unreadableValue = Kind(rawValue: "unreadableValue")
    /// A to-one relationship is marked as ordered, or has counts that only a to-many relationship can have.
    public static let meaninglessFlag = Kind(rawValue: "meaninglessFlag")
    /// The minimum count is greater than the maximum count.
    public static let impossibleCount = Kind(rawValue: "impossibleCount")
    /// ICU cannot parse an attribute's regular expression; only nil can be saved.
    public static let unreadablePattern = Kind(rawValue: "unreadablePattern")
    /// An attribute's minimum is greater than its maximum; only nil can be saved.
    public static let impossibleBounds = Kind(rawValue: "impossibleBounds")
    /// A default value violates the attribute's bounds or regular expression; objects that keep it cannot be saved.
    public static let contradictoryDefault = Kind(rawValue: "contradictoryDefault")
    /// A uniqueness constraint names an invalid property; the constraint is ignored.
    public static let unusableConstraint = Kind(rawValue: "unusableConstraint")
    /// An index or fetch request names something that does not exist; it is ignored.
    public static let unusableReference = Kind(rawValue: "unusableReference")
    /// A derived attribute's expression is not supported; its value is always nil.
    public static let unusableDerivation = Kind(rawValue: "unusableDerivation")
    /// An attribute without a type is not transient; its value is not stored.
    public static let untypedAttribute = Kind(rawValue: "untypedAttribute")
    /// A `withoutParent` rule is neither `keep` nor `blank`; cloning without a parent fails (R18).
    public static let unknownWithoutParentRule = Kind(rawValue: "unknownWithoutParentRule")
    /// A file, element, attribute or value is unknown; it is ignored.
    public static let unknownContent = Kind(rawValue: "unknownContent")
    /// A file does not belong to the model, such as a leftover of a merge; it is ignored.
    public static let strayFile = Kind(rawValue: "strayFile")
    /// The bundle's current version is missing or not named; another version was chosen.
    public static let currentVersion = Kind(rawValue: "currentVersion")
    /// A fetch index has a form that stores do not support; it is ignored.
    public static let unusableIndex = Kind(rawValue: "unusableIndex")
    /// Part of a mapping model is not supported; a migration that needs it is refused.
    public static let unusableMapping = Kind(rawValue: "unusableMapping")
    /// An entity or property appears to be renamed but has no renaming identifier; its stored data would be lost.
    public static let unidentifiedRename = Kind(rawValue: "unidentifiedRename")
    /// A renaming identifier matches nothing in the previous version.
    public static let unmatchedRenamingIdentifier = Kind(rawValue: "unmatchedRenamingIdentifier")
    /// No migration from the previous version can be inferred for stores with affected objects.
    public static let mappingRequired = Kind(rawValue: "notInferable")
  }

  /// The kind of the warning.
  public var kind: Kind
  /// The file; nil if the warning concerns no file.
  public var file: String?
  /// The entity; nil if the warning concerns no single entity.
  public var entity: String?
  /// The property; nil if the warning concerns no single property.
  public var property: String?
  /// The problem, how it is interpreted, and how to fix it.
  public var message: String

  /// Creates a warning.
  public init(_ kind: Kind, file: String? = nil, entity: String? = nil, property: String? = nil, message: String) {
    self.kind = kind
    self.file = file
    self.entity = entity
    self.property = property
    self.message = message
  }
}

extension ModelWarning.Kind {
  /// Whether the model excludes values that it appears to require.
  package var isContradiction: Bool {
    switch self {
    case .unreadablePattern, .impossibleBounds, .contradictoryDefault, .impossibleCount: true
    default: false
    }
  }
}

extension ModelWarning: CustomStringConvertible {
  /// The warning as `file: entity.property: message`, without the parts that are nil.
  public var description: String {
    let place = [entity, property].compactMap { $0 }.joined(separator: ".")
    return [file ?? "", place, message].filter { !$0.isEmpty }.joined(separator: ": ")
  }
}
