import KVCloneCore
import KVCloneMerge
import KVCloneModel
import KVCloneRecords

/// A state of objects in dictionaries, with both ends of every relationship.
final class MemoryMergeState: MergeState {
  struct Object: Equatable {
    let entity: CompiledEntity
    var values: [String: AttributeValue] = [:]
    /// By code, also of hidden lists of referrers.
    var links: [UInt16: [ObjectID]] = [:]

    static func == (left: Self, right: Self) -> Bool {
      left.entity.code == right.entity.code && left.values == right.values
        && left.links.filter { !$0.value.isEmpty } == right.links.filter { !$0.value.isEmpty }
    }
  }

  let schema: Schema
  var objects: [ObjectID: Object] = [:]
  /// The digest of each blob.
  var digests: [UInt64: UInt64] = [:]
  var changes: [ObjectID: ObjectChange] = [:]

  init(_ schema: Schema) { self.schema = schema }

  func copy() -> MemoryMergeState {
    let copy = MemoryMergeState(schema)
    copy.objects = objects
    copy.digests = digests
    return copy
  }

  // MARK: Reading

  func entity(of id: ObjectID) -> CompiledEntity? { objects[id]?.entity }

  func values(of id: ObjectID, _ entity: CompiledEntity) -> [AttributeValue?] {
    entity.attributes.map { objects[id]?.values[$0.path] }
  }

  func members(of id: ObjectID, _ relationship: CompiledRelationship) -> [ObjectID] {
    objects[id]?.links[relationship.code] ?? []
  }

  func referrers(of id: ObjectID, _ code: UInt16) -> [ObjectID] { objects[id]?.links[code] ?? [] }

  func holders(of constraint: CompiledConstraint, _ key: UniqueKey) -> [ObjectID] {
    objects.keys.sorted().filter { id in
      guard let entity = objects[id]?.entity,
        let own = entity.constraints.first(where: { $0.indexID == constraint.indexID })
      else { return false }
      return UniqueKey(own, columns(own, id, entity)) == key
    }
  }

  func columns(_ constraint: CompiledConstraint, _ id: ObjectID, _ entity: CompiledEntity) -> [AttributeValue?] {
    constraint.columns.map { column in
      switch column {
      case .attribute(let index): objects[id]?.values[entity.attributes[index].path]
      case .toOne(let index): members(of: id, entity.relationships[index]).first.map(CompiledConstraint.column)
      }
    }
  }

  func digest(of blob: BlobReference) -> UInt64 { digests[blob.id] ?? blob.id }

  func lastChange(of id: ObjectID) -> ObjectChange? { changes[id] }

  func relationship(_ id: ObjectID, _ name: String) -> CompiledRelationship {
    guard let entity = objects[id]?.entity, let index = entity.relationshipIndex[name] else {
      preconditionFailure("\(id) has no relationship \(name)")
    }
    return entity.relationships[index]
  }

  func members(_ id: ObjectID, _ name: String) -> [ObjectID] { members(of: id, relationship(id, name)) }

  func value(_ id: ObjectID, _ path: String) -> AttributeValue? { objects[id]?.values[path] }

  // MARK: Writing

  func insert(_ entity: String, _ serial: UInt64, _ values: [String: AttributeValue] = [:]) -> ObjectID {
    guard let entity = schema.entitiesByName[entity] else { preconditionFailure("no entity \(entity)") }
    let id = ObjectID(rootCode: entity.rootCode, serial: serial)
    precondition(objects[id] == nil, "\(id) exists")
    objects[id] = Object(entity: entity, values: values)
    return id
  }

  func set(_ id: ObjectID, _ path: String, _ value: AttributeValue?) { objects[id]?.values[path] = value }

  func setTarget(_ id: ObjectID, _ name: String, _ target: ObjectID?) {
    setTarget(id, relationship(id, name), target)
  }

  func setTarget(_ id: ObjectID, _ relationship: CompiledRelationship, _ target: ObjectID?) {
    if members(of: id, relationship).first == target { return }
    for old in members(of: id, relationship) { unlink(id, relationship, old) }
    if let target { link(id, relationship, target) }
  }

  func add(_ member: ObjectID, to id: ObjectID, _ name: String, at index: Int? = nil) {
    link(id, relationship(id, name), member)
    guard let index else { return }
    move(member, of: id, name, to: index)
  }

  func remove(_ member: ObjectID, from id: ObjectID, _ name: String) { unlink(id, relationship(id, name), member) }

  func move(_ member: ObjectID, of id: ObjectID, _ name: String, to index: Int) {
    let code = relationship(id, name).code
    objects[id]?.links[code]?.removeAll { $0 == member }
    objects[id]?.links[code]?.insert(member, at: index)
  }

