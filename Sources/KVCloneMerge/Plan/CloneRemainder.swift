import KVCloneCore
package import KVCloneModel

/// The clones of a draft after its merge, for the rules of the model (P7): deleted clones leave links of other objects,
/// and kept ones hold their unique values. Neither side of the merge shows them.
package struct CloneRemainder {
  /// The relationships of other objects that lose members with deleted clones.
  let losing: Set<LinkPlace>
  private let state: any MergeState
  /// The sources of kept clones.
  private let kept: [ObjectID: ObjectID]

  /// - Parameters:
  ///   - clones: the clones that exist, with their sources.
  ///   - state: the state before the merge, with the clones.
  package init(of clones: [ObjectID: ObjectID], in state: any MergeState, keepsClones: Bool) throws {
    self.state = state
    kept = keepsClones ? clones : [:]
    losing = try keepsClones ? [] : Self.places(losing: Set(clones.keys), in: state)
  }

  private static func places(losing clones: Set<ObjectID>, in state: any MergeState) throws -> Set<LinkPlace> {
    var places: Set<LinkPlace> = []
    for id in clones {
      guard let entity = try state.entity(of: id) else { continue }
      for relationship in entity.relationships where relationship.hasInverse {
        for member in try state.members(of: id, relationship) where !clones.contains(member) {
          places.insert(LinkPlace(owner: member, code: relationship.inverseCode))
        }
      }
      for code in entity.referrerCodes {
        for referrer in try state.referrers(of: id, code) where !clones.contains(referrer) {
          guard let relationship = try state.entity(of: referrer)?.relationship(referrerCode: code) else { continue }
          places.insert(LinkPlace(owner: referrer, code: relationship.code))
        }
      }
    }
    return places
  }

  /// Returns a kept clone with these values; nil if there is no such clone.
  ///
  /// - Parameter restored: a source that the merge inserts: its clone takes its place (P5).
  func keptHolder(of constraint: CompiledConstraint, _ key: UniqueKey, besides restored: ObjectID?) throws -> ObjectID?
  {
    if kept.isEmpty { return nil }
    return try state.holders(of: constraint, key).first { clone in
      kept[clone].map { $0 != restored } ?? false
    }
  }
}
