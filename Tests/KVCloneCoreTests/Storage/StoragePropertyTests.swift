import Foundation
import KVClone
import KVCloneRecords
import KVCloneTestSupport
import Testing

@testable import KVCloneCore

/// Every engine behaves like a dictionary, in all orders of changes, commits, aborts and reopening.
@Suite("Engines compared with a dictionary", .serialized)
struct StoragePropertyTests {
  typealias Model = [[UInt8]: [UInt8]]

  @Test("random changes, reads, commits and aborts", arguments: StorageKind.allCases, [1, 2, 3] as [UInt64])
  func random(kind: StorageKind, seed: UInt64) throws {
    let fixture = try StorageFixture(kind)
    var random = SeededGenerator(seed: seed)
    var committed = Array(repeating: Model(), count: fixture.tables.count)
    for round in 0..<10 {
      var model = committed
      var tx = try fixture.begin()
      for _ in 0..<random.below(100) {
        // An optimization without visible effects.
        if random.chance(in: 20) { tx.retainCursors(in: random.chance(in: 2) ? [] : Array(fixture.tables.dropLast())) }
        try Self.change(&tx, fixture.tables, &model, &random)
        if random.chance(in: 10) { try Self.compare(tx, fixture.tables, model, &random, seed) }
      }
      if random.chance(in: 4) {
        _ = consume tx
      } else {
        try tx.commit()
        committed = model
      }
      if random.chance(in: 5) { try fixture.reopen() }
      for (table, model) in zip(fixture.tables, committed) {
        let entries = try fixture.entries(table)
        #expect(entries == Self.sorted(model), "seed \(seed), round \(round)")
      }
      try fixture.expectSoundPages()
    }
  }

  private static func sorted(_ model: Model) -> [MemoryEntry] {
    model.map { MemoryEntry(key: $0.key, value: $0.value) }.sorted { $0.key.lexicographicallyPrecedes($1.key) }
  }

  private static func change(
    _ tx: inout StorageTransaction, _ tables: [StorageTable], _ models: inout [Model], _ random: inout SeededGenerator
  ) throws {
    let number = random.below(tables.count)
    let table = tables[number]
    let key = self.key(&random)
    switch random.below(10) {
    case 0..<5:
      let value = self.value(&random)
      try tx.put(table, key, value)
      models[number][key] = value
    case 5..<7:
      guard var last = models[number].keys.max(by: { $0.lexicographicallyPrecedes($1) }) else { return }
      if last.count < FormatLimits.maximumKeyLength { last.append(UInt8(random.below(256))) } else { return }
      let value = self.value(&random)
      try tx.append(table, last, value)
      models[number][last] = value
    default:
      // Half of the time an existing key.
      let key =
        random.chance(in: 2) ? models[number].keys.sorted { $0.lexicographicallyPrecedes($1) }.first ?? key : key
      let existed = try tx.delete(table, key)
      #expect(existed == (models[number].removeValue(forKey: key) != nil))
    }
  }

  private static func compare(
    _ tx: borrowing StorageTransaction, _ tables: [StorageTable], _ models: [Model], _ random: inout SeededGenerator,
    _ seed: UInt64
  ) throws {
    let number = random.below(tables.count)
    let key = key(&random)
    let sorted = sorted(models[number])
    let value = try tx.value(tables[number], key)
    #expect(value == models[number][key], "seed \(seed)")
    let after = try tx.entry(tables[number], key, .atOrAfter)
    #expect(after == sorted.first { !$0.key.lexicographicallyPrecedes(key) }, "seed \(seed)")
    let before = try tx.entry(tables[number], key, .atOrBefore)
    #expect(before == sorted.last { !key.lexicographicallyPrecedes($0.key) }, "seed \(seed)")
    let limit = 1 + random.below(20)
    let some = try tx.entries(tables[number], from: key, limit: limit)
    #expect(some == Array(sorted.drop { $0.key.lexicographicallyPrecedes(key) }.prefix(limit)), "seed \(seed)")
  }

  private static func key(_ random: inout SeededGenerator) -> [UInt8] {
    if random.chance(in: 40) { return Array(repeating: UInt8(random.below(256)), count: FormatLimits.maximumKeyLength) }
    let edges: [UInt8] = [0, 1, 0x7F, 0x80, 0xFE, 0xFF]
    return (0..<1 + random.below(4)).map { _ in edges[random.below(edges.count)] }
  }

  private static func value(_ random: inout SeededGenerator) -> [UInt8] {
    let byte = UInt8(random.below(256))
    return Array(repeating: byte, count: random.chance(in: 5) ? random.below(20_000) : random.below(300))
  }
}
