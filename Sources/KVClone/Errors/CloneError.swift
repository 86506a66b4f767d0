/// Why an object graph cannot be cloned. Rule numbers are those of the article on deep clone.
public struct CloneError: KVCloneError, Hashable {
  /// The kinds of refusal.
  public enum Kind: String, Sendable, Hashable {
    /// No store (MOCloner: the object has no context).
    case noStore
    /// A root does not exist.
    case objectNotFound
    /// A rule names an entity that the model does not have.
    case unknownEntity
    /// A required attribute without a default is excluded (R15).
    case excludedAttributeIsRequired
    /// `rebuild` on an attribute of another type (R16).
    case rebuildTypeMismatch
    /// `followParent` without a parent that has a value for it, and no `withoutParent` that helps: absent, unreadable, or
    /// `blank` where neither nil nor a default is possible (R17, R18).
    case parentUnavailable
    /// A name that is no relationship reachable from the roots (R5, R7).
    case unknownRelationship
    /// A required relationship, or a minimum count, that exclusions leave unmet (R14), or objects that are gone since the
    /// snapshot that is cloned from.
    case requiredRelationshipExcluded
    /// A value that a clone has from a rule and not from its source breaks bounds or a pattern of the model (R36).
    case invalidValue
    /// A clone's values violate a uniqueness constraint (R24).
    case uniquenessConflict
    /// An outside object's relationship would exceed its maximum count (R13).
    case maxCountExceeded
    /// An outside object's to-one inverse would be taken from another object (R13).
    case inverseTaken
    /// A limit of the call: objects, depth or bytes (R29); or of the store, see <doc:Operating>.
    case limitExceeded
    /// The disk has no space for the clones: only in a plan, as the clone throws ``StoreError``.
    case diskFull
    /// The clones exceed what a file can ever hold: only in a plan, as the clone throws ``StoreError``.
    case mapFull
    /// The task was cancelled (R29).
    case cancelled
    /// Two roles of the userInfo keys have one name (R28), or a rule cannot be read.
    case invalidConfiguration
    /// An idempotency key that another call with other arguments has used (R31).
    case idempotencyKeyReused
    /// An object outside the clones that no object of the other store stands for (R35).
    case outsideObjectUnmatched
    /// The other store's model lacks what the clones need (R35).
    case incompatibleModel
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
