/// Something odd in a model that can be lived with: what it is, where, and how it is understood.
public struct ModelWarning: Hashable, Sendable {
  /// What is odd.
  public struct Kind: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    /// The stable text of the kind, as in JSON.
    public let rawValue: String

    /// Creates a kind from its text. Later versions may add kinds, so a `switch` needs a `default`.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// The stable text of the kind.
    public var description: String { rawValue }

    /// All kinds of this version.
    package static let allCases: [Kind] = [
      .missingInverse, .oneSidedInverse, .unreadableValue, .meaninglessFlag, .impossibleCount, .unreadablePattern, .impossibleBounds, .contradictoryDefault, .unusableConstraint, .unusableReference, .unusableDerivation, .untypedAttribute, .unknownWithoutParentRule, .unknownContent, .strayFile, .currentVersion, .unusableIndex, .unusableMapping, .unidentifiedRename, .unmatchedRenamingIdentifier, .mappingRequired,
    ]

    /// A relationship has no inverse; deep clones follow it.
    public static let missingInverse = Kind(rawValue: "missingInverse")
    /// The two sides of a relationship do not name each other; they are treated as two without an inverse.
    public static let oneSidedInverse = Kind(rawValue: "oneSidedInverse")
    /// A default value or bound cannot be read as the attribute's type, or only by guessing.
    public static let unreadableValue = Kind(rawValue: "unreadableValue")
    /// A to-one relationship is marked as ordered, or with counts that only a to-many one can have.
    public static let meaninglessFlag = Kind(rawValue: "meaninglessFlag")
    /// The least count is above the greatest.
    public static let impossibleCount = Kind(rawValue: "impossibleCount")
    /// ICU cannot read an attribute's regular expression; no value but nil can be saved.
    public static let unreadablePattern = Kind(rawValue: "unreadablePattern")
    /// An attribute's minimum is above its maximum; no value but nil can be saved.
    public static let impossibleBounds = Kind(rawValue: "impossibleBounds")
    /// A default value breaks the attribute's own bounds or regular expression; objects that keep it cannot be saved.
    public static let contradictoryDefault = Kind(rawValue: "contradictoryDefault")
    /// A uniqueness constraint names something that cannot be constrained; it is ignored.
    public static let unusableConstraint = Kind(rawValue: "unusableConstraint")
    /// An index or fetch request names something that does not exist; it is ignored.
    public static let unusableReference = Kind(rawValue: "unusableReference")
    /// A derived attribute's expression cannot be computed; its value is always nil.
    public static let unusableDerivation = Kind(rawValue: "unusableDerivation")
    /// An attribute without a type is not transient; nothing of it is stored.
    public static let untypedAttribute = Kind(rawValue: "untypedAttribute")
    /// A `withoutParent` rule is neither `keep` nor `blank`; cloning without a parent will fail (R18).
    public static let unknownWithoutParentRule = Kind(rawValue: "unknownWithoutParentRule")
    /// A file, element, attribute or value that this reader does not know; it is ignored.
    public static let unknownContent = Kind(rawValue: "unknownContent")
    /// A file that is no part of the model, such as the debris of a merge; it is ignored.
    public static let strayFile = Kind(rawValue: "strayFile")
    /// The bundle's current version is missing or not named; another one was chosen.
    public static let currentVersion = Kind(rawValue: "currentVersion")
    /// A fetch index is of a form that stores do not keep; it is ignored.
    public static let unusableIndex = Kind(rawValue: "unusableIndex")
    /// Something in a mapping model cannot be computed or read; a migration that needs it is refused.
    public static let unusableMapping = Kind(rawValue: "unusableMapping")
    /// Something new in a version looks like something that the version before had by another name, and no renaming identifier says
    /// so: what is stored of that one will be lost.
    public static let unidentifiedRename = Kind(rawValue: "unidentifiedRename")
    /// A renaming identifier matches nothing in the version before.
    public static let unmatchedRenamingIdentifier = Kind(rawValue: "unmatchedRenamingIdentifier")
    /// A migration from the version before cannot be inferred for stores with objects that a change concerns.
    public static let mappingRequired = Kind(rawValue: "notInferable")
  }

  /// What is odd.
  public var kind: Kind
  /// The file, where there is one.
  public var file: String?
  /// The entity, where one is concerned.
  public var entity: String?
  /// The property, where one is concerned.
  public var property: String?
  /// What is odd, how it is understood, and what to do, in one sentence.
  public var message: String

  /// Makes a warning.
  public init(_ kind: Kind, file: String? = nil, entity: String? = nil, property: String? = nil, message: String) {
    self.kind = kind
    self.file = file
    self.entity = entity
    self.property = property
    self.message = message
  }
}

extension ModelWarning.Kind {
  /// Whether the model rules values out that it seems to ask for.
  package var isContradiction: Bool {
    switch self {
    case .unreadablePattern, .impossibleBounds, .contradictoryDefault, .impossibleCount: true
    default: false
    }
  }
}

extension ModelWarning: CustomStringConvertible {
  /// `file: entity.property: message`, without what is not known.
  public var description: String {
    let place = [entity, property].compactMap { $0 }.joined(separator: ".")
    return [file ?? "", place, message].filter { !$0.isEmpty }.joined(separator: ": ")
  }
}
