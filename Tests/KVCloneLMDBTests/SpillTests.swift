import Foundation
import Testing

@testable import KVCloneLMDB

/// Forced spills: flat memory, and the same contents as without them. They rest on the library's inner order, so they are
/// tested against a model, with aborts, and every page of the file is counted.
@Suite(.serialized) struct SpillTests {
  @Test(arguments: [(1, 50), (2, 700), (3, 5000), (4, 0)] as [(UInt64, Int)])
  func randomWritesMatchAModel(seed: UInt64, every: Int) throws {
    let store = try TemporaryStore()
    var environment = try store.create(["blob", "r"])
    var table = try environment.table(named: "blob")
    var generator = SeededGenerator(seed: seed)
    var model: [UInt64: [UInt8]] = [:]
    for round in 0..<6 {
      let before = model
      var writer = try environment.beginWrite()
      for _ in 0..<6000 {
        let number = generator.next() % 4000
        let key = Self.key(number)
        if generator.next() % 4 == 0 {
          let found = try writer.delete(table, key.span.bytes)
          #expect(found == (model.removeValue(forKey: number) != nil), "seed \(seed)")
        } else {
          let isLong = generator.next() % 20 == 0
          let length = 16 + Int(generator.next() % (isLong ? 60_000 : 300))
          let value = [UInt8](repeating: UInt8(truncatingIfNeeded: generator.next()), count: length)
          try writer.put(table, key.span.bytes, value.span.bytes)
          model[number] = value
        }
        if every > 0, generator.next() % UInt64(every) == 0 { try writer.spill() }
      }
      #expect(every == 0 || writer.spillCount > 0, "seed \(seed)")
      if round % 3 == 2 {
        model = before
        writer.abort()
      } else {
        try writer.commit()
      }
      try Self.compare(environment, table, model, seed)
      #expect(try environment.auditPages().isConsistent, "seed \(seed), round \(round)")
    }
    environment.close()
    environment = try store.open()
    table = try environment.openTables(["blob", "r"], create: false)[0]
    try Self.compare(environment, table, model, seed)
  }

  /// 256 MiB in one transaction; without spills the process would hold all of it.
  @Test func memoryStaysFlat() throws {
    let store = try TemporaryStore()
    let environment = try store.create()
    let table = try environment.table(named: "a")
    var writer = try environment.beginWrite()
    try #require(environment.isSpillSupported)
    let before = try #require(ProcessMemory.anonymousBytes)
    for number in 0..<256 {
      let key = Self.key(UInt64(number))
      try writer.append(table, key.span.bytes, byteCount: 1 << 20) { output in
        for _ in 0..<1 << 17 { output.append(UInt64(number), as: UInt64.self) }
      }
    }
    let held = try #require(ProcessMemory.anonymousBytes) - before
    #expect(held < 128 << 20)
    #expect(writer.spillCount >= 14)
    try writer.commit()
    let reader = try environment.beginRead()
    var count: UInt64 = 0
    try reader.scan(table) { _, value in
      #expect(value.byteCount == 1 << 20)
      #expect(value.withUnsafeBytes { $0.load(fromByteOffset: 1 << 19, as: UInt64.self) } == count)
      count += 1
      return true
    }
    #expect(count == 256)
    #expect(try environment.auditPages().isConsistent)
  }

  @Test func canBeSwitchedOff() throws {
    let store = try TemporaryStore()
    var options = LMDBOptions()
    options.spillBudget = 0
    let environment = try store.create(["a"], options)
    let table = try environment.table(named: "a")
    var writer = try environment.beginWrite()
    let value = [UInt8](repeating: 1, count: 1 << 20)
    for number in 0..<32 { try writer.put(table, Self.key(UInt64(number)).span.bytes, value.span.bytes) }
    #expect(writer.spillCount == 0)
    environment.disableSpill()
    try writer.spill()
    #expect(writer.spillCount == 0)
    try writer.commit()
  }

  static func key(_ number: UInt64) -> [UInt8] {
    withUnsafeBytes(of: number.bigEndian) { Array($0) }
  }

  static func compare(
    _ environment: LMDBEnvironment, _ table: LMDBTable, _ model: [UInt64: [UInt8]], _ seed: UInt64
  ) throws {
    let reader = try environment.beginRead()
    var expected = model.sorted { $0.key < $1.key }.makeIterator()
    var differences = 0
    try reader.scan(table) { key, value in
      let next = expected.next()
      let isSame =
        key.withUnsafeBytes { Array($0) } == next.map { Self.key($0.key) }
        && value.withUnsafeBytes { Array($0) } == next?.value
      if !isSame { differences += 1 }
      return true
    }
    #expect(differences == 0 && expected.next() == nil, "seed \(seed)")
  }
}
