#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif
public import KVCloneCore
public import KVCloneModel

/// Options of a deep clone, beyond the clone rules of the model.
public struct CloneOptions: Sendable {
  /// The target of a link that is not followed when its target is cloned too.
  public enum References: Sendable {
    /// The clone links to the clone of the target (R9).
    case remap
    /// The clone links to the original target, as in MOCloner (R10).
    case keepOriginal
  }

  /// The storage of a clone's blobs: binary values above the inline size.
  public enum Blobs: Sendable {
    /// The clone references the same bytes. The last delete of a referrer frees them (R25).
    case share
    /// The clone writes the bytes again.
    case copy
  }

  /// Names of relationships that are not followed and stay empty on the clone (R5).
  ///
  /// A plain name applies to the roots only, unless ``passingExclusionList`` is set. `Entity.relationship` applies on
  /// every level. The default is empty.
  public var excludedRelationshipNames: [String] = []
  /// Whether plain names in ``excludedRelationshipNames`` apply on every level. The default is false.
  public var passingExclusionList = false
  /// Rules for single relationships, by `Entity.relationship`. They override all rules of the model (R7).
  public var rules: [String: CloneRule] = [:]
  /// The names of the userInfo keys that hold the clone rules of the model (R28).
  public var userInfoKeys = CloneUserInfoKeys.standard
  /// The target of links that are not followed when their target is cloned too. The default is `remap`.
  public var references = References.remap
  /// Whether clones share blobs with their sources or copy them. The default is `share`.
  public var blobs = Blobs.share
  /// The maximum number of objects to clone, over all copies; nil for no limit (R29).
  public var maxObjects: Int?
  /// The maximum depth; nil for no limit. Roots have depth 0 (R29).
  public var maxDepth: Int?
  /// The maximum number of bytes to write; nil for no limit (R29).
  public var maxBytes: UInt64?

  /// The number of copies to create from one plan, at least 1 (R32). The default is 1.
  public var count = 1
  /// A key of 1 to 255 UTF-8 bytes that makes the call idempotent; nil for none (R31).
  ///
  /// A second call with the same key and arguments clones nothing and returns the result of the first call. The same
  /// key with other arguments is an error. ``willClone``, ``didClone`` and ``progress`` cannot be compared and are not
  /// part of the arguments.
  public var idempotencyKey: String?
  /// The time at which the store forgets the key. With nil, the key stays until it is purged.
  public var idempotencyExpiresAt: Date?
  /// Whether each clone records its source, which `provenance(of:)` returns (R33). The default is false.
  public var recordsProvenance = false
  /// Whether the clones can be merged back into their sources (P1). It implies ``recordsProvenance``. The default is
  /// false.
  ///
  /// The state after the commit that clones becomes their base, a hidden snapshot: until it ends, the store retains the
  /// preimages of all changes since. It ends when the clones are merged or deleted, or expires.
  public var keepsBase = false
  /// The time after which the clones can no longer be merged, and the base may be deleted; nil for no expiry. The
  /// clones themselves stay.
  public var baseExpiresAt: Date?
  /// The resolution of links to objects outside the clone, in a clone into another store (R35). The default is `match`.
  public var outsideObjects = OutsideObjects.match
  /// Decides about single edges: called for every edge that the rules do not exclude, while the plan is created (R30).
  ///
  /// The returned rule applies to this edge only and overrides all other rules: `follow` clones the target, `reference`
  /// shares it as if its inverse were to-many (R6), `skip` leaves the link out. Returning ``CloneEdge/rule`` changes
  /// nothing. The closure runs on the cloning thread, in the order of the traversal (R3), and may read the state that
  /// is cloned.
  ///
  /// An error that it throws ends the clone, and nothing is written. If another transaction commits before the clone
  /// has the write lock, the plan is created again and the closure is called again. Results that differ from the rule
  /// use about 64 bytes of memory each until the clone ends.
  public var willClone: (@Sendable (CloneEdge, borrowing CloneSource) throws -> CloneRule)?
  /// Called for every source and its clone when all clones are written, in the clone's transaction (R30).
  ///
  /// The closure may insert, change and delete any object. The commit validates the result. Sources come in ascending
  /// order of their ids, and the copies of a source in the order of their creation. An error that it throws rolls the
  /// whole transaction back. A dry run does not call it. A clone that fails because the map is full is rolled back and
  /// repeated, and the closure is called again.
  public var didClone: (@Sendable (inout WriteTransaction, _ source: ObjectID, _ clone: ObjectID) throws -> Void)?
  /// Receives progress on the cloning thread, at most a few times per second.
  public var progress: (@Sendable (OperationProgress) -> Void)?

  /// The maximum number of objects in a small clone, which takes a path of its own; tests force either path.
  var smallLimit = CloneSet.smallLimit

  /// The resolution of a link to an object that is not cloned, in a clone into another store (R35).
  public enum OutsideObjects: Sendable {
    /// Links to the object with the same values under a uniqueness constraint. If no object matches, the clone fails.
    case match
    /// Links to the matching object as `match` does. If no object matches, the link stays empty.
    case matchOrLeaveEmpty
    /// Leaves the link empty.
    case leaveEmpty
    /// Fails the clone.
    case refuse
  }

