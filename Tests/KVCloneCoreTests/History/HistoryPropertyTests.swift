import Foundation
import KVClone
import KVCloneTestSupport
import Testing

@testable import KVCloneCore

/// Random transactions on a store and on plain dictionaries: the history must match the differences of the
/// dictionaries.
///
/// `KVCLONE_SEEDS=7,8 KVCLONE_OPERATIONS=100000` repeats a failure, or searches for rarer ones.
@Suite("History compared with plain dictionaries")
struct HistoryPropertyTests {
  static let operationCount = PropertySeeds.count(1500)

  @Test("random transactions, read back", arguments: PropertySeeds.seeds)
  func random(_ seed: UInt64) throws {
    let run = try HistoryRun(seed: seed)
    do {
      while run.operations < Self.operationCount { try run.transaction() }
      try run.compareAll()
    } catch {
      Issue.record("\(error), seed \(seed), operation \(run.operations)")
    }
  }
}

private final class HistoryRun {
  typealias Properties = [ObjectID: Set<String>]

  /// The changes of a transaction, from the dictionaries.
  private struct Expected {
    let inserted: Set<ObjectID>
    let deleted: [ObjectID: String]
    /// The differences at the end, and all intermediate writes.
    let changed: Properties
    let written: Properties
  }

  private let seed: UInt64
  private let test: TestStore
  private let start: HistoryToken
  private var random: SeededGenerator
  private var oracle = StoreOracle(randomModel)
  private var expected: [Expected] = []
  /// The properties that the open transaction has written.
  private var written: Properties = [:]
  private(set) var operations = 0

  init(seed: UInt64) throws {
    self.seed = seed
    random = SeededGenerator(seed: seed)
    test = try TestStore(randomModel, options: StoreOptions.tracking())
    start = try test.store.currentToken()
  }

  func transaction() throws {
    let before = oracle
    let count = expected.count
    written = [:]
    let aborts = random.chance(in: 10)
    struct Refusal: Error {}
    do {
      try test.store.write { tx in
        for _ in 0..<(1 + random.below(12)) { try operation(&tx) }
        if aborts { throw Refusal() }
      }
    } catch is Refusal {
      oracle = before
      return
    } catch is ValidationError {
      oracle = before
      return
    }
    let ids = Set(oracle.objects.keys)
    let old = Set(before.objects.keys)
    let change = Expected(
      inserted: ids.subtracting(old),
      deleted: before.objects.filter { !ids.contains($0.key) }.mapValues(\.entity),
      changed: Self.difference(before, oracle), written: written.filter { old.contains($0.key) && ids.contains($0.key) }
    )
    let transactions = try test.store.history(after: start)
    // Without differences, a transaction may be missing; only intermediate writes may be reported.
    if transactions.count == count {
      #expect(change.inserted.isEmpty && change.deleted.isEmpty && change.changed.isEmpty, "not told, \(place)")
      return
    }
    expected.append(change)
    guard transactions.count == count + 1, let last = transactions.last else {
      Issue.record("lost, \(place)")
      return
    }
    try compare(last, change)
    if random.chance(in: 20) { try test.reopen() }
  }

  /// Compares every transaction again after all later ones.
  func compareAll() throws {
    let transactions = try test.store.history(after: start)
    #expect(transactions.count == expected.count)
    for (transaction, change) in zip(transactions, expected) { try compare(transaction, change) }
    try checked(test.store)
  }

  private func compare(_ transaction: HistoryTransaction, _ expected: Expected) throws {
    var deleted: [ObjectID: String] = [:]
    for case .deleted(let id, let entity, _) in try transaction.changes() { deleted[id] = entity }
    let inserted = try transaction.insertedIDs()
    let updated = try transaction.updatedProperties().mapValues { Set($0) }
    #expect(Set(inserted) == expected.inserted && Set(inserted).count == inserted.count, "inserted, \(place)")
    #expect(deleted == expected.deleted, "deleted, \(place)")
    for (id, names) in expected.changed {
      #expect(names.isSubset(of: updated[id] ?? []), "\(names) of \(id), \(place)")
    }
    for (id, names) in updated {
      #expect(names.isSubset(of: expected.written[id] ?? []), "\(names) of \(id) were not written, \(place)")
      #expect(!names.isEmpty, "\(place)")
    }
    #expect(transaction.insertedCount == inserted.count && transaction.deletedCount == deleted.count, "\(place)")
    #expect(transaction.updatedCount == updated.count, "\(place)")
  }

