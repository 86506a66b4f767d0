import KVCloneModel

extension GraphGenerator {
  /// The limit of the objects that are created to satisfy required relationships.
  private var mostObjects: Int { size * model.entityNames.count * 8 + 200 }

  /// Gives every required relationship its minimum number of targets, and creates missing objects.
  mutating func meetRequirements() {
    var position = 0
    while position < order.count {
      let owner = order[position]
      position += 1
      for relationship in model.entities[owner.entity]?.relationships ?? []
      where !relationship.description.isOptional {
        fill(relationship, of: owner, upTo: max(1, relationship.description.minCount), making: true)
      }
    }
  }

  /// Fills the other relationships: some stay empty, some targets are shared by very many objects.
  mutating func fillRelationships() {
    for owner in order.shuffled(using: &random) {
      for relationship in model.entities[owner.entity]?.relationships ?? [] {
        let wanted: Int
        if !relationship.isToMany {
          wanted = random.chance(in: 5) ? 0 : 1
        } else if inverseIsToOne(relationship) {
          // Mostly filled by the inverse.
          wanted = random.chance(in: 4) ? 3 : 0
        } else {
          wanted = [0, 0, 1, 2, 3, 5, 9, 20, 140][random.below(9)]
        }
        let least = wanted == 0 ? 0 : max(wanted, relationship.description.minCount)
        fill(relationship, of: owner, upTo: least, making: false)
      }
    }
  }

  /// Completes lists below their minimum, or empties them where that is allowed.
  mutating func meetMinCounts() {
    for owner in order {
      for relationship in model.entities[owner.entity]?.relationships ?? [] {
        let count = graph[owner]?.targets(relationship.name).count ?? 0
        if relationship.isSatisfied(by: count) { continue }
        fill(relationship, of: owner, upTo: relationship.description.minCount, making: true)
        let targets = graph[owner]?.targets(relationship.name) ?? []
        if relationship.isSatisfied(by: targets.count) || !relationship.description.isOptional { continue }
        for target in targets {
          graph.remove(target, from: relationship.name, of: owner)
          if let inverse = relationship.inverse(at: target.entity) {
            graph.remove(owner, from: inverse.name, of: target)
          }
        }
      }
    }
  }

  /// Shuffles ordered lists, and sorts unordered ones.
  mutating func arrangeLists() {
    for owner in order {
      for relationship in model.entities[owner.entity]?.relationships ?? [] where relationship.isToMany {
        guard let targets = graph[owner]?.targets(relationship.name), !targets.isEmpty else { continue }
        graph.objects[owner]?.relationships[relationship.name] =
          relationship.isOrdered ? targets.shuffled(using: &random) : targets.sorted(by: Label.byAge)
      }
    }
  }

  private func inverseIsToOne(_ relationship: RelationshipView) -> Bool {
    model.concreteEntities(of: relationship.destination).contains {
      relationship.inverse(at: $0.name)?.isToMany == false
    }
  }

  private mutating func fill(_ relationship: RelationshipView, of owner: Label, upTo wanted: Int, making: Bool) {
    while (graph[owner]?.targets(relationship.name).count ?? 0) < min(wanted, relationship.limit ?? wanted) {
      if let target = freeTarget(relationship, of: owner) {
        graph.link(owner, relationship.name, target, model: model)
        continue
      }
      let entities = model.concreteEntities(of: relationship.destination).filter {
        relationship.inverse(at: $0.name) != nil || !relationship.hasInverse
      }
      guard making, order.count < mostObjects, let entity = entities.randomElement(using: &random) else { return }
      let target = make(entity)
      guard canLink(owner, relationship, target) else { return }
      graph.link(owner, relationship.name, target, model: model)
    }
  }

  /// Returns a target with room for one more link; prefers the first few objects of an entity.
  private mutating func freeTarget(_ relationship: RelationshipView, of owner: Label) -> Label? {
    let targets = members[relationship.destination] ?? []
    guard !targets.isEmpty else { return nil }
    for _ in 0..<8 {
      let favourites = random.chance(in: 2) ? min(3, targets.count) : targets.count
      let target = targets[random.below(favourites)]
      if canLink(owner, relationship, target) { return target }
    }
    let start = random.below(targets.count)
    return (targets[start...] + targets[..<start]).first { canLink(owner, relationship, $0) }
  }

  private func canLink(_ owner: Label, _ relationship: RelationshipView, _ target: Label) -> Bool {
    let targets = graph[owner]?.targets(relationship.name) ?? []
    guard targets.count < relationship.limit ?? .max, !targets.contains(target) else { return false }
    guard relationship.hasInverse else { return true }
    guard let inverse = relationship.inverse(at: target.entity),
      let way = model.relationship(inverse.name, of: target.entity), model.isKind(owner.entity, of: way.destination)
    else { return false }
    return (graph[target]?.targets(way.name).count ?? 0) < way.limit ?? .max
  }
}
