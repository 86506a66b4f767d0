import KVCloneCore
import KVCloneModel

/// One-to-one relationships: no object may have two partners (M3).
extension MergeRun {
  /// Sets the targets of one-to-one relationships. Two objects that want one partner are a conflict of the partner, so
  /// that nothing is taken away silently.
  func settlePartners() throws {
    // Partners that exchange their targets are all free first.
    try forEachWish { id, relationship, wish in
      if let target = wish.target {
        try wishedPartners.insert(PropertyPlace(owner: target, code: relationship.code))
      }
      if let old = try target(id, relationship), old != wish.target { try links.remove(id, relationship, old) }
    }
    try forEachWish { id, relationship, wish in
      // What ours has is there already, or was lost to another wish, which a conflict has decided.
      let mine = try ours.now.membersIfPresent(of: id, relationship).first
      if let partner = wish.target, partner != mine { try settle(id, relationship, partner) }
    }
  }

  private func forEachWish(_ body: (ObjectID, CompiledRelationship, PartnerWish) throws -> Void) throws {
    try forEachRelationship(of: partnerWishes.owners) { place, _, relationship in
      if let wish = partnerWishes[place] { try body(place.owner, relationship, wish) }
    }
  }

  private func settle(_ id: ObjectID, _ relationship: CompiledRelationship, _ partner: ObjectID) throws {
    guard let entity = try anyEntity(partner), let inverse = entity.inverse(of: relationship) else { return }
    let wish = partnerWishes[PropertyPlace(owner: id, code: relationship.code)]
    if relationship.inverseCode == relationship.code, wish?.isChosen != true {
      // Both ends are compared, and the partner's own value decides.
      let place = PropertyPlace(owner: partner, code: relationship.code)
      if undecidedPlaces.contains(place) { return }
      let decision = partnerWishes[place]
      let target = try decision?.target ?? ours.now.target(of: partner, relationship)
      if let target, target != id { return }
      if let decision, decision.target == nil { return }
      let isGained = try !theirs.baseMembers(of: partner, relationship).contains(id)
      if try decision == nil && isGained && isSkipped(partner, entity, relationship, id) { return }
    }
    let holder = try target(partner, inverse)
    guard let holder, holder != id else { return try addLink(id, relationship, partner) }
    if try self.entity(holder) == nil || self.entity(partner) == nil {
      try links.remove(holder, relationship, partner)
      return try links.add(id, relationship, partner)
    }
    let isOpen =
      undecided.contains(holder) || undecidedPlaces.contains(PropertyPlace(owner: holder, code: relationship.code))
    if isOpen { return }
    try resolve(Rivals(partner: partner, entity: entity, inverse: inverse, ours: holder, theirs: id), relationship)
  }

  /// Two objects that want one partner.
  private struct Rivals {
    let partner: ObjectID
    let entity: CompiledEntity
    /// The relationship of the partner.
    let inverse: CompiledRelationship
    let ours: ObjectID
    let theirs: ObjectID
  }

  private func resolve(_ rivals: Rivals, _ relationship: CompiledRelationship) throws {
    if book.rule(of: rivals.inverse.name, rivals.entity) == .skip {
      return try fallBack(rivals.theirs, relationship, .ours)
    }
    let base = try ours.baseMembers(of: rivals.partner, rivals.inverse).first
    var fingerprint = ConflictFingerprint()
    for id in [base, rivals.ours, rivals.theirs] { fingerprint.add(id) }
    let conflict = try conflict(
      .inverseTaken, rivals.partner, rivals.entity, property: rivals.inverse.name, base: .object(base),
      ours: .object(rivals.ours), theirs: .object(rivals.theirs), fingerprint: fingerprint)
    switch try resolver.answer(conflict, side: book.side(of: rivals.inverse.name, rivals.entity)) {
    case .side(.ours), .object(rivals.ours): try fallBack(rivals.theirs, relationship, .ours)
    case .side(.theirs), .object(rivals.theirs):
      try links.remove(rivals.ours, relationship, rivals.partner)
      try links.add(rivals.theirs, relationship, rivals.partner)
      try fallBack(rivals.ours, relationship, .theirs)
    case .object(let chosen):
      try links.remove(rivals.ours, relationship, rivals.partner)
      guard let chosen else { return }
      guard let other = try self.entity(chosen), other.relationshipIndexByCode[relationship.code] != nil else {
        throw conflict.invalidAnswer(
          "the partner does not exist in the result, or is of another entity; choose another one, nil or a side")
      }
      // Its own wish is replaced, whether it was settled before or not.
      try partnerWishes.set(
        PropertyPlace(owner: chosen, code: relationship.code), to: PartnerWish(target: rivals.partner, isChosen: true))
      try setTarget(chosen, relationship, rivals.partner)
    default:
      for rival in [rivals.ours, rivals.theirs] {
        try undecidedPlaces.insert(PropertyPlace(owner: rival, code: relationship.code))
      }
    }
  }

  /// Gives an object without the wanted partner the one that the preferred side has, if that one is free.
  private func fallBack(_ id: ObjectID, _ relationship: CompiledRelationship, _ side: MergeSide) throws {
    guard let partner = try states(side).now.target(of: id, relationship), try target(id, relationship) == nil,
      let entity = try self.entity(partner), let inverse = entity.inverse(of: relationship),
      !wishedPartners.contains(PropertyPlace(owner: partner, code: relationship.code))
    else { return }
    if let holder = try target(partner, inverse) {
      // A deleted object leaves its partner free.
      if try self.entity(holder) != nil { return }
      try links.remove(holder, relationship, partner)
    }
    try links.add(id, relationship, partner)
  }
}
