import KVCloneModel

extension ReferenceCloner {
  /// The common rule of an edge and its inverse.
  private enum Answer {
    case followed
    case excluded
    case stopped
  }

  /// One side of a relationship of one object.
  private struct Side: Hashable {
    let owner: Label
    let relationship: String
  }

  /// R2, R3: breadth first, relationships in declaration order, targets in stored order.
  mutating func traverse() {
    var found = Set(roots)
    result.sources = roots
    for root in roots { result.depths[root] = 0 }
    var position = 0
    while position < result.sources.count {
      let source = result.sources[position]
      position += 1
      let depth = (result.depths[source] ?? 0) + 1
      for relationship in model.entities[source.entity]?.relationships ?? [] {
        for target in targets(of: source, relationship) where rule(relationship, from: source, to: target) == .follow {
          guard found.insert(target).inserted else { continue }
          result.sources.append(target)
          result.discoveryParents[target] = source
          result.depths[target] = depth
        }
      }
    }
    if let most = options.maxObjects, result.sources.count * options.count > most {
      errors.append(ReferenceCloneError("limitExceeded"))
    } else if let deepest = options.maxDepth, result.depths.values.contains(where: { $0 > deepest }) {
      errors.append(ReferenceCloneError("limitExceeded"))
    }
  }

  /// Targets in stored order; those of an unordered relationship by ascending id.
  private func targets(of owner: Label, _ relationship: RelationshipView) -> [Label] {
    let stored = graph[owner]?.targets(relationship.name) ?? []
    return relationship.isOrdered ? stored : stored.sorted(by: Label.byAge)
  }

  /// Returns the rule of one edge, seen from its owner: the hook (R30), unless the rules skip the edge.
  private func rule(
    _ relationship: RelationshipView, from owner: Label, to target: Label
  ) -> ReferenceCloneOptions.EdgeRule {
    let given = modelRule(relationship, from: owner, to: target)
    guard given != .skip, let willClone = options.willClone else { return given }
    return willClone(owner, relationship.name, target, given)
  }

  /// Returns the model's rule of one edge, seen from its owner: per call, then `exclude`, then `clone`, then R6 and R7.
  private func modelRule(
    _ relationship: RelationshipView, from owner: Label, to target: Label
  ) -> ReferenceCloneOptions.EdgeRule {
    let lineage = model.entities[owner.entity]?.lineage ?? []
    let excluded = options.excludedRelationshipNames
    if excluded.contains(relationship.name) && (options.passingExclusionList || roots.contains(owner)) { return .skip }
    if lineage.contains(where: { excluded.contains("\($0).\(relationship.name)") }) { return .skip }
    for entity in lineage {
      if let rule = options.rules["\(entity).\(relationship.name)"] { return rule }
    }
    let userInfo = relationship.description.userInfo
    if userInfo[options.keys.exclude] != nil { return .skip }
    switch userInfo[options.keys.clone] {
    case "follow": return .follow
    case "reference": return .reference
    case "skip": return .skip
    default: break
    }
    return relationship.inverse(at: target.entity)?.isToMany == true ? .reference : .follow
  }

  /// Returns the stronger rule of an edge and its inverse; only relationships of sources are considered.
  private func answer(_ relationship: RelationshipView, from source: Label, to target: Label) -> Answer {
    var rules = [rule(relationship, from: source, to: target)]
    if result.depths[target] != nil, let inverse = relationship.inverse(at: target.entity),
      let way = model.relationship(inverse.name, of: target.entity)
    {
      rules.append(rule(way, from: target, to: source))
    }
    if rules.contains(.follow) { return .followed }
    return rules.contains(.skip) ? .excluded : .stopped
  }

  /// R9 to R14.
  mutating func makeLinks() {
    var gains: [Side: Set<Label>] = [:]
    for source in result.sources {
      for relationship in model.entities[source.entity]?.relationships ?? [] {
        let targets = targets(of: source, relationship)
        var made = 0
        for target in targets {
          let answer = answer(relationship, from: source, to: target)
          if answer == .excluded { continue }
          made += 1
          let inside = result.depths[target] != nil
          let remapped = answer == .followed || (inside && options.references == .remap)
          for clones in result.copies {
            guard let clone = clones[source], let end = remapped ? clones[target] : target else { continue }
            result.after.objects[clone]?.relationships[relationship.name, default: []].append(end)
          }
          if !remapped, let inverse = relationship.inverse(at: target.entity) {
            gains[Side(owner: target, relationship: inverse.name), default: []].insert(source)
          }
        }
        // R14: only links that exclusions removed; requirements that the source did not meet are not errors of the
        // clone.
        if made < targets.count && !relationship.isSatisfied(by: made) {
          errors.append(
            ReferenceCloneError(
              "requiredRelationshipExcluded", entity: source.entity, property: relationship.name, object: source))
        }
      }
    }
    for (side, sources) in gains { gain(side, sources) }
  }

  /// R12, R13: an object outside the clones gains the clones of `sources`, copy after copy, in the order of its own
  /// list.
  private mutating func gain(_ side: Side, _ sources: Set<Label>) {
    guard let relationship = model.relationship(side.relationship, of: side.owner.entity) else { return }
    let stored = targets(of: side.owner, relationship)
    let entity = side.owner.entity
    guard relationship.isToMany else {
      // The only place is occupied by the source itself, because a link has two sides.
      errors.append(
        ReferenceCloneError("inverseTaken", entity: entity, property: side.relationship, object: side.owner))
      return
    }
    let added = result.copies.flatMap { clones in stored.filter(sources.contains).compactMap { clones[$0] } }
    if let limit = relationship.limit, stored.count + added.count > limit {
      errors.append(
        ReferenceCloneError("maxCountExceeded", entity: entity, property: side.relationship, object: side.owner))
    }
    result.after.objects[side.owner]?.relationships[side.relationship, default: []] += added
    result.affectedObjectIDs.insert(side.owner)
  }
}
