extension DictionaryMerge {
  /// Decides the members of every compared end (M3), and the partners of one-to-one relationships.
  mutating func mergeLinks() {
    for id in all.sorted() {
      if ours.objects[id] == nil && theirs.objects[id] == nil { continue }
      for relationship in model.relationships(entity(id)) where model.isCompared(relationship) {
        links[Place(object: id, property: relationship.name)] =
          relationship.isToMany ? mergedMembers(id, relationship) : mergedTarget(id, relationship).map { [$0] } ?? []
      }
    }
    for relationship in model.entities.flatMap(\.relationships) where model.isCompared(relationship) {
      guard !relationship.isToMany, let inverse = model.inverse(relationship), !inverse.isToMany else { continue }
      if model.isOwnInverse(relationship) {
        keepMutual(relationship)
      } else {
        givePartners(relationship, inverse)
      }
    }
  }

  /// The members that a side has, with those that it merely lost by deleting an object that comes back.
  private func members(_ side: DictionarySide, _ id: Int, _ relationship: DictionaryRelationship) -> [Int] {
    let now = state(side).members(id, relationship.name)
    let other = state(side.other).members(id, relationship.name)
    let lost = base.members(id, relationship.name).filter {
      state(side).objects[$0] == nil && alive.contains($0) && other.contains($0) && !openObjects.contains($0)
    }
    return relationship.isToMany || now.isEmpty ? now + lost : now
  }

  private mutating func mergedTarget(_ id: Int, _ relationship: DictionaryRelationship) -> Int? {
    if let side = onlySide(id) { return state(side).members(id, relationship.name).first }
    let old = base.members(id, relationship.name).first
    let mine = members(.ours, id, relationship).first
    let other = members(.theirs, id, relationship).first
    let rules = rules(entity(id), relationship.name, role: relationship.role)
    if other == old { return mine }
    if rules.first == .skip {
      // As in mergedMembers(_:_:): an object that theirs inserted keeps its link to a free partner.
      return mine ?? other.flatMap { model.isOwnInverse(relationship) && isInsertedByTheirs($0) ? $0 : nil }
    }
    if mine == old || mine == other { return other }
    let answer = ask(.bothChanged, id, relationship.name, rules: rules)
    if answer == nil { openPlaces.insert(Place(object: id, property: relationship.name)) }
    return answer == .nothing ? nil : answer == .theirs ? other : mine
  }

  private func isInsertedByTheirs(_ id: Int) -> Bool { base.objects[id] == nil && onlySide(id) == .theirs }

  private func mergedMembers(_ id: Int, _ relationship: DictionaryRelationship) -> [Int] {
    if let side = onlySide(id) { return state(side).members(id, relationship.name) }
    let old = base.members(id, relationship.name)
    let mine = members(.ours, id, relationship)
    let other = members(.theirs, id, relationship)
    if skips(id, relationship) {
      // Objects that only theirs has keep their links, and an own inverse has the same links at both ends.
      let isOwn = model.isOwnInverse(relationship)
      return mine + other.filter { isOwn && !mine.contains($0) && onlySide($0) == .theirs && alive.contains($0) }
    }
    let kept = old.filter { mine.contains($0) && other.contains($0) }
    let added = (mine + other.filter { !mine.contains($0) }).filter { !old.contains($0) }
    return kept + added
  }

  /// A partner's own decision wins: a link of an own inverse holds if both ends decided for it.
  private mutating func keepMutual(_ relationship: DictionaryRelationship) {
    let decided = links
    for (place, targets) in decided where place.property == relationship.name {
      guard let target = targets.first, model.relationship(place.property, entity(place.object)) == relationship
      else { continue }
      let back = decided[Place(object: target, property: relationship.name)] ?? []
      if back != [place.object] { links[place] = [] }
    }
  }

