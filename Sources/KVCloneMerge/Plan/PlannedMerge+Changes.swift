import KVCloneCore
import KVCloneModel
import KVCloneRecords

extension PlannedMerge {
  /// The first objects that the operations change, ascending.
  private func changedObjects(limit: Int) -> ObjectSet {
    var found = ObjectSet()
    forEachOperation { operation in
      switch operation {
      case .insert(let id, _, _), .set(let id, _, _), .setTarget(let id, _, _), .changeMembers(let id, _, _, _),
        .setOrder(let id, _, _):
        _ = found.insert(id)
      case .delete(let ids): found.formUnion(ids)
      }
    }
    var first = ObjectSet()
    var count = 0
    found.forEach { id in
      if count < limit { _ = first.insert(id) }
      count += 1
      return count < limit
    }
    return first
  }

  /// - Throws: ``MergeError`` of the kind `limitExceeded`.
  package func requireLimits(of options: MergeOptions) throws(MergeError) {
    let total = MergeCount.total(of: counts)
    let count = total.inserted + total.updated + total.deleted
    if let limit = options.maxObjects, count > limit {
      throw MergeError(
        .limitExceeded,
        "the merge changes \(count) objects, and maxObjects is \(limit); raise it, or publish only some objects of a "
          + "branch; nothing was merged")
    }
    let byteCount = operations.estimatedByteCount
    if let limit = options.maxBytes, byteCount > limit {
      throw MergeError(
        .limitExceeded,
        "the merge writes about \(byteCount) bytes, and maxBytes is \(limit); raise it, or publish only some objects "
          + "of a branch; nothing was merged")
    }
  }

  /// The first changes in ascending order of ids, with the three values of each property.
  package func changes(_ sides: (ours: MergeSideStates, theirs: MergeSideStates), limit: Int) throws -> [MergeChange] {
    var results: [ObjectID: ChangeDraft] = [:]
    let listed = changedObjects(limit: limit)
    try forEachOperation { operation in
      switch operation {
      case .insert(let id, let entity, let values) where listed.contains(id):
        results[id, default: ChangeDraft(entity, .insert)].note(values)
      case .set(let id, let entity, let values) where listed.contains(id):
        results[id, default: ChangeDraft(entity, .update)].note(values)
      case .setTarget(let id, let relationship, let target) where listed.contains(id):
        try note(id, relationship, target.map { [$0] } ?? [], sides, &results)
      case .changeMembers(let id, let relationship, let added, let removed) where listed.contains(id):
        let present = try sides.ours.now.membersIfPresent(of: id, relationship)
        try note(id, relationship, present.filter { !removed.contains($0) } + added, sides, &results)
      case .setOrder(let id, let relationship, let members) where listed.contains(id):
        try note(id, relationship, members, sides, &results)
      case .delete(let ids):
        try listed.forEach { (id) throws -> Bool in
          if ids.contains(id), let entity = try sides.ours.now.entity(of: id) {
            results[id] = ChangeDraft(entity, .delete)
          }
          return true
        }
      default: break
      }
    }
    return try results.sorted { $0.key < $1.key }.map { id, draft in try draft.change(id, sides) }
  }

  private func note(
    _ id: ObjectID, _ relationship: CompiledRelationship, _ members: [ObjectID],
    _ sides: (ours: MergeSideStates, theirs: MergeSideStates), _ results: inout [ObjectID: ChangeDraft]
  ) throws {
    guard let entity = try sides.ours.now.entity(of: id) ?? sides.theirs.now.entity(of: id) else { return }
    results[id, default: ChangeDraft(entity, .update)].relationships[relationship.code] = members
  }
}

/// The result of one object, before its values in the three states are read.
private struct ChangeDraft {
  let entity: CompiledEntity
  let kind: MergeChange.Kind
  var attributes: [UInt16: AttributeValue?] = [:]
  var relationships: [UInt16: [ObjectID]] = [:]

  init(_ entity: CompiledEntity, _ kind: MergeChange.Kind) {
    self.entity = entity
    self.kind = kind
  }

  mutating func note(_ values: [MergeOperation.Assignment]) {
    for value in values { attributes[value.attribute.code] = .some(value.value) }
  }

  func change(_ id: ObjectID, _ sides: (ours: MergeSideStates, theirs: MergeSideStates)) throws -> MergeChange {
    var properties: [MergeChange.Property] = []
    if kind == .delete { return MergeChange(kind: kind, id: id, entity: entity.name, properties: []) }
    let states: [any MergeState] = [sides.theirs.base(of: id), sides.ours.now, sides.theirs.now]
    let shown = try states.map { try $0.entity(of: id) == nil ? nil : try $0.values(of: id, entity) }
    for (index, attribute) in entity.attributes.enumerated() {
      guard let result = attributes[attribute.code] else { continue }
      let values = shown.map { $0.map { ObjectConflict.Value.attribute($0[index]) } }
      if kind == .insert, result == nil { continue }
      properties.append(
        .init(
          name: attribute.path, base: values[0], ours: values[1], theirs: values[2], result: .attribute(result)))
    }
    for relationship in entity.relationships {
      guard let result = relationships[relationship.code] else { continue }
      let values = try states.indices.map { index throws -> ObjectConflict.Value? in
        guard shown[index] != nil else { return nil }
        return Self.value(try states[index].members(of: id, relationship), relationship)
      }
      properties.append(
        .init(
          name: relationship.name, base: values[0], ours: values[1], theirs: values[2],
          result: Self.value(result, relationship)))
    }
    return MergeChange(kind: kind, id: id, entity: entity.name, properties: properties)
  }

  private static func value(_ members: [ObjectID], _ relationship: CompiledRelationship) -> ObjectConflict.Value {
    relationship.isToMany ? .members(members) : .object(members.first)
  }
}
