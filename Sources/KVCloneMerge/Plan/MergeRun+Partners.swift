import KVCloneCore
import KVCloneModel

/// One-to-one relationships: no object may have two partners (M3).
extension MergeRun {
  /// Sets the targets of one-to-one relationships. Two objects that want one partner are a conflict of the partner, so
  /// that nothing is taken away silently.
  func settlePartners() throws {
    let wishes = partnerWishes.sorted { $0.key < $1.key }
    for wish in partnerWishes.values {
      if let target = wish.target { wishedPartners.insert(LinkPlace(owner: target, code: wish.relationship.code)) }
    }
    // Partners that exchange their targets are all free first.
    for (place, wish) in wishes {
      guard let old = try target(place.owner, wish.relationship), old != wish.target else { continue }
      links.remove(place.owner, wish.relationship, old)
    }
    for (place, wish) in wishes {
      guard let partner = wish.target else { continue }
      try settle(place.owner, wish.relationship, partner)
    }
  }

  private func settle(_ id: ObjectID, _ relationship: CompiledRelationship, _ partner: ObjectID) throws {
    guard let entity = try anyEntity(partner), let inverse = entity.inverse(of: relationship) else { return }
    let wish = partnerWishes[LinkPlace(owner: id, code: relationship.code)]
    if relationship.inverseCode == relationship.code, wish?.isChosen != true {
      // Both ends are compared, and the partner's own value decides.
      let place = LinkPlace(owner: partner, code: relationship.code)
      if undecidedPlaces.contains(place) { return }
      let target = try partnerWishes[place]?.target ?? ours.now.target(of: partner, relationship)
      if let target, target != id { return }
      if let decision = partnerWishes[place], decision.target == nil { return }
    }
    let holder = try target(partner, inverse)
    guard let holder, holder != id else { return try addLink(id, relationship, partner) }
    if try self.entity(holder) == nil || self.entity(partner) == nil {
      links.remove(holder, relationship, partner)
      return links.add(id, relationship, partner)
    }
    let isOpen =
      undecided.contains(holder) || undecidedPlaces.contains(LinkPlace(owner: holder, code: relationship.code))
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
      links.remove(rivals.ours, relationship, rivals.partner)
      links.add(rivals.theirs, relationship, rivals.partner)
      try fallBack(rivals.ours, relationship, .theirs)
    case .object(let chosen):
      links.remove(rivals.ours, relationship, rivals.partner)
      guard let chosen else { return }
      guard let other = try self.entity(chosen), other.relationshipIndexByCode[relationship.code] != nil else {
        throw conflict.invalidAnswer("the partner does not exist, or is of another entity")
      }
      try setTarget(chosen, relationship, rivals.partner)
    default: undecidedPlaces.insert(LinkPlace(owner: rivals.theirs, code: relationship.code))
    }
  }

  /// Gives an object without the wanted partner the one that the preferred side has, if that one is free.
  private func fallBack(_ id: ObjectID, _ relationship: CompiledRelationship, _ side: MergeSide) throws {
    guard let partner = try states(side).now.target(of: id, relationship), try target(id, relationship) == nil,
      let entity = try self.entity(partner), let inverse = entity.inverse(of: relationship),
      try target(partner, inverse) == nil, !wishedPartners.contains(LinkPlace(owner: partner, code: relationship.code))
    else { return }
    links.add(id, relationship, partner)
  }
}