  /// Asks for every partner that two objects would have.
  private mutating func givePartners(_ relationship: DictionaryRelationship, _ inverse: DictionaryRelationship) {
    let holders = alive.filter { model.relationship(relationship.name, entity($0)) == relationship }.sorted()
    func place(_ id: Int) -> Place { Place(object: id, property: relationship.name) }
    for partner in alive.sorted() where !openObjects.contains(partner) {
      let rivals = holders.filter {
        links[place($0)] == [partner] && !openPlaces.contains(place($0)) && !openObjects.contains($0)
      }
      guard rivals.count > 1 else { continue }
      let rules = rules(entity(partner), inverse.name, role: inverse.role)
      // With `skip`, the change of theirs at the partner never conflicts.
      let answer = rules.first == .skip ? .ours : ask(.inverseTaken, partner, inverse.name, rules: rules)
      if answer == nil { for rival in rivals { openPlaces.insert(place(rival)) } }
      if answer == .nothing {
        for rival in rivals { links[place(rival)] = [] }
        continue
      }
      let side: DictionarySide = answer == .theirs ? .theirs : .ours
      let chosen = state(side).members(partner, inverse.name).first
      for rival in rivals where rival != chosen {
        let former = state(side).members(rival, relationship.name).first
        let isFree = former.map { former in
          alive.contains(former) && former != partner && !holders.contains { links[place($0)] == [former] }
        }
        links[place(rival)] = isFree == true ? former.map { [$0] } : []
      }
    }
  }

  // MARK: What deletions take along (M4)

  mutating func takeAlong() {
    // If deletions of both sides reach an object, the conflict is that of the first one.
    var waiting = deleters.keys.sorted()
    var position = 0
    while position < waiting.count {
      let id = waiting[position]
      position += 1
      guard let deleter = deleters[id] else { continue }
      for relationship in model.relationships(entity(id)) where relationship.deleteRule == .cascade {
        for member in reached(from: id, relationship, deleter) {
          if conflicts.keys.contains(where: { $0.kind == .takenAlong && $0.object == member }) { continue }
          switch ask(.takenAlong, member, rules: rules(entity(member), nil)) {
          case DictionaryAnswer(deleter)?:
            alive.remove(member)
            result.objects[member] = nil
            deleters[member] = deleter
            waiting.append(member)
          case nil: openObjects.insert(member)
          default: break
          }
        }
      }
    }
    // A Deny holds for members that remain after all cascades.
    for (id, deleter) in deleters {
      for relationship in model.relationships(entity(id)) where relationship.deleteRule == .deny {
        let isKept = reached(from: id, relationship, deleter).contains { member in
          !conflicts.keys.contains { $0.kind == .takenAlong && $0.object == member }
        }
        if isKept { broken.append("\(entity(id))/\(id) is kept by \(relationship.name)") }
      }
    }
  }

  /// The members of a deleted object that a delete rule of it reaches, and that the deleting side had not deleted.
  private func reached(from id: Int, _ relationship: DictionaryRelationship, _ deleter: DictionarySide) -> [Int] {
    linked(id, relationship).sorted().filter { member in
      guard alive.contains(member), member != id else { return false }
      if openObjects.contains(member) || isOpenLink(id, member, relationship) { return false }
      if state(deleter).objects[member] == nil && base.objects[member] != nil { return false }
      return !isDetached(member, id, relationship, by: deleter) && !isSkippedGain(member, id, relationship)
        && !hasOtherPartner(member, relationship)
    }
  }

  /// Whether only theirs gave the deleted object the member, and a rule ignores that.
  private func isSkippedGain(_ member: Int, _ id: Int, _ relationship: DictionaryRelationship) -> Bool {
    onlySide(id) == .theirs && model.isCompared(relationship) && base.objects[id] != nil && skips(id, relationship)
      && !base.members(id, relationship.name).contains(member)
      && !(model.isOwnInverse(relationship) && isInsertedByTheirs(member))
  }

