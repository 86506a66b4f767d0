/// Why an object graph cannot be cloned. Rule numbers are those of the article on deep clone.
public struct CloneError: KVCloneError, Hashable {
  /// The kinds of refusal.
  public struct Kind: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    /// The stable text of the kind, as in JSON.
    public let rawValue: String

    /// Creates a kind from its text. Later versions may add kinds, so a `switch` needs a `default`.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// The stable text of the kind.
    public var description: String { rawValue }

    /// No store (MOCloner: the object has no context).
    public static let storeNotFound = Kind(rawValue: "noStore")
    /// A root does not exist.
    public static let objectNotFound = Kind(rawValue: "objectNotFound")
    /// A rule names an entity that the model does not have.
    public static let unknownEntity = Kind(rawValue: "unknownEntity")
    /// A required attribute without a default is excluded (R15).
    public static let excludedAttributeIsRequired = Kind(rawValue: "excludedAttributeIsRequired")
    /// `rebuild` on an attribute of another type (R16).
    public static let rebuildTypeMismatch = Kind(rawValue: "rebuildTypeMismatch")
    /// `followParent` without a parent that has a value for it, and no `withoutParent` that helps: absent, unreadable, or
    /// `blank` where neither nil nor a default is possible (R17, R18).
    public static let parentUnavailable = Kind(rawValue: "parentUnavailable")
    /// A name that is no relationship reachable from the roots (R5, R7).
    public static let unknownRelationship = Kind(rawValue: "unknownRelationship")
    /// A required relationship, or a minimum count, that exclusions leave unmet (R14), or objects that are gone since the
    /// snapshot that is cloned from.
    public static let requiredRelationshipExcluded = Kind(rawValue: "requiredRelationshipExcluded")
    /// A value that a clone has from a rule and not from its source breaks bounds or a pattern of the model (R36).
    public static let invalidValue = Kind(rawValue: "invalidValue")
    /// A clone's values violate a uniqueness constraint (R24).
    public static let uniquenessConflict = Kind(rawValue: "uniquenessConflict")
    /// An outside object's relationship would exceed its maximum count (R13).
    public static let maxCountExceeded = Kind(rawValue: "maxCountExceeded")
    /// An outside object's to-one inverse would be taken from another object (R13).
    public static let inverseTaken = Kind(rawValue: "inverseTaken")
    /// A limit of the call: objects, depth or bytes (R29); or of the store, see <doc:Operating>.
    public static let limitExceeded = Kind(rawValue: "limitExceeded")
    /// The disk has no space for the clones: only in a plan, as the clone throws ``StoreError``.
    public static let diskFull = Kind(rawValue: "diskFull")
    /// The clones exceed what a file can ever hold: only in a plan, as the clone throws ``StoreError``.
    public static let mapFull = Kind(rawValue: "mapFull")
    /// The task was cancelled (R29).
    public static let cancelled = Kind(rawValue: "cancelled")
    /// Two roles of the userInfo keys have one name (R28), or a rule cannot be read.
    public static let invalidConfiguration = Kind(rawValue: "invalidConfiguration")
    /// An idempotency key that another call with other arguments has used (R31).
    public static let idempotencyKeyReused = Kind(rawValue: "idempotencyKeyReused")
    /// An object outside the clones that no object of the other store stands for (R35).
    public static let outsideObjectUnmatched = Kind(rawValue: "outsideObjectUnmatched")
    /// The other store's model lacks what the clones need (R35).
    public static let incompatibleModel = Kind(rawValue: "incompatibleModel")
  }

  /// What is refused.
  public let kind: Kind
  /// The entity concerned.
  public let entity: String?
  /// The property concerned.
  public let property: String?
  /// The source object concerned, as `Item/3`.
  public let object: String?
  /// What is wrong and what to do.
  public let message: String

  /// The kind's name.
  public var kindName: String { kind.rawValue }

  package init(
    _ kind: Kind, _ message: String, entity: String? = nil, property: String? = nil, object: String? = nil
  ) {
    self.kind = kind
    self.message = message
    self.entity = entity
    self.property = property
    self.object = object
  }
}
