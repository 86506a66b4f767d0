import Testing

@testable import KVCloneLMDB

/// Cursors that are retained in a write transaction: an optimization that changes no result.
@Suite(.serialized) struct PlaceTests {
  @Test(arguments: [21, 22, 23, 24] as [UInt64]) func everythingIsTheSameWithThem(seed: UInt64) throws {
    let store = try TemporaryStore()
    var options = LMDBOptions()
    options.spillBudget = seed % 2 == 0 ? 1 << 20 : 1 << 30
    let environment = try store.create(["a", "b", "c"], options)
    let tables = try ["a", "b", "c"].map { name throws in try environment.table(named: name) }
    var generator = SeededGenerator(seed: seed)
    var models: [[UInt64: [UInt8]]] = [[:], [:], [:]]
    for round in 0..<4 {
      let before = models
      var writer = try environment.beginWrite()
      for step in 0..<2000 {
        if step % 500 == 0 {
          // Two of three tables: one is always read and written without a retained cursor. The last ones are kept until
          // the transaction ends.
          if step % 1000 != 0 {
            writer.retainCursors(in: [tables[0].dbi, tables[1].dbi])
          } else {
            writer.forgetPlaces()
          }
        }
        let which = Int(generator.next() % 3)
        // Mostly near the previous key, where a retained cursor helps, and sometimes anywhere.
        let near = UInt64(step / 2) + generator.next() % 8
        let number = generator.next() % 10 == 0 ? generator.next() % 2000 : near
        try Self.change(&writer, tables[which], &models[which], number, &generator, seed)
        try Self.look(&writer, tables[which], models[which], number, seed)
      }
      if round == 2 {
        models = before
        writer.abort()
      } else {
        try writer.commit()
      }
      for which in tables.indices { try SpillTests.compare(environment, tables[which], models[which], seed) }
      #expect(try environment.auditPages().isConsistent, "seed \(seed), round \(round)")
    }
  }

  private static func change(
    _ writer: inout LMDBWriteTransaction, _ table: LMDBTable, _ model: inout [UInt64: [UInt8]], _ number: UInt64,
    _ generator: inout SeededGenerator, _ seed: UInt64
  ) throws {
    let key = SpillTests.key(number)
    let isDelete = generator.next() % 8 == 0
    let length = Int(generator.next() % (generator.next() % 20 == 0 ? 9000 : 700))
    if isDelete {
      let found = try writer.delete(table, key.span.bytes)
      #expect(found == (model.removeValue(forKey: number) != nil), "seed \(seed)")
    } else {
      let value = [UInt8](repeating: UInt8(truncatingIfNeeded: number), count: length)
      try writer.put(table, key.span.bytes, value.span.bytes)
      model[number] = value
    }
  }

  /// Checks the storage calls that use retained cursors.
  private static func look(
    _ writer: inout LMDBWriteTransaction, _ table: LMDBTable, _ model: [UInt64: [UInt8]], _ number: UInt64,
    _ seed: UInt64
  ) throws {
    for probe in [number, number &+ 1] {
      let key = SpillTests.key(probe)
      let (code, count) = key.withUnsafeBytes { key in
        let found = writer.placedValue(table.dbi, key) ?? writer.pointers.value(table.dbi, key)
        return (found.code, found.count)
      }
      #expect((code == 0) == (model[probe] != nil), "seed \(seed)")
      if code == 0 { #expect(count == model[probe]?.count, "seed \(seed)") }
      var entry = StorageEntryPointers()
      let before = key.withUnsafeBytes { key in
        writer.placedSeek(table.dbi, key, .atOrBefore, &entry)
          ?? writer.pointers.seek(table.dbi, key, .atOrBefore, &entry)
      }
      // The nearest key below is searched among few: the model is a dictionary.
      let expected = (0...40).lazy.map { probe &- $0 }.first { model[$0] != nil }
      if let expected {
        #expect(before == 0 && Array(entry.key) == SpillTests.key(expected), "seed \(seed)")
        #expect(entry.value.count == model[expected]?.count, "seed \(seed)")
      }
    }
  }

  @Test func theLastCommitsFreedPagesAreCountedUntilTheNextOne() throws {
    let store = try TemporaryStore()
    let environment = try store.create()
    let table = try environment.table(named: "a")
    func write(_ length: Int) throws {
      var writer = try environment.beginWrite()
      let value = [UInt8](repeating: 1, count: length)
      try writer.put(table, SpillTests.key(1).span.bytes, value.span.bytes)
      try writer.commit()
    }
    try write(4 << 20)
    #expect(try environment.lastFreedPageCount() < 10)
    try write(1)
    #expect(try environment.lastFreedPageCount() >= 1024)
    let length = try environment.info().lastPage
    // Too early: the file grows. Too late for the first freed pages to be reused.
    try write(4 << 20)
    #expect(try environment.info().lastPage > length)
    #expect(try environment.lastFreedPageCount() < 10)
    try write(1)
    try write(2)
    let grown = try environment.info().lastPage
    try write(4 << 20)
    #expect(try environment.info().lastPage == grown)
  }
}
