import Foundation
import KVCloneTestSupport
import Testing

@testable import KVClone

/// Random operations on a store and on plain dictionaries, compared all the time.
///
/// `KVCLONE_SEEDS=7,8 KVCLONE_OPERATIONS=100000` repeats a failure, or looks for rarer ones.
@Suite("A store against plain dictionaries")
struct StorePropertyTests {
  static let seeds: [UInt64] = {
    let given = ProcessInfo.processInfo.environment["KVCLONE_SEEDS"] ?? ""
    let seeds = given.split(separator: ",").compactMap { UInt64($0) }
    return seeds.isEmpty ? [1, .random(in: 0 ... .max), .random(in: 0 ... .max)] : seeds
  }()

  static let operationCount = Int(ProcessInfo.processInfo.environment["KVCLONE_OPERATIONS"] ?? "") ?? 3000

  @Test("random operations, aborts and reopenings", arguments: seeds)
  func random(_ seed: UInt64) throws {
    let run = try RandomRun(seed: seed)
    do {
      while run.operations < Self.operationCount { try run.transaction() }
      try run.compare()
    } catch {
      Issue.record("\(error), seed \(seed), operation \(run.operations)")
    }
  }
}

private struct Refusal: Error {}

private final class RandomRun {
  let seed: UInt64
  private let test: TestStore
  private var random: SeededGenerator
  private var oracle = StoreOracle(randomModel)
  private(set) var operations = 0
  private var transactions = 0
  /// Every id that was ever given out, those of aborted transactions only until the store is opened again.
  private var known: Set<ObjectID> = []
  private var lost: Set<ObjectID> = []
  private var commit: UInt64 = 0

  init(seed: UInt64) throws {
    self.seed = seed
    random = SeededGenerator(seed: seed)
    test = try TestStore(randomModel)
  }

  // MARK: Transactions

  func transaction() throws {
    transactions += 1
    let before = oracle
    let aborts = random.chance(in: 10)
    var fresh: Set<ObjectID> = []
    do {
      try test.store.write { tx in
        for _ in 0..<(1 + random.below(20)) { try operation(&tx, &fresh) }
        if aborts { throw Refusal() }
      }
      #expect(oracle.isUnique, "a conflict was committed, \(place)")
    } catch is Refusal where aborts {
      oracle = before
    } catch is ValidationError {
      #expect(!oracle.isUnique, "refused without a conflict, \(place)")
      oracle = before
    }
    #expect(known.isDisjoint(with: fresh) && lost.isDisjoint(with: fresh), "an id was used again, \(place)")
    if before == oracle { lost.formUnion(fresh) } else { known.formUnion(fresh) }
    let now = try test.store.info().commit
    #expect(before == oracle ? now - commit <= 1 : now == commit + 1, "commit counter, \(place)")
    commit = now
    if random.chance(in: 12) {
      try test.reopen()
      lost = []
    }
    if transactions % 10 == 0 { try compare() }
  }

  private var place: String { "seed \(seed), operation \(operations)" }

