import KVCloneCore
import KVCloneModel
import KVCloneRecords

/// Finds the new objects of a transaction that make an existing object violate a rule of the model by their links.
enum LinkCulprits {
  /// Returns the objects without which the existing object `id` would not violate the rule of an issue; none if no
  /// link has changed it. An object that violated the rule before must not be changed either.
  static func find(_ id: ObjectID, _ issue: ValidationIssue, in session: borrowing Session) throws(StoreError)
    -> [ObjectID]
  {
    let entity = try session.entity(of: id)
    if let relationship = entity.relationships.first(where: { $0.name == issue.property }) {
      let found = try find(id, relationship, issue, in: session)
      if !found.isEmpty { return found }
    }
    let partners = try newPartners(of: id, entity.relationships, in: session)
    if !partners.isEmpty { return partners }
    let takers = try takers(from: id, entity.relationships, in: session)
    return try takers.isEmpty ? newObjectsOfDerivations(from: id, in: session) : takers
  }

  /// Returns the objects that changed the number of members of a relationship; none if it was wrong before.
  private static func find(
    _ id: ObjectID, _ relationship: CompiledRelationship, _ issue: ValidationIssue, in session: borrowing Session
  ) throws(StoreError) -> [ObjectID] {
    if issue.kind == .tooManyMembers {
      let surplus = try session.members(id, relationship).count - relationship.description.maxCount
      return try newPartners(of: id, [relationship], in: session).sorted().suffix(surplus)
    }
    let takers = try takers(from: id, [relationship], in: session)
    return try takers.isEmpty ? newPartners(of: id, [relationship], in: session) : takers
  }

  /// Returns the new objects that an object lost members to, because each of these has only one partner.
  private static func takers(
    from id: ObjectID, _ relationships: [CompiledRelationship], in session: borrowing Session
  ) throws(StoreError) -> [ObjectID] {
    let before = try ConstraintConflicts.stateBefore(in: session)
    guard try before.exists(id) else { return [] }
    var found: [ObjectID] = []
    for relationship in relationships where relationship.hasInverse && !relationship.inverseIsToMany {
      for member in try before.members(id, relationship) {
        guard try session.exists(member), let inverse = try session.entity(of: member).inverse(of: relationship) else {
          continue
        }
        found += try newPartners(of: member, [inverse], in: session)
      }
    }
    return found
  }

  private static func newPartners(
    of id: ObjectID, _ relationships: [CompiledRelationship], in session: borrowing Session
  ) throws(StoreError) -> [ObjectID] {
    var result: [ObjectID] = []
    for relationship in relationships {
      result += try session.members(id, relationship).filter { session.changes.inserted.contains($0) }
    }
    return result
  }

  /// Returns the nearest new objects on the paths from which the derived attributes of an existing object are computed.
  /// A path leads over objects that the new objects took from others, too.
  private static func newObjectsOfDerivations(from id: ObjectID, in session: borrowing Session) throws(StoreError)
    -> [ObjectID]
  {
    let codes = Set(session.schema.derivations.all.flatMap(\.hops).map(\.code))
    if codes.isEmpty { return [] }
    let before = try ConstraintConflicts.stateBefore(in: session)
    var seen = ObjectSet([id])
    var layer = [id]
    while !layer.isEmpty {
      var next: [ObjectID] = []
      for object in layer {
        for relationship in try session.entity(of: object).relationships where codes.contains(relationship.code) {
          for member in try session.members(object, relationship) + before.members(object, relationship) {
            if seen.insert(member), try session.exists(member) { next.append(member) }
          }
        }
      }
      var found: [ObjectID] = []
      for object in next {
        let hops = try session.entity(of: object).relationships.filter {
          codes.contains($0.code) || codes.contains($0.inverseCode)
        }
        found += try newPartners(of: object, hops, in: session)
      }
      if !found.isEmpty { return found }
      layer = next
    }
    return []
  }
}
