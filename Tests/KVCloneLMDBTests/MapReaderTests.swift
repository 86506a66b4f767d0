import Foundation
import Synchronization
import Testing

@testable import KVCloneLMDB

/// Reads through the pages of the map return the same as LMDB.
@Suite struct MapReaderTests {
  static let names = ["dense", "sparse", "mixed", "long", "texts", "one", "empty"]

  @Test(arguments: [1, 2] as [UInt64]) func agreesWithLMDB(seed: UInt64) throws {
    var generator = SeededGenerator(seed: seed)
    let store = try TemporaryStore()
    let environment = try store.create(Self.names)
    let tables = try Self.names.map { try environment.table(named: $0) }
    var pinned: [(reader: MapTestReader, contents: [[MapTestEntry]])] = []
    var depths: Set<Int32> = []
    for round in 0..<5 {
      try Self.change(environment, tables, round, &generator)
      let reader = try MapTestReader(environment)
      var contents: [[MapTestEntry]] = []
      for table in tables {
        contents.append(try reader.entriesOfLMDB(table))
        try reader.compare(table, contents.last ?? [], &generator, "seed \(seed), round \(round)")
        depths.insert(try #require(reader.depth(table)))
      }
      pinned.append((reader, contents))
    }
    // The entries that they see have been replaced, deleted and moved since.
    for (reader, contents) in pinned {
      for (table, entries) in zip(tables, contents) {
        #expect(reader.entries(table) == entries, "seed \(seed)")
        try reader.compare(table, entries, &generator, "seed \(seed), later")
      }
    }
    #expect(depths.isSuperset(of: [0, 1, 2, 3, 4]), "seed \(seed): \(depths)")
  }

  private static func change(
    _ environment: LMDBEnvironment, _ tables: [LMDBTable], _ round: Int, _ generator: inout SeededGenerator
  ) throws {
    var writer = try environment.beginWrite()
    if round == 0 {
      for number in 0..<UInt64(3000) {
        try writer.append(tables[0], SpillTests.key(number + (1 << 48)).span.bytes, value(&generator).span.bytes)
      }
    }
    for _ in 0..<(round == 0 ? 2500 : 400) {
      for (index, table) in tables.prefix(5).enumerated() {
        let key = key(index, &generator)
        if round > 0, generator.next() % 2 == 0 {
          _ = try writer.delete(table, key.span.bytes)
        } else {
          try writer.put(table, key.span.bytes, value(&generator).span.bytes)
        }
      }
    }
    try writer.put(tables[5], "only", "value \(round)")
    try writer.commit()
  }

  private static func key(_ kind: Int, _ generator: inout SeededGenerator) -> [UInt8] {
    let word = generator.next()
    switch kind {
    case 0: return SpillTests.key(word % 4000 + (1 << 48))
    case 1: return SpillTests.key(word >> (word % 50))
    // The same numbers with a suffix, and without their beginning.
    case 2: return PageFixture.key(word % 3000, &generator) + ((word >> 40) % 3 == 0 ? [0] : [])
    // So few to a page that the tree has three levels.
    case 4: return SpillTests.key(word % 1200) + [UInt8](repeating: 7, count: 200)
    default: return (0..<(1 + Int(word % 511))).map { _ in UInt8(truncatingIfNeeded: generator.next()) }
    }
  }

  private static func value(_ generator: inout SeededGenerator) -> [UInt8] {
    let word = generator.next()
    let longest = word % 40 == 0 ? 30_000 : word % 3 == 0 ? 10 : 250
    return [UInt8](repeating: UInt8(truncatingIfNeeded: word >> 32), count: Int(generator.next() % UInt64(longest)))
  }

  // MARK: State kept between transactions

  /// LMDB serves the first two reads of a snapshot; later reads and transactions use the map.
  @Test func looksForATreeOnceASnapshot() throws {
    let store = try TemporaryStore()
    let environment = try store.create(["a", "b"])
    let table = try environment.table(named: "a")
    var codes: [Int32] = []
    for round in 0..<2 {
      var writer = try environment.beginWrite()
      try writer.put(table, "key", "value \(round)")
      try writer.commit()
      for reads in [1, 3, 2] {
        let transaction = try environment.beginRead()
        for _ in 0..<reads {
          let found = Array("key".utf8).withUnsafeBytes { transaction.map.value(table.dbi, $0) }
          codes.append(found.code)
          guard found.code == 0 else { continue }
          #expect(String(decoding: found.bytes, as: UTF8.self) == "value \(round)")
        }
      }
    }
    let ask = LMDBMapReader.askLMDB
    #expect(codes == [ask, ask, 0, 0, 0, 0, ask, ask, 0, 0, 0, 0])
  }

  @Test func knowsNothingOfTheFileBefore() throws {
    var codes: [Int32] = []
    for round in 0..<3 {
      let store = try TemporaryStore()
      let environment = try store.create(round == 1 ? ["b", "a"] : ["a", "b"])
      let tables = try ["a", "b"].map { try environment.table(named: $0) }
      var writer = try environment.beginWrite()
      for (index, table) in tables.enumerated() { try writer.put(table, "key", "\(round) \(index)") }
      try writer.commit()
      let reader = try MapTestReader(environment)
      for (index, table) in tables.enumerated() {
        let entries = reader.entries(table)
        codes.append(reader.lastCode)
        #expect(entries == [MapTestEntry(key: Array("key".utf8), value: Array("\(round) \(index)".utf8))])
      }
      environment.close()
    }
    #expect(codes.allSatisfy { $0 == LMDBPointerReader.notFound })
  }

  /// LMDB rejects a table that was opened after a transaction began, so the read is left to LMDB.
  @Test func leavesTablesOpenedLaterToLMDB() throws {
    let store = try TemporaryStore()
    let environment = try store.create(["a", "b"])
    environment.close()
    let opened = try store.open()
    _ = try opened.openTables(["a"], create: false)
    let reader = try MapTestReader(opened)
    let table = try opened.openTables(["b"], create: false)[0]
    #expect(reader.entries(table).isEmpty && reader.lastCode == LMDBMapReader.askLMDB)
    #expect(try MapTestReader(opened).entries(table).isEmpty)
  }

  @Test func leavesAllToLMDBIfTheMapIsUnknown() throws {
    let store = try TemporaryStore()
    try store.prepare()
    let environment = try store.open()
    let table = try environment.openTables(["a"], create: false)[0]
    environment.core.mapStart.store(EnvironmentCore.noMapStart, ordering: .relaxed)
    let reader = try MapTestReader(environment)
    #expect(reader.entries(table).isEmpty && reader.lastCode == LMDBMapReader.askLMDB)
    environment.core.forgetMap()
    #expect(reader.entries(table).count == 1)
  }

  @Test func followsAMapThatGrows() throws {
    var options = LMDBOptions()
    options.mapSize = 1 << 20
    let store = try TemporaryStore()
    let environment = try store.create(["a"], options)
    let table = try environment.table(named: "a")
    var codes: Set<Int32> = []
    for round in 0..<30 as Range<UInt64> {
      var writer = try environment.beginWrite()
      let value = [UInt8](repeating: UInt8(round), count: 200_000)
      try writer.put(table, SpillTests.key(round).span.bytes, value.span.bytes)
      try writer.commit()
      // More than the number of slots, so that some are not pooled.
      let readers = try (0..<20).map { _ in try MapTestReader(environment) }
      for reader in readers {
        let entries = reader.entries(table)
        codes.insert(reader.lastCode)
        #expect(entries.count == Int(round) + 1 && entries.last?.value == value)
      }
    }
    #expect(codes == [LMDBPointerReader.notFound])
  }

  @Test func seesItsSnapshotWhileAThreadWrites() throws {
    let store = try TemporaryStore()
    let environment = try store.create(["a"])
    let table = try environment.table(named: "a")
    let write = { @Sendable (round: Int) throws in
      var writer = try environment.beginWrite()
      for number in 0..<600 as Range<UInt64> where round == 0 || number % 7 != UInt64(round) % 7 {
        let value = [UInt8](repeating: UInt8(truncatingIfNeeded: round), count: 90)
        try writer.put(table, SpillTests.key(number).span.bytes, value.span.bytes)
      }
      try writer.commit()
    }
    try write(0)
    let reader = try MapTestReader(environment)
    let expected = try reader.entriesOfLMDB(table)
    let failures = LockedCount()
    let thread = Thread {
      for round in 1..<60 { do { try write(round) } catch { failures.add() } }
      failures.finish()
    }
    thread.start()
    var rounds = 0
    repeat {
      #expect(reader.entries(table) == expected)
      rounds += 1
    } while !failures.isFinished
    #expect(failures.count == 0 && rounds > 0)
    #expect(try MapTestReader(environment).entries(table) != expected)
  }
}

/// The number of a thread's failures, and whether the thread has finished.
final class LockedCount: @unchecked Sendable {
  private let lock = NSLock()
  private var failures = 0
  private var isDone = false

  func add() { lock.withLock { failures += 1 } }
  func finish() { lock.withLock { isDone = true } }
  var count: Int { lock.withLock { failures } }
  var isFinished: Bool { lock.withLock { isDone } }
}
