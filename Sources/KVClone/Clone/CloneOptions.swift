public import KVCloneModel

/// What a deep clone is asked to do beyond the model's own rules.
public struct CloneOptions: Sendable {
  /// What becomes of a link that is not followed, when its target is cloned all the same.
  public enum References: Sendable {
    /// The clone links to the target's clone (R9).
    case remap
    /// The clone links to the original target, as MOCloner's does (R10).
    case keepOriginal
  }

  /// What becomes of binary values above the inline size.
  public enum Blobs: Sendable {
    /// The clone refers to the same bytes, which are counted and go with the last referrer (R25).
    case share
    /// The bytes are written again.
    case copy
  }

  /// Relationships that are not followed and stay empty on the clone (R5): names, for the roots alone unless
  /// ``passingExclusionList`` is set, or `Entity.relationship` on every level.
  public var excludedRelationshipNames: [String] = []
  /// Plain names in ``excludedRelationshipNames`` hold on every level.
  public var passingExclusionList = false
  /// What to do with a relationship, by `Entity.relationship`: stronger than anything the model says (R7).
  public var rules: [String: RelationshipCloneRule.Override] = [:]
  /// The names of the userInfo keys (R28).
  public var userInfoKeys = CloneUserInfoKeys.standard
  /// Links that are not followed, between objects that are cloned.
  public var references = References.remap
  /// Large binary values.
  public var blobs = Blobs.share
  /// The most objects to clone (R29).
  public var maxObjects: Int?
  /// The greatest depth: roots have depth 0 (R29).
  public var maxDepth: Int?
  /// The most bytes to write (R29).
  public var maxBytes: UInt64?

  /// The model's rules and nothing else.
  public init() {}
}

/// What a deep clone did.
public struct CloneResult: Sendable {
  /// The clone of each root, in the order of the roots.
  public let roots: [ObjectID]
  /// How many objects were made.
  public let objectCount: Int
  /// Objects made, by concrete entity; entities without any are left out.
  public let counts: [String: Int]
  /// How many objects outside the clones were changed (R13).
  public let touchedCount: Int
  /// The first 100 of them, by id.
  public let touched: [ObjectID]
  /// How many large binary values the clones share with their sources.
  public let blobsShared: Int
  /// Bytes of the values that are shared.
  public let bytesShared: UInt64
  /// Bytes of large binary values that were written again.
  public let bytesCopied: UInt64
  /// Bytes of records, lists and index entries that were written, with their keys.
  public let bytesWritten: UInt64
  /// From the plan to the durable commit, or to the end of the stream inside a caller's transaction.
  public let duration: Duration

  /// The clone of the first root.
  public var root: ObjectID { roots[0] }
}

/// What a deep clone would do (R36). Nothing was written.
public struct ClonePlan: Sendable {
  /// How many objects would be made.
  public let objectCount: Int
  /// Objects by concrete entity.
  public let counts: [String: Int]
  /// How many objects outside the clones would change.
  public let touchedCount: Int
  /// The first 100 of them, by id.
  public let touched: [ObjectID]
  /// How many large binary values would be shared.
  public let blobsShared: Int
  /// Bytes that would be shared.
  public let bytesShared: UInt64
  /// Bytes of large binary values that would be written again.
  public let bytesCopied: UInt64
  /// Bytes of records, lists and index entries that would be written, estimated.
  public let bytesWritten: UInt64
  /// How long the planning took.
  public let duration: Duration
  /// Which rule decided about each property that is not simply copied or that links objects.
  public let rules: [AppliedRule]
  /// Everything that stands in the way; empty when the clone would succeed. At most 100.
  public let errors: [CloneError]
}

/// A rule and the property that it decided about.
public struct AppliedRule: Sendable, Hashable {
  /// The concrete entity.
  public let entity: String
  /// The attribute or relationship.
  public let property: String
  /// What happens and why, as `follow (R7)`, `share (R6)`, `rebuild uuid (R16)`.
  public let rule: String
}
