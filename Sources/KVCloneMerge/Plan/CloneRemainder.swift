import KVCloneCore
package import KVCloneLMDB
import KVCloneModel
package import KVCloneRecords

/// The clones of a draft after its merge, for the rules of the model (P7): deleted clones leave links of other objects,
/// and kept ones hold their unique values. Neither side of the merge shows them.
package struct CloneRemainder {
  /// The relationships of other objects that lose members with deleted clones.
  let losing: PropertySet
  let keepsClones: Bool
  private let state: any MergeState
  /// The kept clones.
  private let kept: ObjectSet
  /// The sources of all clones of the copy.
  private let sources: ObjectMap

  /// - Parameters:
  ///   - clones: the clones that exist, and, if they are kept, possibly others.
  ///   - sources: the source of each clone.
  ///   - state: the state before the merge, with the clones.
  package init(
    of clones: ObjectSet, _ sources: ObjectMap, in state: any MergeState, keepsClones: Bool, _ space: ScratchSpace
  ) throws {
    self.state = state
    self.sources = sources
    self.keepsClones = keepsClones
    kept = keepsClones ? clones : ObjectSet()
    losing = PropertySet(in: space)
    if !keepsClones { try addPlaces(losing: clones) }
  }

  private func addPlaces(losing clones: ObjectSet) throws {
    try clones.forEach { (id) throws -> Bool in
      guard let entity = try state.entity(of: id) else { return true }
      for relationship in entity.relationships where relationship.hasInverse {
        for member in try state.members(of: id, relationship) where !clones.contains(member) {
          try losing.insert(PropertyPlace(owner: member, code: relationship.inverseCode))
        }
      }
      for code in entity.referrerCodes {
        for referrer in try state.referrers(of: id, code) where !clones.contains(referrer) {
          guard let relationship = try state.entity(of: referrer)?.relationship(referrerCode: code) else { continue }
          try losing.insert(PropertyPlace(owner: referrer, code: relationship.code))
        }
      }
      return true
    }
  }

  /// Returns a kept clone with these values; nil if there is no such clone.
  ///
  /// - Parameter restored: a source that the merge inserts: its clone takes its place (P5).
  func keptHolder(of constraint: CompiledConstraint, _ key: UniqueKey, besides restored: ObjectID?) throws -> ObjectID?
  {
    if kept.isEmpty { return nil }
    return try state.holders(of: constraint, key).first { clone in
      kept.contains(clone) && (restored == nil || sources[clone] != restored)
    }
  }
}
