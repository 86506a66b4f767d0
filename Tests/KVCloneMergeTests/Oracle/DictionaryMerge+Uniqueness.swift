extension DictionaryMerge {
  /// Unites objects with the same unique values, one of which is new (M5).
  ///
  /// An object with the values of two different ones is united with neither.
  mutating func unite() {
    var pairs: Set<Union> = []
    for (owner, names) in model.entities.flatMap({ entity in entity.constraints.map { (entity.name, $0) } }) {
      var groups: [[DictionaryValue]: [Int]] = [:]
      for (id, object) in result.objects where model.isKind(object.entity, of: owner) {
        if let values = result.uniqueValues(of: id, names) { groups[values, default: []].append(id) }
      }
      for group in groups.values where group.count == 2 {
        let isOpen = group.contains { id in
          openObjects.contains(id) || names.contains { openPlaces.contains(Place(object: id, property: $0)) }
        }
        if !isOpen, let pair = union(of: group.sorted(), names) { pairs.insert(pair) }
      }
    }
    var counts: [Int: Int] = [:]
    for pair in pairs { for id in [pair.mine, pair.other] { counts[id, default: 0] += 1 } }
    for pair in pairs where counts[pair.mine] == 1 && counts[pair.other] == 1 { unite(pair) }
  }

  /// Two objects with the same values, one of each side.
  private struct Union: Hashable {
    let mine: Int
    let other: Int
  }

  private func union(of pair: [Int], _ names: [String]) -> Union? {
    // Objects of different entities would lose properties.
    guard entity(pair[0]) == entity(pair[1]) else { return nil }
    // A new object of one side against any that the other side has.
    let new = pair.filter { base.objects[$0] == nil }
    guard let first = new.first(where: { onlySide($0) == .theirs }) ?? new.first, let newSide = onlySide(first),
      let second = pair.first(where: { $0 != first }), state(newSide.other).objects[second] != nil
    else { return nil }
    let (mine, other) = newSide == .ours ? (first, second) : (second, first)
    // Values that only the merge gives them are another violation.
    let values = result.uniqueValues(of: mine, names)
    guard ours.uniqueValues(of: mine, names) == values, theirs.uniqueValues(of: other, names) == values else {
      return nil
    }
    return Union(mine: mine, other: other)
  }

  private mutating func unite(_ pair: Union) {
    let (mine, other) = (pair.mine, pair.other)
    guard let answer = ask(.notUnique, mine, other: other, rules: rules(entity(mine), nil)) else { return }
    // The older id stays, that of ours if both are new.
    let kept = base.objects[other] != nil ? other : mine
    let dropped = kept == mine ? other : mine
    merge(dropped, into: kept, preferred: answer == .ours ? mine : other)
  }

  private mutating func merge(_ dropped: Int, into kept: Int, preferred: Int) {
    guard let first = result.objects[kept], let second = result.objects[dropped] else { return }
    let isKept = preferred == kept
    united[dropped] = kept
    result.objects[kept]?.values = first.values.merging(second.values) { Self.united($0, $1, isFirst: isKept) }
    let pair: Set = [kept, dropped]
    let lists = { (name: String) in [first, second].map { $0.links[name] ?? [] } }
    // A link between the two leads from the union to itself if neither has another partner there.
    let others = { (name: String) in lists(name).map { $0.filter { !pair.contains($0) } } }
    for relationship in model.relationships(first.entity) {
      let all = lists(relationship.name).flatMap(\.self)
      var isOwn = !pair.isDisjoint(with: all)
      for end in [relationship, model.inverse(relationship)].compactMap(\.self) where isOwn && !end.isToMany {
        isOwn = others(end.name).allSatisfy(\.isEmpty)
      }
      var list: [Int] = []
      if relationship.isToMany {
        for id in all.map({ pair.contains($0) ? kept : $0 }) where !list.contains(id) && (isOwn || id != kept) {
          list.append(id)
        }
      } else {
        let targets = others(relationship.name)
        let preferred = isKept ? targets : targets.reversed()
        list = isOwn ? [kept] : preferred.first { !$0.isEmpty } ?? []
      }
      result.setMembers(kept, relationship.name, list)
    }
    for id in result.objects.keys where !pair.contains(id) {
      for relationship in model.relationships(entity(id)) {
        var list = result.members(id, relationship.name)
        guard let index = list.firstIndex(of: dropped) else { continue }
        if list.contains(kept) { list.remove(at: index) } else { list[index] = kept }
        result.setMembers(id, relationship.name, list)
      }
    }
    result.objects[dropped] = nil
    for relationship in model.relationships(first.entity) where !relationship.isToMany {
      // A one-to-one partner that the union does not have is free.
      guard let inverse = model.inverse(relationship), !inverse.isToMany else { continue }
      let partner = result.members(kept, relationship.name)
      for id in result.objects.keys where !partner.contains(id) && id != kept {
        guard model.relationship(inverse.name, entity(id)) == inverse else { continue }
        result.setMembers(id, inverse.name, result.members(id, inverse.name).filter { $0 != kept })
      }
    }
    for relationship in model.relationships(first.entity) where !relationship.isToMany {
      guard let inverse = model.inverse(relationship), inverse.isToMany else { continue }
      let target = result.members(kept, relationship.name)
      for id in result.objects.keys where !target.contains(id) {
        guard model.relationship(inverse.name, entity(id)) == inverse else { continue }
        result.setMembers(id, inverse.name, result.members(id, inverse.name).filter { $0 != kept })
      }
    }
  }

  /// The value of two. Composites are united element by element.
  private static func united(_ first: DictionaryValue, _ second: DictionaryValue, isFirst: Bool) -> DictionaryValue {
    guard case .composite(let mine) = first, case .composite(let other) = second else {
      return isFirst ? first : second
    }
    return .composite(mine.merging(other) { isFirst ? $0 : $1 })
  }
}
