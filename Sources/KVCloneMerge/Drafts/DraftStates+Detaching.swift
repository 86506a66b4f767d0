import KVCloneCore
import KVCloneLMDB
import KVCloneModel
import KVCloneRecords

extension DraftStates {
  /// Unlinks clones from the objects that a plan deletes. The plan does not show clones, so their delete rules must not
  /// reach any.
  ///
  /// - Returns: the rules of the model that kept clones break after the operations.
  func detachClones(in operations: OperationLog, keepsClones: Bool) throws -> PlanReasons {
    var lost = try keepsClones ? membersTakenFromClones(by: operations) : [:]
    try operations.deleted.forEach { (id) throws -> Bool in
      guard let entity = try present.entity(of: id) else { return true }
      for relationship in entity.relationships {
        let members = try present.members(of: id, relationship).filter { sources[$0] != nil }
        if members.isEmpty { continue }
        if relationship.isToMany {
          try operations.changeMembers(id, entity, relationship, added: [], removed: members)
        } else {
          try operations.setTarget(id, entity, relationship, nil)
        }
        guard keepsClones, relationship.hasInverse else { continue }
        for member in members {
          lost[PropertyPlace(owner: member, code: relationship.inverseCode), default: []].insert(id)
        }
      }
      for code in keepsClones ? entity.referrerCodes : [] {
        for referrer in try present.referrers(of: id, code) where sources[referrer] != nil {
          guard let relationship = try present.entity(of: referrer)?.relationship(referrerCode: code) else { continue }
          lost[PropertyPlace(owner: referrer, code: relationship.code), default: []].insert(id)
        }
      }
      return true
    }
    let reasons = PlanReasons()
    for (place, members) in lost.sorted(by: { ($0.key.owner, $0.key.code) < ($1.key.owner, $1.key.code) }) {
      guard let entity = try present.entity(of: place.owner),
        let relationship = entity.relationshipIndexByCode[place.code].map({ entity.relationships[$0] }),
        relationship.isValidated
      else { continue }
      let left = try present.storedMemberCount(of: place.owner, relationship) - members.count
      guard let (kind, text) = relationship.brokenRule(left) else { continue }
      reasons.note(PlanIssue(entity.issue(kind, relationship.name, place.owner, text)))
    }
    return reasons
  }

  /// Returns the members that operations take from clones: an object has one target at most.
  private func membersTakenFromClones(by operations: OperationLog) throws -> [PropertyPlace: Set<ObjectID>] {
    var lost: [PropertyPlace: Set<ObjectID>] = [:]
    func note(_ member: ObjectID, of clone: ObjectID?, _ code: UInt16) throws(StoreError) {
      // A clone in the place of a deleted source is what the operations change.
      guard let clone, let source = sources[clone], try present.entity(of: source) != nil else { return }
      lost[PropertyPlace(owner: clone, code: code), default: []].insert(member)
    }
    try operations.forEach { operation, entity in
      switch operation {
      case .setTarget(let id, let relationship, let target) where relationship.hasInverse:
        try note(id, of: present.target(of: id, relationship), relationship.inverseCode)
        guard !relationship.inverseIsToMany, let target,
          let inverse = try present.entity(of: target)?.inverse(of: relationship)
        else { return }
        try note(target, of: present.target(of: target, inverse), relationship.code)
      case .changeMembers(let id, let relationship, let added, _)
      where relationship.hasInverse && !relationship.inverseIsToMany:
        for member in added {
          guard let inverse = try present.entity(of: member)?.inverse(of: relationship) else { continue }
          try note(member, of: present.target(of: member, inverse), relationship.code)
        }
      default: return
      }
    }
    return lost
  }
}
