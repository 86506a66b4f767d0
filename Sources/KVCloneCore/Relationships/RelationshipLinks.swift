package import KVCloneModel
import KVCloneRecords

/// Maintains both sides of a relationship: setting one side updates the other, and a replaced partner loses its link.
package enum RelationshipLinks {
  /// Links `targets` to a relationship. To-one: replaces the target. To-many: adds the targets that are not members
  /// yet; an ordered relationship inserts them at `index`, and moves existing members there.
  package static func link(
    _ id: ObjectID, _ name: String, _ targets: [ObjectID], at index: Int? = nil, in session: inout Session
  ) throws(StoreError) {
    let relationship = try session.entity(of: id).relationship(name)
    try checkTargets(targets, of: relationship, try session.name(of: id), in: session)
    if !relationship.isToMany {
      guard targets.count <= 1 else { throw tooManyTargets(relationship, try session.name(of: id), in: session) }
      if let target = targets.first { try setToOne(id, relationship, target, in: &session) }
      return
    }
    guard let index else {
      var windows = ReadWindows(session.storage)
      for target in targets {
        windows.next()
        try addMember(id, relationship, target, in: &session)
      }
      return
    }
    guard relationship.isOrdered else {
      throw StoreError(
        .invalidIndex, "\(name) is not ordered, and its members have no index; link without an index",
        property: name, object: try session.name(of: id))
    }
    try place(targets, at: index, id, relationship, in: &session)
  }

  /// Inserts or moves members of an ordered list to `index`, in the given order.
  private static func place(
    _ targets: [ObjectID], at index: Int, _ id: ObjectID, _ relationship: CompiledRelationship,
    in session: inout Session
  )
    throws(StoreError)
  {
    var seen = TargetSet(capacity: targets.count)
    let unique = targets.filter { seen.insert($0) }
    let count = try session.count(id, relationship.name)
    guard index >= 0, index <= count else {
      throw StoreError(
        .invalidIndex,
        "index \(index) is outside \(relationship.name), which has \(count) members; use an index from 0 to \(count)",
        property: relationship.name, object: try session.name(of: id))
    }
    // A moved member is removed first, which shifts later positions down by one. Its own side keeps the link, and the
    // position there.
    var moved = TargetSet(capacity: unique.count)
    for target in unique where try session.detach(id, relationship.code, target) { _ = moved.insert(target) }
    var position = min(index, try session.count(id, relationship.name))
    for target in unique {
      if moved.contains(target) {
        _ = try session.attach(id, relationship.code, target, at: position)
      } else {
        try addMember(id, relationship, target, at: position, in: &session)
      }
      position += 1
    }
  }

  /// Sets a to-one relationship.
  package static func setToOne(
    _ id: ObjectID, _ relationship: CompiledRelationship, _ target: ObjectID?, in session: inout Session
  ) throws(StoreError) {
    let old = try session.toOne(id, relationship)
    guard old != target else { return }
    if let old {
      _ = try session.detach(id, relationship.code, old)
      try detachBack(id, relationship, old, in: &session)
    }
    guard let target else { return }
    _ = try session.attach(id, relationship.code, target)
    try attachBack(id, relationship, target, in: &session)
  }

  private static func addMember(
    _ id: ObjectID, _ relationship: CompiledRelationship, _ target: ObjectID, at index: Int? = nil,
    in session: inout Session
  ) throws(StoreError) {
    if try session.attach(id, relationship.code, target, at: index) {
      try attachBack(id, relationship, target, in: &session)
    }
  }

  /// Sets the inverse side of a new link: links `target` back to `id`, and removes the link of its previous partner.
  static func attachBack(
    _ id: ObjectID, _ relationship: CompiledRelationship, _ target: ObjectID, in session: inout Session
  )
    throws(StoreError)
  {
    guard relationship.hasInverse else {
      _ = try session.storage.insertUnordered(session.address(target, relationship.inverseCode), id)
      return
    }
    if relationship.inverseIsToMany {
      _ = try session.attach(target, relationship.inverseCode, id)
      return
    }
    let inverse = try session.entity(of: target).relationship(code: relationship.inverseCode, target, session.schema)
    if let previous = try session.toOne(target, inverse) {
      if previous == id { return }
      _ = try session.detach(target, inverse.code, previous)
      _ = try session.detach(previous, relationship.code, target)
    }
    _ = try session.attach(target, inverse.code, id)
  }

  /// Removes the inverse side of a removed link.
  package static func detachBack(
    _ id: ObjectID, _ relationship: CompiledRelationship, _ target: ObjectID, in session: inout Session
  )
    throws(StoreError)
  {
    if relationship.hasInverse {
      _ = try session.detach(target, relationship.inverseCode, id)
    } else {
      _ = try session.storage.removeUnordered(session.address(target, relationship.inverseCode), id)
    }
  }

  /// Removes links; all of them if `targets` is nil.
  package static func unlink(_ id: ObjectID, _ name: String, _ targets: [ObjectID]?, in session: inout Session)
    throws(StoreError)
  {
    let relationship = try session.entity(of: id).relationship(name)
    if let targets {
      var windows = ReadWindows(session.storage)
      for target in targets {
        windows.next()
        guard try session.detach(id, relationship.code, target) else { continue }
        try detachBack(id, relationship, target, in: &session)
      }
    } else {
      try setMembers(id, name, [], in: &session)
    }
  }

  /// Replaces the members of a relationship; an ordered relationship gets them in this order.
  package static func setMembers(_ id: ObjectID, _ name: String, _ targets: [ObjectID], in session: inout Session)
    throws(StoreError)
  {
    let relationship = try session.entity(of: id).relationship(name)
    try checkTargets(targets, of: relationship, try session.name(of: id), in: session)
    guard relationship.isToMany else {
      guard targets.count <= 1 else { throw tooManyTargets(relationship, try session.name(of: id), in: session) }
      return try setToOne(id, relationship, targets.first, in: &session)
    }
    var seen = TargetSet(capacity: targets.count)
    let wanted = targets.filter { seen.insert($0) }
    // First the removed members lose their side, then this side gets its list at once, then the added members get their
    // inverse. `attachBack` removes the link of a partner's previous owner, and never changes this list, which already
    // has its final members.
    var kept = TargetSet(capacity: wanted.count)
    var isSame = true
    var position = 0
    try session.forEachMemberBatch(id, relationship) { (session, members) throws(StoreError) in
      for member in members {
        if isSame, relationship.isOrdered {
          isSame = position < wanted.count && wanted[position] == member
          position += 1
        }
        if seen.contains(member) {
          _ = kept.insert(member)
        } else {
          isSame = false
          // A link of an object with itself has both ends in this list: replacing the list removes both.
          if member == id, relationship.inverseCode == relationship.code { continue }
          try RelationshipLinks.detachBack(id, relationship, member, in: &session)
        }
      }
    }
    guard !isSame || kept.count != wanted.count else { return }
    try session.replaceList(id, relationship, wanted)
    for member in wanted where !kept.contains(member) { try attachBack(id, relationship, member, in: &session) }
  }

  /// Returns the targets of a new object by relationship name: checked, without repetitions.
  package static func firstLinks(
    _ entity: CompiledEntity, _ targets: [String: [ObjectID]], in session: borrowing Session
  ) throws(StoreError)
    -> [(relationship: CompiledRelationship, targets: [ObjectID])]
  {
    if targets.isEmpty { return [] }
    var links: [(relationship: CompiledRelationship, targets: [ObjectID])] = []
    for name in targets.keys.sorted() {
      let relationship = try entity.relationship(name)
      let targets = try firstTargets(entity, relationship, targets[name] ?? [], in: session)
      links.append((relationship, targets))
    }
    return links
  }

  /// Returns the checked targets of one relationship of a new object, without repetitions.
  package static func firstTargets(
    _ entity: CompiledEntity, _ relationship: CompiledRelationship, _ targets: [ObjectID],
    in session: borrowing Session
  ) throws(StoreError) -> [ObjectID] {
    var wanted = targets
    if wanted.count > 1 {
      var seen = TargetSet(capacity: wanted.count)
      wanted.removeAll { !seen.insert($0) }
    }
    try checkTargets(wanted, of: relationship, "a new \(entity.name)", in: session)
    guard relationship.isToMany || wanted.count <= 1 else {
      throw tooManyTargets(relationship, "a new \(entity.name)", in: session)
    }
    return wanted
  }

  /// Rejects targets that do not exist, or that are of another entity than the relationship's destination.
  private static func checkTargets(
    _ targets: [ObjectID], of relationship: CompiledRelationship, _ object: String, in session: borrowing Session
  )
    throws(StoreError)
  {
    for target in targets {
      // Bulk inserts link to the same objects again and again.
      if let code = session.deferred?.entityCode(of: target), let entity = session.schema.entity(code: code),
        entity.isKind(of: relationship.destinationCode)
      {
        continue
      }
      let entity = try session.readScope { () throws(StoreError) in try session.namedEntity(of: target) }
      session.deferred?.note(target, entity.code)
      if entity.isKind(of: relationship.destinationCode) { continue }
      throw StoreError(
        .wrongDestination,
        "\(relationship.name) of \(object) accepts objects of \(relationship.description.destinationEntityName), not "
          + (try session.name(of: target)), property: relationship.name, object: object)
    }
  }

  private static func tooManyTargets(
    _ relationship: CompiledRelationship, _ object: String, in session: borrowing Session
  ) -> StoreError {
    StoreError(
      .wrongDestination, "\(relationship.name) of \(object) is to-one; pass at most one object",
      property: relationship.name,
      object: object)
  }
}
