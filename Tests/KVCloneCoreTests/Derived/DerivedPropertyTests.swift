import Foundation
import KVCloneTestSupport
import Testing

@testable import KVClone
@testable import KVCloneCore
@testable import KVCloneQuery

/// Random changes of random graphs; after each transaction, every derived attribute is compared with a slow evaluator.
@Suite("Derived attributes compared with a slow evaluator")
struct DerivedPropertyTests {
  @Test("derived attributes follow every change", arguments: PropertySeeds.seeds)
  func random(_ seed: UInt64) throws {
    var run = try DerivedRun(seed: seed)
    for _ in 0..<60 { try run.transaction() }
  }
}

private struct DerivedRun {
  let seed: UInt64
  private let test: TestStore
  private var random: SeededGenerator
  private var count = 0

  init(seed: UInt64) throws {
    self.seed = seed
    random = SeededGenerator(seed: seed)
    test = try TestStore(DerivedModel.model)
  }

  private static let entities = ["Library", "Album", "Album", "Photo", "Photo", "Photo", "Raw", "Tag", "Node", "Node"]

  mutating func transaction() throws {
    count += 1
    let place = "seed \(seed), transaction \(count)"
    var random = self.random
    do {
      try test.store.write { tx in
        for _ in 0..<(1 + random.below(12)) { try Self.change(&tx, &random) }
      }
    } catch let error as CloneError where [.maxCountExceeded, .inverseTaken].contains(error.kind) {
      // The transaction changed nothing.
    }
    self.random = random
    if count % 15 == 0 { try test.reopen() }
    try test.store.expectDerived(place)
  }

  private static func change(_ tx: inout WriteTransaction, _ random: inout SeededGenerator) throws {
    let entity = entities[random.below(entities.count)]
    switch random.below(20) {
    case 0..<6: try tx.insert(entity, values(entity, &random))
    case 6..<11:
      guard let id = try pick(entity, tx, &random) else { return }
      var changed = values(entity, &random)
      if random.chance(in: 4), let name = changed.keys.sorted().first { changed[name] = .some(nil) }
      try tx.setAttributes(id, changed)
    case 11..<17: try link(&tx, entity, &random)
    case 17: if let id = try pick(entity, tx, &random), random.chance(in: 2) { try tx.delete([id]) }
    default:
      guard let id = try pick(entity, tx, &random), try tx.count(entity: entity) < 60 else { return }
      _ = try tx.clone([id], options: .with { $0.count = 1 + random.below(2) })
    }
  }

  private static func values(_ entity: String, _ random: inout SeededGenerator) -> [String: AttributeValue?] {
    func number(_ limit: Int) -> AttributeValue { .integer(Int64(random.below(limit)) - Int64(limit / 2)) }
    let text = AttributeValue.string(["Äpfel", "zoë", "B", "b", "x\u{301}", "Ω"][random.below(6)])
    switch entity {
    case "Library": return ["name": text]
    case "Album": return ["title": text]
    case "Photo", "Raw":
      return [
        "name": text, "size": number([10, 60_000][random.below(2)]), "weight": .double(Double(random.below(100)) / 7),
        "price": .decimal(Decimal(random.below(10_000)) / 100), "place": ["city": text],
      ]
    case "Tag": return ["weight": random.chance(in: 10) ? .integer(.max - 3) : number(50)]
    default: return ["weight": number(100)]
    }
  }

  private static func link(_ tx: inout WriteTransaction, _ entity: String, _ random: inout SeededGenerator) throws {
    guard let id = try pick(entity, tx, &random) else { return }
    let relationships = DerivedModel.model.relationships(of: entity)
    guard let relationship = relationships.isEmpty ? nil : relationships[random.below(relationships.count)] else {
      return
    }
    var targets: [ObjectID] = []
    let most = relationship.isToMany ? [1, 2, 5, 25][random.below(4)] : 1
    for _ in 0..<most {
      if let target = try pick(relationship.destinationEntityName, tx, &random), !targets.contains(target) {
        targets.append(target)
      }
    }
    switch random.below(4) {
    case 0: try tx.setMembers(id, relationship.name, targets)
    case 1: try tx.unlink(id, relationship.name, random.chance(in: 4) ? nil : targets)
    case 2 where relationship.isOrdered: try tx.link(id, relationship.name, targets, at: 0)
    default: try tx.link(id, relationship.name, targets)
    }
  }

  private static func pick(_ entity: String, _ tx: borrowing WriteTransaction, _ random: inout SeededGenerator) throws
    -> ObjectID?
  {
    let ids = try tx.fetchIDs(FetchRequest(entity))
    return ids.isEmpty ? nil : ids[random.below(ids.count)]
  }
}
