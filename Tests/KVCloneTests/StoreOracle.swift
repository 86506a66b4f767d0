import Foundation

@testable import KVClone

/// What the random operations work on: relationships of every shape and delete rule, inheritance, a constraint, blobs.
let randomModel = ManagedObjectModel("Random") {
  EntityDescription("Named", abstract: true, unique: [["code"]]) {
    AttributeDescription("code", .integer32)
    AttributeDescription("name", .string, default: "nobody")
    AttributeDescription("data", .binary)
  }
  EntityDescription("Person", parent: "Named") {
    RelationshipDescription("spouse", toOne: "Person", inverse: "spouse")
    RelationshipDescription("friends", toMany: "Person", inverse: "friends")
    RelationshipDescription("boss", toOne: "Person", inverse: "reports")
    RelationshipDescription("reports", toMany: "Person", inverse: "boss", ordered: true)
    RelationshipDescription("next", toOne: "Person", inverse: "previous", deleteRule: .noAction)
    RelationshipDescription("previous", toOne: "Person", inverse: "next")
    RelationshipDescription("clubs", toMany: "Club", inverse: "members", ordered: true)
    RelationshipDescription("tags", toMany: "Tag", inverse: "people")
    RelationshipDescription("notes", toMany: "Note", inverse: "author", ordered: true, deleteRule: .cascade)
    RelationshipDescription("idol", toOne: "Named")
    RelationshipDescription("favourites", toMany: "Named", ordered: true)
    RelationshipDescription("seen", toMany: "Named", deleteRule: .noAction)
  }
  EntityDescription("Employee", parent: "Person") {
    AttributeDescription("badge", .integer64, optional: false, default: 1)
  }
  EntityDescription("Club", parent: "Named", unique: [["motto", "sponsor"]]) {
    AttributeDescription("motto", .integer16)
    RelationshipDescription("members", toMany: "Person", inverse: "clubs", ordered: true)
    RelationshipDescription("sponsor", toOne: "Person", deleteRule: .deny)
    RelationshipDescription("mascot", toOne: "Note", deleteRule: .cascade)
  }
  EntityDescription("Tag") { RelationshipDescription("people", toMany: "Person", inverse: "tags") }
  EntityDescription("Note") {
    AttributeDescription("text", .string)
    RelationshipDescription("author", toOne: "Person", inverse: "notes")
    RelationshipDescription("answers", toMany: "Note", inverse: "question", deleteRule: .cascade)
    RelationshipDescription("question", toOne: "Note", inverse: "answers")
  }
}

/// What a store should hold, in plain dictionaries, by the rules of relationships written as directly as possible.
struct StoreOracle: Equatable {
  struct Object: Equatable {
    let entity: String
    var values: [String: AttributeValue] = [:]
    var links: [String: [ObjectID]] = [:]
  }

  struct DeleteDenied: Error {}

  private(set) var objects: [ObjectID: Object] = [:]
  private let model: ManagedObjectModel
  /// Entity → its name and those of all entities below it.
  private let kinds: [String: Set<String>]

  init(_ model: ManagedObjectModel) {
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

  static func == (left: Self, right: Self) -> Bool { left.objects == right.objects }

  /// Ids of an entity's objects and those of its sub-entities, ascending.
  func ids(_ entity: String) -> [ObjectID] {
    let names = kinds[entity] ?? []
    return objects.filter { names.contains($0.value.entity) }.keys.sorted()
  }

  func relationship(_ name: String, of id: ObjectID) -> RelationshipDescription? {
    objects[id].flatMap { model.relationship(name, of: $0.entity) }
  }

  func links(_ id: ObjectID, _ name: String) -> [ObjectID] { objects[id]?.links[name] ?? [] }

  private func inverse(_ name: String, of id: ObjectID) -> RelationshipDescription? {
    objects[id].flatMap { model.inverse(of: name, in: $0.entity)?.relationship }
  }

  mutating func insert(_ id: ObjectID, _ entity: String, _ values: [String: AttributeValue?]) {
    var object = Object(entity: entity)
    for attribute in model.attributes(of: entity) { object.values[attribute.name] = attribute.defaultValue }
    objects[id] = object
    for (name, value) in values { objects[id]?.values[name] = value }
  }

  mutating func set(_ id: ObjectID, _ attribute: String, _ value: AttributeValue?) {
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

  mutating func unlink(_ id: ObjectID, _ name: String, _ targets: [ObjectID]) {
    for target in targets where links(id, name).contains(target) {
      cut(id, name, target)
      cutBack(id, name, target)
    }
  }

  mutating func link(_ id: ObjectID, _ name: String, _ targets: [ObjectID], at index: Int? = nil) {
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

  mutating func setMembers(_ id: ObjectID, _ name: String, _ targets: [ObjectID]) {
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

  /// Deletes by the rules, and answers how many objects went.
  mutating func delete(_ ids: [ObjectID]) throws -> Int {
    var doomed = Set(ids)
    var queue = ids
    while let id = queue.popLast() {
      for member in members(of: id, rule: .cascade) where doomed.insert(member).inserted { queue.append(member) }
    }
    for id in doomed where !members(of: id, rule: .deny).allSatisfy(doomed.contains) { throw DeleteDenied() }
    for id in doomed { objects[id] = nil }
    objects = objects.mapValues { object in
      var object = object
      object.links = object.links.mapValues { list in list.filter { !doomed.contains($0) } }
      return object
    }
    return doomed.count
  }

  private func members(of id: ObjectID, rule: DeleteRule) -> [ObjectID] {
    guard let object = objects[id] else { return [] }
    return object.links.filter { model.relationship($0.key, of: object.entity)?.deleteRule == rule }.flatMap(\.value)
  }

  /// Whether no two objects share a code, or a motto and a sponsor.
  var isUnique: Bool {
    let codes = objects.values.compactMap { $0.values["code"] }
    let pairs: [[AnyHashable]] = objects.values.compactMap { object in
      guard let motto = object.values["motto"], let sponsor = object.links["sponsor"]?.first else { return nil }
      return [motto, sponsor]
    }
    return Set(codes).count == codes.count && Set(pairs).count == pairs.count
  }
}