  func setOrder(_ id: ObjectID, _ name: String, _ list: [ObjectID]) {
    let code = relationship(id, name).code
    objects[id]?.links[code] = list
  }

  /// Adds a link at both ends; an object that can have one partner only loses its former one.
  func link(_ id: ObjectID, _ relationship: CompiledRelationship, _ target: ObjectID) {
    if members(of: id, relationship).contains(target) { return }
    if !relationship.isToMany { for old in members(of: id, relationship) { unlink(id, relationship, old) } }
    if relationship.hasInverse, !relationship.inverseIsToMany,
      let inverse = objects[target]?.entity.inverse(of: relationship)
    {
      for old in members(of: target, inverse) { unlink(target, inverse, old) }
    }
    attach(target, to: id, relationship.code, isOrdered: relationship.isOrdered)
    attach(id, to: target, relationship.inverseCode, isOrdered: relationship.inverseIsOrdered)
  }

  func unlink(_ id: ObjectID, _ relationship: CompiledRelationship, _ target: ObjectID) {
    objects[id]?.links[relationship.code]?.removeAll { $0 == target }
    objects[target]?.links[relationship.inverseCode]?.removeAll { $0 == id }
  }

  private func attach(_ member: ObjectID, to id: ObjectID, _ code: UInt16, isOrdered: Bool) {
    var list = objects[id]?.links[code] ?? []
    if list.contains(member) { return }
    list.append(member)
    objects[id]?.links[code] = isOrdered ? list : list.sorted()
  }

  /// Deletes objects by the delete rules; returns all that were deleted, or nil if a rule denies it.
  @discardableResult
  func delete(_ ids: [ObjectID]) -> Set<ObjectID>? {
    var doomed: Set<ObjectID> = []
    var waiting = ids
    while let id = waiting.popLast() {
      guard let object = objects[id], doomed.insert(id).inserted else { continue }
      for relationship in object.entity.relationships where relationship.description.deleteRule == .cascade {
        waiting += members(of: id, relationship)
      }
    }
    for id in doomed {
      for relationship in objects[id]?.entity.relationships ?? [] where relationship.description.deleteRule == .deny {
        if !doomed.isSuperset(of: members(of: id, relationship)) { return nil }
      }
    }
    for id in doomed {
      objects[id] = nil
      for other in objects.keys {
        for code in objects[other].map({ Array($0.links.keys) }) ?? [] {
          objects[other]?.links[code]?.removeAll { $0 == id }
        }
      }
    }
    return doomed
  }

  // MARK: Comparing

  /// Whether a uniqueness constraint is violated.
  var hasEqualUniqueValues: Bool {
    var seen: Set<UniqueKey> = []
    return objects.contains { id, object in
      object.entity.constraints.contains { constraint in
        guard let key = UniqueKey(constraint, columns(constraint, id, object.entity)) else { return false }
        return !seen.insert(key).inserted
      }
    }
  }

  /// The objects that differ from another state.
  func changed(since base: MemoryMergeState) -> ObjectSet {
    ObjectSet(Set(objects.keys).union(base.objects.keys).filter { objects[$0] != base.objects[$0] })
  }

  /// Carries out a plan; returns the objects of its delete call and those that the delete rules took.
  func apply(_ plan: PlannedMerge) -> (asked: Set<ObjectID>, taken: Set<ObjectID>?) {
    var deletion: (Set<ObjectID>, Set<ObjectID>?) = ([], [])
    plan.forEachOperation { operation in
      switch operation {
      case .insert(let id, let entity, let assignments):
        objects[id] = Object(entity: entity)
        for assignment in assignments { set(id, assignment.attribute.path, assignment.value) }
      case .set(let id, _, let assignments):
        for assignment in assignments { set(id, assignment.attribute.path, assignment.value) }
      case .setTarget(let id, let relationship, let target): setTarget(id, relationship, target)
      case .changeMembers(let id, let relationship, let added, let removed):
        for member in removed { unlink(id, relationship, member) }
        for member in added { link(id, relationship, member) }
      case .setOrder(let id, let relationship, let list):
        // As a session does: members that are missing are linked, those that are not named are unlinked.
        for member in members(of: id, relationship) where !list.contains(member) { unlink(id, relationship, member) }
        for member in list { link(id, relationship, member) }
        objects[id]?.links[relationship.code] = list
      case .delete(let ids):
        var asked: [ObjectID] = []
        ids.forEach { id in
          asked.append(id)
          return true
        }
        deletion = (Set(asked), delete(asked))
      }
    }
    return deletion
  }
}
