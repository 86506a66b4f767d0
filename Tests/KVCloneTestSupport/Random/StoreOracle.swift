import Foundation
package import KVClone
package import KVCloneCore

/// The expected contents of a store in plain dictionaries, with the rules of relationships in their most direct form.
package struct StoreOracle: Equatable {
  package struct Object: Equatable {
    package let entity: String
    package var values: [String: AttributeValue] = [:]
    package var links: [String: [ObjectID]] = [:]

    /// A relationship without members is equal to a missing one.
    package static func == (left: Self, right: Self) -> Bool {
      left.entity == right.entity && left.values == right.values
        && left.links.filter { !$0.value.isEmpty } == right.links.filter { !$0.value.isEmpty }
    }
  }

  package struct DeleteDenied: Error {}

  package private(set) var objects: [ObjectID: Object] = [:]
  /// The sources of clones, where these are recorded.
  package private(set) var sources: [ObjectID: ObjectID] = [:]
  package let model: ManagedObjectModel
  /// Entity → its name and the names of all descendants.
  private let kinds: [String: Set<String>]

  package init(_ model: ManagedObjectModel) {
    self.model = model
    var kinds: [String: Set<String>] = [:]
    for entity in model.entities {
      var current: EntityDescription? = entity
      while let ancestor = current {
        kinds[ancestor.name, default: []].insert(entity.name)
        current = ancestor.superentityName.flatMap { model.entity(named: $0) }
      }
    }
    self.kinds = kinds
  }

  package static func == (left: Self, right: Self) -> Bool { left.objects == right.objects }

  /// Returns the ids of an entity's objects and those of its descendants, ascending.
  package func ids(_ entity: String) -> [ObjectID] {
    let names = kinds[entity] ?? []
    return objects.filter { names.contains($0.value.entity) }.keys.sorted()
  }

  package func relationship(_ name: String, of id: ObjectID) -> RelationshipDescription? {
    objects[id].flatMap { model.relationship(name, of: $0.entity) }
  }

  package func links(_ id: ObjectID, _ name: String) -> [ObjectID] { objects[id]?.links[name] ?? [] }

  private func inverse(_ name: String, of id: ObjectID) -> RelationshipDescription? {
    objects[id].flatMap { model.inverse(of: name, in: $0.entity)?.relationship }
  }

  /// Returns the expected value of a derived attribute of ``RandomModel``.
  package func derived(_ id: ObjectID, _ name: String) -> AttributeValue? {
    switch name {
    case "noteCount": .integer(Int64(links(id, "notes").count))
    case "crowd": .integer(Int64(links(id, "people").count))
    default: links(id, "author").first.flatMap { objects[$0]?.values["name"] }
    }
  }

  package mutating func insert(_ id: ObjectID, _ entity: String, _ values: [String: AttributeValue?]) {
    var object = Object(entity: entity)
    for attribute in model.attributes(of: entity) where !attribute.isDerived {
      object.values[attribute.name] = attribute.defaultValue
    }
    objects[id] = object
    for (name, value) in values { objects[id]?.values[name] = value }
  }

  /// Reads the state from a transaction, after an operation with rules that other tests cover.
  package mutating func reload<Reader: ObjectReading & ~Copyable>(_ tx: borrowing Reader) throws {
    (objects, sources) = ([:], [:])
    for entity in model.entities where entity.superentityName == nil {
      for object in try tx.fetch(FetchRequest(entity.name)) {
        var copy = Object(entity: object.entityName)
        for attribute in model.attributes(of: object.entityName) where !attribute.isDerived {
          let isLarge = attribute.type == .binary
          copy.values[attribute.name] =
            isLarge ? try tx.data(object.id, attribute.name).map { .binary($0) } : object[attribute.name]
        }
        for relationship in model.relationships(of: object.entityName) {
          copy.links[relationship.name] = try tx.members(object.id, relationship.name)
        }
        objects[object.id] = copy
        sources[object.id] = try tx.provenance(of: object.id)?.source
      }
    }
  }

  package mutating func set(_ id: ObjectID, _ attribute: String, _ value: AttributeValue?) {
    objects[id]?.values[attribute] = value
  }

  private mutating func cut(_ id: ObjectID, _ name: String, _ target: ObjectID) {
    objects[id]?.links[name]?.removeAll { $0 == target }
  }

  private mutating func add(_ id: ObjectID, _ name: String, _ target: ObjectID, at index: Int? = nil) {
    var list = links(id, name)
    if list.contains(target) { return }
    list.insert(target, at: index ?? list.count)
    if relationship(name, of: id)?.isOrdered == false { list.sort() }
    objects[id]?.links[name] = list
  }

  private mutating func addBack(_ id: ObjectID, _ name: String, _ target: ObjectID) {
    guard let inverse = inverse(name, of: id) else { return }
    if !inverse.isToMany, let previous = links(target, inverse.name).first, previous != id {
      cut(previous, name, target)
      objects[target]?.links[inverse.name] = []
    }
    add(target, inverse.name, id)
  }

  private mutating func cutBack(_ id: ObjectID, _ name: String, _ target: ObjectID) {
    if let inverse = inverse(name, of: id) { cut(target, inverse.name, id) }
  }

  package mutating func unlink(_ id: ObjectID, _ name: String, _ targets: [ObjectID]) {
    for target in targets where links(id, name).contains(target) {
      cut(id, name, target)
      cutBack(id, name, target)
    }
  }

  package mutating func link(_ id: ObjectID, _ name: String, _ targets: [ObjectID], at index: Int? = nil) {
    if relationship(name, of: id)?.isToMany != true {
      guard let target = targets.first, links(id, name) != [target] else { return }
      unlink(id, name, links(id, name))
      add(id, name, target)
      return addBack(id, name, target)
    }
    guard let index else {
      for target in targets where !links(id, name).contains(target) {
        add(id, name, target)
        addBack(id, name, target)
      }
      return
    }
    let before = links(id, name)
    var position = min(index, before.count { !targets.contains($0) })
    for target in targets { cut(id, name, target) }
    for target in targets {
      add(id, name, target, at: position)
      if !before.contains(target) { addBack(id, name, target) }
      position += 1
    }
  }

  package mutating func setMembers(_ id: ObjectID, _ name: String, _ targets: [ObjectID]) {
    guard relationship(name, of: id)?.isToMany == true else {
      return targets.isEmpty ? unlink(id, name, links(id, name)) : link(id, name, targets)
    }
    let before = links(id, name)
    let isOrdered = relationship(name, of: id)?.isOrdered == true
    let after = isOrdered ? targets : targets.sorted()
    if before == after { return }
    objects[id]?.links[name] = after
    for target in before where !targets.contains(target) { cutBack(id, name, target) }
    for target in targets where !before.contains(target) { addBack(id, name, target) }
  }

  /// Deletes by the delete rules, and returns the number of deleted objects.
  package mutating func delete(_ ids: [ObjectID]) throws -> Int {
    var doomed = Set(ids)
    var queue = ids
    while let id = queue.popLast() {
      for member in members(of: id, rule: .cascade) where doomed.insert(member).inserted { queue.append(member) }
    }
    for id in doomed where !members(of: id, rule: .deny).allSatisfy(doomed.contains) { throw DeleteDenied() }
    remove(doomed)
    return doomed.count
  }

  /// Removes objects regardless of the delete rules. Objects without links to them stay shared with copies of this
  /// oracle.
  package mutating func remove(_ doomed: Set<ObjectID>) {
    for id in doomed { objects[id] = nil }
    for (id, object) in objects {
      for (name, list) in object.links where list.contains(where: doomed.contains) {
        objects[id]?.links[name] = list.filter { !doomed.contains($0) }
      }
    }
  }

  /// Restores objects to their past values and to their links to existing targets, after removing `doomed`.
  package mutating func rollBack(_ ids: [ObjectID], to past: StoreOracle, doomed: Set<ObjectID>) {
    remove(doomed)
    for id in ids {
      guard let then = past.objects[id] else { continue }
      if objects[id] == nil {
        objects[id] = Object(entity: then.entity)
        sources[id] = past.sources[id]
      }
      objects[id]?.values = then.values
    }
    for id in ids {
      for relationship in model.relationships(of: past.objects[id]?.entity ?? "") {
        let members = past.links(id, relationship.name).filter { objects[$0] != nil }
        if members != links(id, relationship.name) { setMembers(id, relationship.name, members) }
      }
    }
  }

  private func members(of id: ObjectID, rule: DeleteRule) -> [ObjectID] {
    guard let object = objects[id] else { return [] }
    return object.links.filter { model.relationship($0.key, of: object.entity)?.deleteRule == rule }.flatMap(\.value)
  }

  /// Whether no two objects share a code, or a motto and a sponsor.
  package var isUnique: Bool {
    let codes = objects.values.compactMap { $0.values["code"] }
    let pairs: [[AnyHashable]] = objects.values.compactMap { object in
      guard let motto = object.values["motto"], let sponsor = object.links["sponsor"]?.first else { return nil }
      return [motto, sponsor]
    }
    return Set(codes).count == codes.count && Set(pairs).count == pairs.count
  }
}
