/// An error that prevents an object graph from being cloned. Rule numbers refer to <doc:DeepClone>.
public struct CloneError: KVCloneError, Hashable {
  /// The kinds of clone errors.
  ///
  /// Later versions may add kinds. A `switch` over kinds therefore needs a `default` case.
  public struct Kind: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    /// The stable text of the kind, as in JSON.
    public let rawValue: String

    /// Creates a kind from its stable text.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// The stable text of the kind.
    public var description: String { rawValue }

    /// All kinds of this version. Kinds of other errors with the same text keep it.
    static let allCases: Set<Kind> = [
      .storeNotFound, .objectNotFound, .unknownEntity, .excludedAttributeIsRequired, .rebuildTypeMismatch,
      .parentUnavailable, .unknownRelationship, .requiredRelationshipExcluded, .invalidValue, .uniquenessConflict,
      .maxCountExceeded, .inverseTaken, .limitExceeded, .diskFull, .mapFull, .cancelled, .invalidConfiguration,
      .idempotencyKeyReused, .outsideObjectUnmatched, .incompatibleModel,
    ]

    /// The kind with a text, or nil if this version has none.
    package init?(known text: String) {
      self.init(rawValue: text)
      if !Self.allCases.contains(self) { return nil }
    }

    /// There is no store (in MOCloner: the object has no context).
    public static let storeNotFound = Kind(rawValue: "noStore")
    /// A root object does not exist.
    public static let objectNotFound = Kind(rawValue: "objectNotFound")
    /// A rule names an entity that the model does not define.
    public static let unknownEntity = Kind(rawValue: "unknownEntity")
    /// A rule excludes a required attribute without a default (R15).
    public static let excludedAttributeIsRequired = Kind(rawValue: "excludedAttributeIsRequired")
    /// A `rebuild` rule applies to an attribute of another type (R16).
    public static let rebuildTypeMismatch = Kind(rawValue: "rebuildTypeMismatch")
    /// A `followParent` rule finds no parent with a value, and `withoutParent` provides no fallback (R17, R18).
    ///
    /// `withoutParent` is absent or invalid, or is `blank` for an attribute that is required and has no default.
    public static let parentUnavailable = Kind(rawValue: "parentUnavailable")
    /// A name does not match a relationship that is reachable from the roots (R5, R7).
    public static let unknownRelationship = Kind(rawValue: "unknownRelationship")
    /// An exclusion leaves a required relationship empty or below its minimum count (R14), or an object that a required
    /// relationship needs no longer exists since the source snapshot.
    public static let requiredRelationshipExcluded = Kind(rawValue: "requiredRelationshipExcluded")
    /// A value that a rule assigns to a clone violates the bounds or the pattern of its attribute (R36).
    public static let invalidValue = Kind(rawValue: "invalidValue")
    /// A value of a clone violates a uniqueness constraint (R24).
    public static let uniquenessConflict = Kind(rawValue: "uniquenessConflict")
    /// The clone would push a relationship of an outside object above its maximum count (R13).
    public static let maxCountExceeded = Kind(rawValue: "maxCountExceeded")
    /// The clone would take the to-one inverse of an outside object away from another object (R13).
    public static let inverseTaken = Kind(rawValue: "inverseTaken")
    /// The clone exceeds a limit of the call: objects, depth or bytes (R29); or a limit of the store, see
    /// <doc:Operating>.
    public static let limitExceeded = Kind(rawValue: "limitExceeded")
    /// The disk has no space for the clones. Only plans report this kind; the clone itself throws ``StoreError``.
    public static let diskFull = Kind(rawValue: "diskFull")
    /// The clones exceed the maximum size of the file. Only plans report this kind; the clone itself throws
    /// ``StoreError``.
    public static let mapFull = Kind(rawValue: "mapFull")
    /// The task was cancelled (R29).
    public static let cancelled = Kind(rawValue: "cancelled")
    /// A clone rule or an option is invalid, or two roles of the userInfo keys share a name (R28).
    public static let invalidConfiguration = Kind(rawValue: "invalidConfiguration")
    /// Another call with other arguments has used the idempotency key (R31).
    public static let idempotencyKeyReused = Kind(rawValue: "idempotencyKeyReused")
    /// The other store has no match for an object outside the clone (R35).
    public static let outsideObjectUnmatched = Kind(rawValue: "outsideObjectUnmatched")
    /// The model of the other store lacks a part that the clones need (R35).
    public static let incompatibleModel = Kind(rawValue: "incompatibleModel")
  }

  /// The kind of the error.
  public let kind: Kind
  /// The affected entity.
  public let entity: String?
  /// The affected property.
  public let property: String?
  /// The affected source object, such as `Item/3`.
  public let object: String?
  /// The failure and the remedy.
  public let message: String

  /// The stable text of the kind.
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
