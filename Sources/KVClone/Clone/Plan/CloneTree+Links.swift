import KVCloneCore
import KVCloneModel
import KVCloneRecords

extension CloneTree {
  mutating func nameEntities(in session: borrowing Session) throws(StoreError) {
    for node in nodes.indices {
      nodes[node].entity = try session.entity(of: nodes[node].object).name
      for edge in nodes[node].edges.indices {
        for link in nodes[node].edges[edge].links.indices {
          let target = nodes[node].edges[edge].links[link].target
          nodes[node].edges[edge].links[link].entity = try session.entity(of: target).name
        }
      }
    }
  }

  /// Determines the links that depend on all objects of the clone (R9 to R11).
  mutating func resolve(_ context: CloneContext, _ source: borrowing Session, _ destination: borrowing Session) throws {
    let matcher = OutsideMatcher(context)
    for node in nodes.indices {
      let id = nodes[node].object
      guard let plan = context.book.plan(try source.entity(of: id).code) else { continue }
      for edge in nodes[node].edges.indices {
        let step = plan.relationships[nodes[node].edges[edge].step]
        for link in nodes[node].edges[edge].links.indices
        where nodes[node].edges[edge].links[link].outcome == .unknown {
          let target = nodes[node].edges[edge].links[link].target
          let outcome: Link.Outcome
          switch try context.linkTarget(step, id, target, source) {
          case .clone: outcome = .repeated
          case .none: outcome = .omitted
          case .original:
            let match = try matcher?.match(target, step.relationship, source, destination)
            outcome = matcher == nil || match != nil ? .shared : .missing
          }
          nodes[node].edges[edge].links[link].outcome = outcome
        }
      }
    }
  }
}

extension CloneContext {
  /// The members of a list that are examined for gains.
  private static let gainLimit = 1000

  /// Returns the links that outside objects gain, by object and relationship.
  func gains(
    of objects: [ObjectID], _ source: borrowing Session, _ destination: borrowing Session
  ) throws -> [CloneTree.Gain] {
    var found: [CloneTree.Gain] = []
    for id in objects {
      try cancellation.check()
      let entity = try destination.entity(of: id)
      guard try source.exists(id) else { continue }
      let view = try source.existingRecord(id)
      let own = try source.schema.entity(of: view, id: id)
      for relationship in own.relationships where relationship.hasInverse {
        var (count, examined) = (0, 0)
        try source.forEachMember(id, relationship, in: view, own) { (member) throws(StoreError) in
          examined += 1
          if mark.set.contains(member), try links(member, to: id, relationship, source) { count += 1 }
          return examined < Self.gainLimit
        }
        if count == 0 { continue }
        found.append(
          CloneTree.Gain(
            object: id, entity: entity.name, relationship: relationship.name, count: count.saturatingMultiply(copies),
            isLowerBound: source.count(id, relationship, in: view, own) > examined))
      }
    }
    return found
  }

  /// Whether the clone of a source links to an outside object by the inverse of the object's relationship.
  private func links(
    _ id: ObjectID, to target: ObjectID, _ relationship: CompiledRelationship, _ source: borrowing Session
  ) throws(StoreError) -> Bool {
    let entity = try source.entity(of: id)
    guard let inverse = entity.inverse(of: relationship), let plan = book.plan(entity.code),
      let index = entity.relationshipIndexByCode[inverse.code]
    else { return false }
    if case .original = try linkTarget(plan.relationships[index], id, target, source) { return true }
    return false
  }
}

extension Int {
  fileprivate func saturatingMultiply(_ other: Int) -> Int {
    let (product, overflows) = multipliedReportingOverflow(by: other)
    return overflows ? .max : product
  }
}
