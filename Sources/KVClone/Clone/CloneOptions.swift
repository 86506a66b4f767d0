#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif
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

  /// How many clones of the same plan are made (R32); at least 1.
  public var count = 1
  /// Makes the call repeatable (R31): a second call with the same key and the same other arguments clones nothing, and
  /// answers the first call's result. 1 to 255 bytes of UTF-8.
  ///
  /// ``willClone``, ``didClone`` and ``progress`` cannot be compared, and do not count as arguments.
  public var idempotencyKey: String?
  /// When the store forgets the key; nil: not before it is purged.
  public var idempotencyExpiresAt: Date?
  /// Every clone remembers what it was cloned from (R33); `provenance(of:)` tells.
  public var recordsProvenance = false
  /// What becomes of links to outside objects, in a clone into another store (R35).
  public var outsideObjects = OutsideObjects.match
  /// Asked for every edge that the rules do not exclude, while the clone set is found (R30).
  ///
  /// Its answer counts as a rule of the call for this one edge: `follow` it, `reference` to stop as where the inverse is
  /// to-many (R6), `skip` to leave it out; ``CloneEdge/rule`` changes nothing. It is asked in the order of the traversal
  /// (R3), on the thread that clones, and may read the state that is cloned. What it throws ends the clone, with nothing
  /// written. When others commit before the clone has the write lock, the plan is made again, and it is asked again. Answers
  /// that differ from the rule are remembered until the clone ends, in about 64 bytes each.
  public var willClone: (@Sendable (CloneEdge, borrowing CloneSource) throws -> RelationshipCloneRule.Override)?
  /// Called for every source and its clone when all clones are written, in the clone's own transaction (R30).
  ///
  /// All changes are allowed, deleting included; the commit checks what comes of them. Sources come in ascending order of
  /// their ids, with their copies in the order these were made. What it throws gives the whole transaction up. A dry run
  /// does not call it. A clone that met the map's end is given up and made again, and so it is called again.
  public var didClone: (@Sendable (inout WriteTransaction, _ source: ObjectID, _ clone: ObjectID) throws -> Void)?
  /// Hears how far the clone has come, on the thread that clones, some times a second at most.
  public var progress: (@Sendable (CloneProgress) -> Void)?

  /// How many objects a small clone has at most, which is cloned by a path of its own; tests force either path.
  var smallLimit = CloneSet.smallLimit

  /// What becomes of a link from a clone to an object that is not cloned, where the clone is of another store (R35).
  public enum OutsideObjects: Sendable {
    /// The link leads to the object with the same values under a uniqueness constraint; where none has them, it is an
    /// error.
    case match
    /// As `match`, but the link is left empty where no object has the values.
    case matchOrLeaveEmpty
    /// The link is left empty.
    case leaveEmpty
    /// Any outside object is an error.
    case refuse
  }

  /// The model's rules and nothing else.
  public init() {}
}

/// What a deep clone did.
public struct CloneResult: Sendable {
  /// The clone of each root, in the order of the roots; with several copies, copy after copy.
  public let roots: [ObjectID]
  /// How many objects were made.
  public let objectCount: Int
  /// Objects made, by concrete entity; entities without any are left out.
  public let counts: [String: Int]
  /// How many objects outside the clones were changed (R13).
  public let affectedObjectCount: Int
  /// The first 100 of them, by id.
  public let affectedObjectIDs: [ObjectID]
  /// How many large binary values the clones share with their sources.
  public let blobsShared: Int
  /// Bytes of the values that are shared.
  public let bytesShared: UInt64
  /// Bytes of large binary values that were written again.
  public let bytesCopied: UInt64
  /// Bytes of records, lists and index entries that were written, with their keys.
  public let bytesWritten: UInt64
  /// From the plan to the durable commit, or to the end of the stream inside a caller's transaction.
  public internal(set) var duration: Duration
  /// The idempotency key was known: this is the first call's result, and nothing was cloned now (R31).
  public internal(set) var isRepeated = false
  /// Of a repeated result: the ``roots`` that no longer exist.
  public internal(set) var deletedRoots: [ObjectID] = []

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
  public let affectedObjectCount: Int
  /// The first 100 of them, by id.
  public let affectedObjectIDs: [ObjectID]
  /// How many large binary values would be shared.
  public let blobsShared: Int
  /// Bytes that would be shared.
  public let bytesShared: UInt64
  /// Bytes of large binary values that would be written again.
  public let bytesCopied: UInt64
  /// Bytes of records, lists and index entries that would be written, with their keys: what the clone then reports.
  public let bytesWritten: UInt64
  /// How long the planning took.
  public let duration: Duration
  /// How long the clone would hold the write lock, its commit included: an estimate, from how long this process's clones in
  /// this store have taken lately, or from an ordinary disk before there was any.
  public internal(set) var estimatedLockDuration = Duration.zero
  /// Which rule decided about each property that is not simply copied or that links objects.
  public let rules: [AppliedRule]
  /// Where the plan goes on from each entity that has objects in the clone, and where it does not: the relationships of each in
  /// the model's order.
  public internal(set) var branches: [CloneBranch] = []
  /// Everything that stands in the way; empty when the clone would succeed. The first 100.
  public let errors: [CloneError]
  /// How many reasons there are.
  public let errorCount: Int
  /// The idempotency key is known: the call would clone nothing, and answer the first call's result (R31).
  public internal(set) var isRepeated = false

  /// The plan of a call that has been made already.
  static func repeated(_ duration: Duration) -> ClonePlan {
    var plan = ClonePlan(
      objectCount: 0, counts: [:], affectedObjectCount: 0, affectedObjectIDs: [], blobsShared: 0, bytesShared: 0, bytesCopied: 0,
      bytesWritten: 0, duration: duration, rules: [], errors: [], errorCount: 0)
    plan.isRepeated = true
    return plan
  }
}

/// What a plan does with one relationship of an entity that has objects in the clone.
public struct CloneBranch: Sendable, Hashable {
  /// What becomes of the objects that it leads to.
  public enum Action: String, Sendable, Hashable {
    /// They are cloned.
    case follow
    /// The clone shares them with its source, or links to their clones where they have some (R6, R9).
    case share
    /// The clone has none of them.
    case skip
  }

  /// The concrete entity.
  public let entity: String
  /// The relationship.
  public let relationship: String
  /// Whether it is to-many.
  public let isToMany: Bool
  /// What is done for objects that were come upon.
  public let action: Action
  /// Which rule says so, with the userInfo key where it is one that does.
  public let rule: String
  /// What is done for the objects that were named, the roots.
  public let rootAction: Action
  /// Which rule says that.
  public let rootRule: String
  /// The concrete entities that it can lead to, by name.
  public let destinations: [String]
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
