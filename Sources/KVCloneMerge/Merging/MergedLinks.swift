import KVCloneCore
import KVCloneModel

/// One side of a relationship of one object.
struct LinkPlace: Hashable, Comparable {
  let owner: ObjectID
  let code: UInt16

  static func < (left: Self, right: Self) -> Bool { (left.owner, left.code) < (right.owner, right.code) }
}

/// The links of the result, as differences from ours, at both ends of each relationship.
struct MergedLinks {
  /// The members that the result has and ours has not, and the reverse.
  struct Difference {
    var added: Set<ObjectID> = []
    var removed: Set<ObjectID> = []

    var isEmpty: Bool { added.isEmpty && removed.isEmpty }
  }

  private(set) var differences: [LinkPlace: Difference] = [:]

  subscript(owner: ObjectID, relationship: CompiledRelationship) -> Difference? {
    differences[LinkPlace(owner: owner, code: relationship.code)]
  }

  /// Adds a link that the result does not have.
  mutating func add(_ owner: ObjectID, _ relationship: CompiledRelationship, _ target: ObjectID) {
    for (place, member) in Self.ends(owner, relationship, target) {
      Self.add(member, &differences[place, default: Difference()])
    }
  }

  /// Removes a link that the result has.
  mutating func remove(_ owner: ObjectID, _ relationship: CompiledRelationship, _ target: ObjectID) {
    for (place, member) in Self.ends(owner, relationship, target) {
      Self.remove(member, &differences[place, default: Difference()])
    }
  }

  /// The places of a link, and its member in each: two, or one without an inverse, and for an object that is its own
  /// partner.
  private static func ends(_ owner: ObjectID, _ relationship: CompiledRelationship, _ target: ObjectID)
    -> [(LinkPlace, ObjectID)]
  {
    let place = LinkPlace(owner: owner, code: relationship.code)
    let inverse = LinkPlace(owner: target, code: relationship.inverseCode)
    return relationship.hasInverse && place != inverse ? [(place, target), (inverse, owner)] : [(place, target)]
  }

  private static func add(_ member: ObjectID, _ difference: inout Difference) {
    if difference.removed.remove(member) == nil { difference.added.insert(member) }
  }

  private static func remove(_ member: ObjectID, _ difference: inout Difference) {
    if difference.added.remove(member) == nil { difference.removed.insert(member) }
  }
}