  /// Whether another object of the result is the only partner of a member.
  private func hasOtherPartner(_ member: Int, _ relationship: DictionaryRelationship) -> Bool {
    guard let inverse = model.inverse(relationship), !inverse.isToMany, !relationship.isToMany else { return false }
    return alive.contains { holder in
      model.relationship(relationship.name, entity(holder)) == relationship
        && linked(holder, relationship).contains(member)
    }
  }

  /// Whether the side that deleted an object had removed the link of the base before: its delete rule spared the member.
  private func isDetached(
    _ member: Int, _ id: Int, _ relationship: DictionaryRelationship, by deleter: DictionarySide
  ) -> Bool {
    guard state(deleter).objects[member] != nil, base.members(id, relationship.name).contains(member) else {
      return false
    }
    let isCompared = model.isCompared(relationship)
    let end = isCompared ? relationship : model.inverse(relationship) ?? relationship
    return deleter == .ours || !skips(isCompared ? id : member, end)
  }

  private func isOpenLink(_ id: Int, _ member: Int, _ relationship: DictionaryRelationship) -> Bool {
    if openPlaces.contains(Place(object: id, property: relationship.name)) { return true }
    return relationship.inverse.map { openPlaces.contains(Place(object: member, property: $0)) } ?? false
  }

  /// The merged members of an end, compared or not.
  private func linked(_ id: Int, _ relationship: DictionaryRelationship) -> [Int] {
    if model.isCompared(relationship) { return links[Place(object: id, property: relationship.name)] ?? [] }
    guard let inverse = model.inverse(relationship) else { return [] }
    return links.keys.filter {
      $0.property == inverse.name && model.relationship($0.property, entity($0.object)) == inverse
        && links[$0]?.contains(id) == true
    }.map(\.object)
  }

  // MARK: The result

  /// Writes the links between objects of the result, both ends.
  mutating func setLinks() {
    for id in alive {
      for relationship in model.relationships(entity(id)) {
        result.setMembers(id, relationship.name, linked(id, relationship).filter(alive.contains))
      }
    }
  }

  /// Merges the order of every ordered list (M2).
  mutating func mergeOrders() {
    for id in alive.sorted() {
      for relationship in model.relationships(entity(id)) where relationship.isOrdered {
        result.setMembers(id, relationship.name, ordered(id, relationship))
      }
    }
  }

  private mutating func ordered(_ id: Int, _ relationship: DictionaryRelationship) -> [Int] {
    let members = result.members(id, relationship.name)
    let (old, mine, other) = (
      base.members(id, relationship.name), ours.members(id, relationship.name), theirs.members(id, relationship.name)
    )
    if let side = onlySide(id) {
      let list = side == .ours ? mine : other
      return list.filter(members.contains) + members.filter { !list.contains($0) }
    }
    let common = Set(old).intersection(mine).intersection(other).intersection(members)
    let orders = [old, mine, other].map { $0.filter(common.contains) }
    let rules = rules(entity(id), relationship.name, role: relationship.role)
    var order = orders[1]
    if orders[1] == orders[0] && rules.first != .skip {
      order = orders[2]
    } else if orders[1] != orders[2] && orders[2] != orders[0] && rules.first != .skip {
      let answer = ask(.order, id, relationship.name, rules: rules)
      order = answer == .theirs ? orders[2] : orders[1]
    }
    let added = members.filter { !common.contains($0) }
    let fromOurs = added.filter(mine.contains)
    let fromTheirs = added.filter { !mine.contains($0) && other.contains($0) }
    func run(after anchor: Int?) -> [Int] {
      mine.filter { fromOurs.contains($0) && nearest($0, in: mine, of: common) == anchor }
        + other.filter { fromTheirs.contains($0) && nearest($0, in: other, of: common) == anchor }
    }
    let rest = added.filter { !mine.contains($0) && !other.contains($0) }
    return run(after: nil) + order.flatMap { [$0] + run(after: $0) } + rest
  }

  /// The nearest common member in front of a new one.
  private func nearest(_ id: Int, in list: [Int], of common: Set<Int>) -> Int? {
    list.prefix { $0 != id }.last(where: common.contains)
  }
}