  /// Creates options that apply the rules of the model only.
  public init() {}
}

/// The result of a deep clone.
public struct CloneResult: Sendable {
  /// The clone of each root, in the order of the roots. With several copies, copy after copy.
  public let roots: [ObjectID]
  /// The number of objects created.
  public let objectCount: Int
  /// The number of objects created, by concrete entity. Entities without clones are absent.
  public let counts: [String: Int]
  /// The number of objects outside the clones that changed (R13).
  public let affectedObjectCount: Int
  /// The first 100 affected objects, in ascending order of their ids.
  public let affectedObjectIDs: [ObjectID]
  /// The number of blobs that the clones share with their sources.
  public let blobsShared: Int
  /// The size of the shared blobs in bytes.
  public let bytesShared: UInt64
  /// The size of the blobs that were written again, in bytes.
  public let bytesCopied: UInt64
  /// The size of the records, lists and index entries that were written, in bytes with their keys.
  public let bytesWritten: UInt64
  /// The time from planning to the durable commit. Inside a caller's transaction, the time to the last write.
  public internal(set) var duration: Duration
  /// Whether the idempotency key was known: this is the result of the first call, and this call cloned nothing (R31).
  public internal(set) var isRepeated = false
  /// The ``roots`` that no longer exist. Empty unless the result is repeated.
  public internal(set) var deletedRoots: [ObjectID] = []

  /// The clone of the first root.
  public var root: ObjectID { roots[0] }
}

/// The result of a dry run: what a deep clone would do (R36). Nothing is written.
public struct ClonePlan: Sendable {
  /// The number of objects that would be created.
  public let objectCount: Int
  /// The number of objects that would be created, by concrete entity.
  public let counts: [String: Int]
  /// The number of objects outside the clones that would change.
  public let affectedObjectCount: Int
  /// The first 100 objects outside the clones that would change, in ascending order of their ids.
  public let affectedObjectIDs: [ObjectID]
  /// The number of blobs that would be shared.
  public let blobsShared: Int
  /// The size of the blobs that would be shared, in bytes.
  public let bytesShared: UInt64
  /// The size of the blobs that would be written again, in bytes.
  public let bytesCopied: UInt64
  /// The size of the records, lists and index entries that would be written, in bytes with their keys.
  /// ``CloneResult/bytesWritten`` of the clone reports the same number.
  public let bytesWritten: UInt64
  /// The duration of the planning.
  public let duration: Duration
  /// The estimated time for which the clone would hold the write lock, including its commit.
  ///
  /// The estimate uses the recent clones of this process in this store. Before the first one, it assumes an ordinary
  /// disk.
  public internal(set) var estimatedLockDuration = Duration.zero
  /// The rules that apply to links, and to attributes that are not copied unchanged.
  public let rules: [AppliedRule]
  /// The decision of the plan for each relationship of each entity in the clone, in the order of the model.
  public internal(set) var branches: [CloneBranch] = []
  /// The first 100 errors that would fail the clone; empty if the clone would succeed.
  public let errors: [CloneError]
  /// The total number of errors.
  public let errorCount: Int
  /// Whether the idempotency key is known: the call would clone nothing and return the result of the first call (R31).
  public internal(set) var isRepeated = false

  /// The plan of a repeated call.
  static func repeated(_ duration: Duration) -> ClonePlan {
    var plan = ClonePlan(
      objectCount: 0, counts: [:], affectedObjectCount: 0, affectedObjectIDs: [], blobsShared: 0,
      bytesShared: 0, bytesCopied: 0,
      bytesWritten: 0, duration: duration, rules: [], errors: [], errorCount: 0)
    plan.isRepeated = true
    return plan
  }
}

/// The decision of a plan about one relationship of an entity in the clone.
public struct CloneBranch: Sendable, Hashable {
  /// The treatment of the objects that a relationship leads to.
  public enum Action: String, Sendable, Hashable {
    /// The objects are cloned.
    case follow
    /// The clone links to the same objects as its source, or to their clones if they are cloned too (R6, R9).
    case share
    /// The clone has no link to the objects.
    case skip
  }

  /// The concrete entity.
  public let entity: String
  /// The name of the relationship.
  public let relationship: String
  /// Whether the relationship is to-many.
  public let isToMany: Bool
  /// The action for objects that the traversal reaches.
  public let action: Action
  /// The rule that decides the action, with the userInfo key if one decides.
  public let rule: String
  /// The action for the roots.
  public let rootAction: Action
  /// The rule that decides the action for the roots.
  public let rootRule: String
  /// The concrete entities that the relationship can lead to, sorted by name.
  public let destinations: [String]
}

/// A clone rule and the property that it applies to.
public struct AppliedRule: Sendable, Hashable {
  /// The concrete entity.
  public let entity: String
  /// The name of the attribute or relationship.
  public let property: String
  /// The action and its rule, such as `follow (R7)`, `share (R6)` or `rebuild uuid (R16)`.
  public let rule: String
}

extension CloneOptions {
  init(excludedRelationshipNames: [String], passingExclusionList: Bool, config: CloneUserInfoKeys) {
    self.init()
    self.excludedRelationshipNames = excludedRelationshipNames
    self.passingExclusionList = passingExclusionList
    userInfoKeys = config
  }
}
