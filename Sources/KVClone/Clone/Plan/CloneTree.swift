package import KVCloneModel

/// A part of the tree of objects that a clone would copy: each below the object from which the traversal discovers it.
///
/// The nodes are in the order of the traversal (R3). The tree is bounded, and so is the memory to collect it, whatever
/// the size of the clone.
package struct CloneTree: Sendable {
  /// The part of the tree to collect.
  package struct Window: Sendable {
    /// The object at the top; nil for the root of the clone.
    package var top: ObjectID?
    /// The only listed relationship of the top; nil for all.
    package var relationship: String?
    /// The member of ``relationship`` after which the list begins.
    package var after: ObjectID?
    /// The maximum number of nodes.
    package var nodeLimit = 500
    /// The maximum number of listed members of a relationship.
    package var memberLimit = 50
    /// The maximum number of links that are not nodes.
    package var linkLimit = 2000
    /// The maximum depth below the top.
    package var depthLimit = 20

    package init() {}
  }

  /// An object of the clone.
  package struct Node: Sendable {
    package let object: ObjectID
    package internal(set) var entity = ""
    /// The number of objects that the traversal discovers before this one.
    package let order: Int
    /// The number of relationships between the root and the object.
    package let depth: Int
    /// Whether ``edges`` were collected: false at the maximum depth, and where the time was over.
    package internal(set) var isExpanded = false
    package internal(set) var edges: [Edge] = []
  }

  /// A relationship of an object, with the rule that decides about it.
  package struct Edge: Sendable {
    package let relationship: String
    package let isToMany: Bool
    package let action: CloneBranch.Action
    /// The rule, with the userInfo key if one decides.
    package let rule: String
    /// The number of members, of which ``links`` contains a part.
    package let count: Int
    package internal(set) var links: [Link] = []
    /// Whether members follow the last link.
    package internal(set) var isCut = false
    /// The number of members before the first link.
    package internal(set) var skippedCount = 0
    /// The position of the relationship in the rules of its entity.
    let step: Int
  }

  /// A link of an object of the clone.
  package struct Link: Sendable {
    /// The link of the clone.
    package enum Outcome: String, Sendable {
      /// Leads to the clone of the target, which this link discovers.
      case cloned
      /// Leads to the clone of the target, which another link discovers.
      case repeated
      /// Leads to the target itself.
      case shared
      /// Is not made, because a rule excludes it.
      case omitted
      /// Is not made, because the target no longer exists: in a clone from a snapshot.
      case missing
      /// Depends on objects that were not read before the deadline.
      case unknown
    }

    package let target: ObjectID
    package internal(set) var entity = ""
    package internal(set) var outcome: Outcome
    /// The index of the target in ``CloneTree/nodes``, if this link discovers it.
    package let node: Int?
  }

  /// An object outside of the clone that gains links.
  package struct Gain: Sendable {
    package let object: ObjectID
    package let entity: String
    /// The relationship of the object.
    package let relationship: String
    /// The number of links, over all copies.
    package let count: Int
    /// Whether ``count`` is a lower bound, because the list is long.
    package let isLowerBound: Bool
  }

  /// In the order of the traversal; the first one is the top. Empty if the clone does not contain it.
  package internal(set) var nodes: [Node] = []
  /// Whether the traversal was stopped by the deadline before the part was complete.
  package internal(set) var isStopped = false
}
