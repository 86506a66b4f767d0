import Foundation
package import KVClone
package import KVCloneCore
import Testing

/// Random operations on a store of ``RandomModel`` and on its oracle.
package final class RandomOperations {
  package let seed: UInt64
  package var random: SeededGenerator
  package var oracle: StoreOracle
  /// The number of operations.
  package private(set) var count = 0
  /// The objects inserted since the set was last emptied.
  package var fresh: Set<ObjectID> = []
  /// The number of objects above which deletions outnumber insertions.
  package var capacity = 300
  package var listSizes = [0, 1, 2, 7, 8, 16, 17, 40, 129, 200]
  package var dataSizes = [0, 5, 1024, 1025, 4000, 9000]

  package init(seed: UInt64, _ model: ManagedObjectModel) {
    self.seed = seed
    random = SeededGenerator(seed: seed)
    oracle = StoreOracle(model)
  }

  package var place: String { "seed \(seed), operation \(count)" }

  package func operation(_ tx: inout WriteTransaction) throws {
    count += 1
    switch random.below(100) {
    case 0..<(oracle.objects.count < capacity ? 25 : 3):
      for _ in 0..<(random.chance(in: 4) ? 12 : 1) { try insert(&tx) }
    case 25..<40: try setAttribute(&tx)
    case 40..<60: try link(&tx)
    case 60..<72: try unlink(&tx)
    case 72..<88: try setMembers(&tx)
    case 88..<92: try delete(&tx)
    case 92..<96: try look(tx)
    default: try mistake(&tx)
    }
  }

  // MARK: Operations

  private func insert(_ tx: inout WriteTransaction) throws {
    let entity = pick(["Person", "Person", "Employee", "Club", "Tag", "Note", "Note"]) ?? "Tag"
    var values: [String: AttributeValue?] = [:]
    if entity == "Note" { values["text"] = .string("note \(count)") }
    if entity == "Employee", random.chance(in: 2) {
      values["badge"] = .integer(.random(in: .min ... .max, using: &random))
    }
    if oracleHasData(entity), random.chance(in: 3) { values["data"] = randomData() }
    var links: [String: [ObjectID]] = [:]
    for relationship in oracle.model.relationships(of: entity) where random.chance(in: 3) {
      links[relationship.name] = pickTargets(of: relationship, sizes: [1, 1, 2, 5, 20])
    }
    let id = try tx.insert(entity, values, relationships: links)
    #expect(fresh.insert(id).inserted, "\(place)")
    oracle.insert(id, entity, values)
    for (name, targets) in links.sorted(by: { $0.key < $1.key }) { oracle.setMembers(id, name, targets) }
  }

  /// Checks that deferred inverse links are visible to reads in the same transaction.
  private func look(_ tx: borrowing WriteTransaction) throws {
    guard let (id, relationship) = pickRelationship() else { return }
    let expected = oracle.links(id, relationship.name)
    let isCounted = try tx.object(id).count(relationship.name) == expected.count
    guard isCounted, try tx.members(id, relationship.name) == expected else {
      throw StoreDifference("\(id).\(relationship.name) inside a transaction")
    }
  }

  private func oracleHasData(_ entity: String) -> Bool { oracle.model.attribute("data", of: entity) != nil }

  private func randomData() -> AttributeValue {
    let size = pick(dataSizes) ?? 0
    return .binary(Data(repeating: UInt8(truncatingIfNeeded: count), count: size))
  }

  private func setAttribute(_ tx: inout WriteTransaction) throws {
    guard let id = pick(oracle.ids("Named")) else { return }
    switch random.below(5) {
    case 0:
      guard let club = pick(oracle.ids("Club")) else { return }
      let value: AttributeValue? = random.chance(in: 4) ? nil : .integer(.random(in: 0..<20, using: &random))
      try tx.set(club, "motto", value)
      oracle.set(club, "motto", value)
    case 1:
      let value: AttributeValue? = random.chance(in: 4) ? nil : .integer(.random(in: 0..<20_000, using: &random))
      try tx.set(id, "code", value)
      oracle.set(id, "code", value)
    case 2:
      let value = AttributeValue.string(String(repeating: "n", count: random.below(40)))
      try tx.set(id, "name", value)
      oracle.set(id, "name", value)
    case 3:
      let value = random.chance(in: 4) ? nil : randomData()
      try tx.set(id, "data", value)
      oracle.set(id, "data", value)
    default:
      // The bytes of another object, shared if they are a blob.
      guard let other = pick(oracle.ids("Named")) else { return }
      try tx.set(id, "data", try tx.value(other, "data"))
      oracle.set(id, "data", oracle.objects[other]?.values["data"])
    }
  }

  private func link(_ tx: inout WriteTransaction) throws {
    guard let (id, relationship) = pickRelationship() else { return }
    let targets = pickTargets(of: relationship, sizes: [1, 1, 2, 5])
    guard !targets.isEmpty else { return }
    if relationship.isOrdered, random.chance(in: 2) {
      let index = random.below(oracle.links(id, relationship.name).count + 1)
      try tx.link(id, relationship.name, targets, at: index)
      oracle.link(id, relationship.name, targets, at: index)
    } else {
      try tx.link(id, relationship.name, targets)
      oracle.link(id, relationship.name, targets)
    }
  }

  private func unlink(_ tx: inout WriteTransaction) throws {
    guard let (id, relationship) = pickRelationship() else { return }
    let members = oracle.links(id, relationship.name)
    if random.chance(in: 10) {
      try tx.unlink(id, relationship.name)
      return oracle.unlink(id, relationship.name, members)
    }
    let count = min(members.count, pick([1, 2, 10, 30]) ?? 1)
    let targets = Array(members.shuffled(using: &random)[..<count])
    try tx.unlink(id, relationship.name, targets)
    oracle.unlink(id, relationship.name, targets)
  }

  private func setMembers(_ tx: inout WriteTransaction) throws {
    guard let (id, relationship) = pickRelationship() else { return }
    let targets = pickTargets(of: relationship, sizes: listSizes)
    try tx.setMembers(id, relationship.name, targets)
    oracle.setMembers(id, relationship.name, targets)
  }

  private func delete(_ tx: inout WriteTransaction) throws {
    let all = oracle.objects.keys.sorted()
    let ids = (0..<(1 + random.below(2))).compactMap { _ in pick(all) }
    guard !ids.isEmpty else { return }
    do {
      var after = oracle
      let count = try after.delete(ids)
      let deleted = try tx.delete(ids).deletedCount
      #expect(deleted == count, "deleted, \(place)")
      oracle = after
    } catch is StoreOracle.DeleteDenied {
      expectError(.deleteDenied) { try tx.delete(ids) }
    }
  }

  /// Rejected before anything changes: the transaction stays usable.
  private func mistake(_ tx: inout WriteTransaction) throws {
    guard let person = pick(oracle.ids("Person")), let note = pick(oracle.ids("Note")) else { return }
    switch random.below(5) {
    case 0: expectError(.wrongDestination) { try tx.setMembers(person, "friends", [person, note]) }
    case 1: expectError(.wrongDestination) { try tx.link(note, "author", [note]) }
    case 2: expectError(.wrongType) { try tx.set(person, "code", "seven") }
    case 3: expectError(.unknownProperty) { try tx.set(note, "code", 7) }
    default: expectError(.abstractEntity) { try tx.insert("Named") }
    }
  }

  // MARK: Choices

  package func pick<Element>(_ elements: [Element]) -> Element? { elements.randomElement(using: &random) }

  private func pickRelationship() -> (ObjectID, RelationshipDescription)? {
    // A few objects get most of the links, so that lists get long.
    let entity = pick(["Person", "Person", "Club", "Tag", "Note"]) ?? "Tag"
    let ids = oracle.ids(entity)
    guard let id = random.chance(in: 2) ? pick(Array(ids.prefix(3))) : pick(ids), let object = oracle.objects[id],
      let relationship = pick(oracle.model.relationships(of: object.entity))
    else { return nil }
    return (id, relationship)
  }

  private func pickTargets(of relationship: RelationshipDescription, sizes: [Int]) -> [ObjectID] {
    let all = oracle.ids(relationship.destinationEntityName).shuffled(using: &random)
    let size = pick(sizes) ?? 0
    return Array(all.prefix(relationship.isToMany ? size : min(size, 1)))
  }
}
