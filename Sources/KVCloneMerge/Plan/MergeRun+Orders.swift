import KVCloneCore
import KVCloneModel

/// The orders of lists in the result (M2).
extension MergeRun {
  /// - Parameter keepsOrders: whether an object's lists keep the order of ours.
  func mergeOrders(_ keepsOrders: (ObjectID) -> Bool) throws {
    let places = try orderedPlaces()
    try forEachRelationship(of: places.owners) { place, entity, relationship in
      guard places.contains(place), try self.entity(place.owner) != nil else { return }
      try mergeOrder(place, entity, relationship, keepsOrders(place.owner))
    }
  }

  /// Returns the ordered lists with other members than in ours, and those that theirs changed.
  private func orderedPlaces() throws -> PropertySet {
    let places = PropertySet(in: space)
    try forEachRelationship(of: links.owners) { place, _, relationship in
      if relationship.isOrdered, links.isChanged(place) { try places.insert(place) }
    }
    try forEachShared { id, entity in
      for relationship in entity.relationships where relationship.isOrdered {
        let changes = try theirs.memberChanges(of: id, relationship)
        if !changes.isEmpty { try places.insert(PropertyPlace(owner: id, code: relationship.code)) }
      }
    }
    return places
  }

  private func mergeOrder(
    _ place: PropertyPlace, _ entity: CompiledEntity, _ relationship: CompiledRelationship, _ keepsOrder: Bool
  ) throws {
    let id = place.owner
    let present = try ours.now.membersIfPresent(of: id, relationship)
    let lists = (
      base: try ours.baseMembers(of: id, relationship), theirs: try theirs.now.membersIfPresent(of: id, relationship)
    )
    let result = try members(id, relationship).filter { try self.entity($0) != nil }
    let order = OrderMerge(
      oursBase: lists.base.map(remaining), ours: present.map(remaining),
      theirsBase: try theirs.baseMembers(of: id, relationship).map(remaining), theirs: lists.theirs.map(remaining),
      result: Set(result))
    let ignoresTheirs = keepsOrder || book.rule(of: relationship.name, entity) == .skip
    var merged = order.merged(.ours, ignoresTheirs: ignoresTheirs)
    if order.isConflict, !ignoresTheirs {
      var fingerprint = ConflictFingerprint()
      for list in [lists.base, present, lists.theirs] { fingerprint.add(list) }
      let conflict = try conflict(
        .order, id, entity, property: relationship.name, base: .members(lists.base), ours: .members(present),
        theirs: .members(lists.theirs), fingerprint: fingerprint)
      switch try resolver.answer(conflict, side: book.side(of: relationship.name, entity)) {
      case .side(.theirs): merged = order.merged(.theirs)
      case .order(let list):
        guard list.count == result.count, Set(list) == Set(result) else {
          throw conflict.invalidAnswer(
            "the list has \(result.count) members in the result; list each of them once, or choose a side")
        }
        merged = list
      default: break
      }
    }
    // Without new members, the links that are removed and the deletion leave this list.
    if merged == result && links.members(true, at: place).isEmpty { return }
    if merged != present { try orders.set(place, to: merged) }
  }

  /// The object that an object was united with, or the object itself.
  private func remaining(_ id: ObjectID) -> ObjectID { united[id] ?? id }
}