  private var place: String { "seed \(seed), operation \(operations)" }

  /// The properties in which objects of both states differ.
  private static func difference(_ before: StoreOracle, _ after: StoreOracle) -> Properties {
    var properties: Properties = [:]
    for (id, old) in before.objects {
      guard let new = after.objects[id], new != old else { continue }
      var names = Set(new.values.keys).union(old.values.keys).filter { new.values[$0] != old.values[$0] }
      let links = Set(new.links.keys).union(old.links.keys)
      names.formUnion(links.filter { new.links[$0] ?? [] != old.links[$0] ?? [] })
      if !names.isEmpty { properties[id] = names }
    }
    return properties
  }

  // MARK: Operations

  private func operation(_ tx: inout WriteTransaction) throws {
    operations += 1
    let before = oracle
    try change(&tx)
    written.merge(Self.difference(before, oracle)) { $0.union($1) }
  }

  private func change(_ tx: inout WriteTransaction) throws {
    switch random.below(100) {
    case 0..<(oracle.objects.count < 60 ? 30 : 5):
      let entity =
        ["Person", "Person", "Employee", "Club", "Tag", "Note", "Note"].randomElement(using: &random) ?? "Tag"
      oracle.insert(try tx.insert(entity), entity, [:])
    case 30..<45: try set(&tx)
    case 45..<65: try link(&tx)
    case 65..<75:
      guard let (id, relationship) = pickRelationship() else { return }
      let members = oracle.links(id, relationship.name).filter { _ in random.chance(in: 2) }
      try tx.unlink(id, relationship.name, members)
      oracle.unlink(id, relationship.name, members)
    case 75..<92:
      guard let (id, relationship) = pickRelationship() else { return }
      let targets = pickTargets(of: relationship, sizes: [0, 1, 2, 8, 17, 40])
      try tx.setMembers(id, relationship.name, targets)
      oracle.setMembers(id, relationship.name, targets)
    default: try delete(&tx)
    }
  }

  private func set(_ tx: inout WriteTransaction) throws {
    guard let id = oracle.ids("Named").randomElement(using: &random) else { return }
    switch random.below(3) {
    case 0:
      let value: AttributeValue? = random.chance(in: 4) ? nil : .integer(.random(in: 0..<20_000, using: &random))
      try tx.set(id, "code", value)
      oracle.set(id, "code", value)
    case 1:
      let value = AttributeValue.string(String(repeating: "n", count: random.below(4)))
      try tx.set(id, "name", value)
      oracle.set(id, "name", value)
    default:
      let value = AttributeValue.binary(
        Data(repeating: UInt8(truncatingIfNeeded: operations), count: random.below(3000)))
      try tx.set(id, "data", value)
      oracle.set(id, "data", value)
      // Equal bytes in a blob count as written.
      written[id, default: []].insert("data")
    }
  }

  private func link(_ tx: inout WriteTransaction) throws {
    guard let (id, relationship) = pickRelationship() else { return }
    let targets = pickTargets(of: relationship, sizes: [1, 1, 2, 5, 20])
    guard !targets.isEmpty else { return }
    let index = relationship.isOrdered ? random.below(oracle.links(id, relationship.name).count + 1) : nil
    try tx.link(id, relationship.name, targets, at: index)
    oracle.link(id, relationship.name, targets, at: index)
    // A member that is moved to its own position counts as written.
    if index != nil { written[id, default: []].insert(relationship.name) }
  }

  private func delete(_ tx: inout WriteTransaction) throws {
    guard let id = oracle.objects.keys.sorted().randomElement(using: &random) else { return }
    var after = oracle
    do {
      _ = try after.delete([id])
    } catch is StoreOracle.DeleteDenied {
      return
    }
    try tx.delete([id])
    oracle = after
  }

  private func pickRelationship() -> (ObjectID, RelationshipDescription)? {
    guard let id = oracle.objects.keys.sorted().randomElement(using: &random), let object = oracle.objects[id],
      let relationship = randomModel.relationships(of: object.entity).randomElement(using: &random)
    else { return nil }
    return (id, relationship)
  }

  private func pickTargets(of relationship: RelationshipDescription, sizes: [Int]) -> [ObjectID] {
    let all = oracle.ids(relationship.destinationEntityName).shuffled(using: &random)
    let size = sizes.randomElement(using: &random) ?? 0
    return Array(all.prefix(relationship.isToMany ? size : min(size, 1)))
  }
}