  private func operation(_ tx: inout WriteTransaction, _ fresh: inout Set<ObjectID>) throws {
    operations += 1
    switch random.below(100) {
    case 0..<(oracle.objects.count < 300 ? 25 : 3):
      for _ in 0..<(random.chance(in: 4) ? 12 : 1) { try insert(&tx, &fresh) }
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

  private func insert(_ tx: inout WriteTransaction, _ fresh: inout Set<ObjectID>) throws {
    let entity = pick(["Person", "Person", "Employee", "Club", "Tag", "Note", "Note"]) ?? "Tag"
    var values: [String: AttributeValue?] = [:]
    if entity == "Note" { values["text"] = .string("note \(operations)") }
    if entity == "Employee", random.chance(in: 2) {
      values["badge"] = .integer(.random(in: .min ... .max, using: &random))
    }
    if oracleHasData(entity), random.chance(in: 3) { values["data"] = randomData() }
    var links: [String: [ObjectID]] = [:]
    for relationship in randomModel.relationships(of: entity) where random.chance(in: 3) {
      links[relationship.name] = pickTargets(of: relationship, sizes: [1, 1, 2, 5, 20])
    }
    let id = try tx.insert(entity, values, relationships: links)
    #expect(fresh.insert(id).inserted, "\(place)")
    oracle.insert(id, entity, values)
    for (name, targets) in links.sorted(by: { $0.key < $1.key }) { oracle.setMembers(id, name, targets) }
  }

  /// What other objects have been told of links is there for whoever reads in the same transaction.
  private func look(_ tx: borrowing WriteTransaction) throws {
    guard let (id, relationship) = pickRelationship() else { return }
    let expected = oracle.links(id, relationship.name)
    let isCounted = try tx.object(id).count(relationship.name) == expected.count
    guard isCounted, try tx.members(id, relationship.name) == expected else {
      throw Difference("\(id).\(relationship.name) inside a transaction")
    }
  }

  private func oracleHasData(_ entity: String) -> Bool { randomModel.attribute("data", of: entity) != nil }

  private func randomData() -> AttributeValue {
    let size = pick([0, 5, 1024, 1025, 4000, 9000]) ?? 0
    return .binary(Data(repeating: UInt8(truncatingIfNeeded: operations), count: size))
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
      // The bytes of another object, shared where they are a blob.
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
    let targets = pickTargets(of: relationship, sizes: [0, 1, 2, 7, 8, 16, 17, 40, 129, 200])
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

  /// Refused before anything changes: the transaction goes on.
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

  private func pick<Element>(_ elements: [Element]) -> Element? { elements.randomElement(using: &random) }

  private func pickRelationship() -> (ObjectID, RelationshipDescription)? {
    // A few objects get most of the links, so that lists get long.
    let entity = pick(["Person", "Person", "Club", "Tag", "Note"]) ?? "Tag"
    let ids = oracle.ids(entity)
    guard let id = random.chance(in: 2) ? pick(Array(ids.prefix(3))) : pick(ids), let object = oracle.objects[id],
      let relationship = pick(randomModel.relationships(of: object.entity))
    else { return nil }
    return (id, relationship)
  }

  private func pickTargets(of relationship: RelationshipDescription, sizes: [Int]) -> [ObjectID] {
    let all = oracle.ids(relationship.destinationEntityName).shuffled(using: &random)
    let size = pick(sizes) ?? 0
    return Array(all.prefix(relationship.isToMany ? size : min(size, 1)))
  }

  // MARK: Comparison

  /// Compares everything.
  func compare() throws {
    let store = test.store
    try store.read { tx in
      var seen: Set<ObjectID> = []
      for entity in ["Named", "Tag", "Note"] {
        try tx.forEachObject(of: entity) { object in
          seen.insert(object.id)
          guard let expected = oracle.objects[object.id] else { throw Difference("\(object.name) should be gone") }
          guard object.entityName == expected.entity else { throw Difference("\(object.name) is another entity") }
          for attribute in randomModel.attributes(of: expected.entity) where attribute.name != "data" {
            guard object[attribute.name] == expected.values[attribute.name] else {
              throw Difference("\(object.name).\(attribute.name)")
            }
          }
          return true
        }
      }
      guard seen == Set(oracle.objects.keys) else { throw Difference("objects are missing") }
      for (id, object) in oracle.objects {
        for relationship in randomModel.relationships(of: object.entity) {
          let members = try tx.members(id, relationship.name)
          let isCounted = try tx.count(id, relationship.name) == members.count
          guard isCounted, members == object.links[relationship.name] ?? [] else {
            throw Difference("\(object.entity)/\(id.serial).\(relationship.name)")
          }
        }
        guard oracleHasData(object.entity) else { continue }
        let data = try tx.data(id, "data").map { AttributeValue.binary($0) }
        guard data == object.values["data"] else { throw Difference("\(object.entity)/\(id.serial).data") }
      }
    }
    try checked(store)
  }

  private struct Difference: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
  }
}
