#if Postgres
  import Foundation
  import KVClone
  import KVCloneCore
  import KVCloneRecords
  import KVCloneTestSupport
  import Testing

  @testable import KVClonePostgres

  @Suite("The cache of a store in a cluster", .serialized)
  struct CacheTests {
    private static let isAvailable = ClusterFixture.isAvailable

    private static func key(_ number: Int) -> [UInt8] { withUnsafeBytes(of: UInt64(number).bigEndian) { Array($0) } }

    private func row(_ number: Int, _ value: [UInt8]) -> EntryRow {
      Self.key(number).withUnsafeBytes { key in value.withUnsafeBytes { EntryRow(copyOf: key, $0) } }
    }

    private func apply(_ cache: inout EntryCache, _ number: Int, _ value: [UInt8]?) {
      Self.key(number).withUnsafeBytes { key in
        if let value { value.withUnsafeBytes { cache.apply(1, key, $0) } } else { cache.apply(1, key, nil) }
      }
    }

    /// The cached value of a key: nil if nothing is known, an empty list if it is known not to exist.
    private func known(_ cache: EntryCache, _ number: Int) -> [[UInt8]]? {
      Self.key(number).withUnsafeBytes { key in
        guard let range = cache.range(1, at: key) else { return nil }
        let index = range.index(of: key)
        guard index < range.rows.count, keyOrder(range.rows[index].key, key) == 0 else { return [] }
        return [Array(range.rows[index].value)]
      }
    }

    @Test("what the cache knows is right after random fetches, commits, changes of others and evictions")
    func model() {
      var random = SeededGenerator(seed: 4)
      var model: [Int: [UInt8]] = [:]
      var cache = EntryCache()
      for step in 0..<4000 {
        switch random.below(10) {
        case 0:
          let low = random.below(400)
          let high = low + 1 + random.below(200)
          let rows = model.keys.filter { (low..<high).contains($0) }.sorted().map { row($0, model[$0] ?? []) }
          let held = rows.reduce(0) { $0 + $1.owner.byteCount }
          cache.insert(.init(low: Self.key(low), high: Self.key(high), rows: rows, keptByteCount: held), 1)
        case 1: cache.makeRoom(for: random.below(2000), limit: 8000)
        case 2:
          let low = random.below(600)
          cache.removeOverlapping(1, from: Self.key(low), to: random.chance(in: 2) ? Self.key(low + 30) : nil)
        case 3:
          // Another process changes a key.
          let number = random.below(600)
          model[number] = random.chance(in: 2) ? [UInt8(step & 255)] : nil
          Self.key(number).withUnsafeBytes { cache.remove(1, $0) }
        default:
          let number = random.below(600)
          let value = random.chance(in: 3) ? nil : Array(repeating: UInt8(step & 255), count: random.below(60))
          model[number] = value
          apply(&cache, number, value)
        }
        let probe = random.below(600)
        if let found = known(cache, probe) {
          #expect(found == (model[probe].map { [$0] } ?? []), "step \(step)")
        }
      }
      cache.makeRoom(for: 1 << 30, limit: 1 << 20)
      #expect(cache.byteCount == 0)
    }

    @Test("commits that insert at the end of a table keep the cache below its limit, in small ranges")
    func growth() {
      var cache = EntryCache()
      cache.insert(.init(low: [], high: nil, rows: []), 1)
      for number in 0..<20_000 {
        apply(&cache, number, Array(repeating: 1, count: 100))
        cache.makeRoom(for: 0, limit: 1_000_000)
        #expect(cache.byteCount <= 1_000_000)
      }
      #expect(known(cache, 19_999) != nil)
      #expect(known(cache, 0) == nil)
      let rows = Self.key(19_999).withUnsafeBytes { cache.range(1, at: $0)?.rows.count ?? 0 }
      #expect(rows <= EntryCache.Range.rowLimit)
    }

    @Test("one remaining row does not keep the memory of all rows that were fetched with it")
    func memory() throws {
      var cache = EntryCache()
      weak var owner: RowMemory?
      do {
        let rows = EntryRow.copies(of: (0..<400).map { row($0, Array(repeating: 1, count: 100)) })
        owner = rows[0].owner
        cache.insert(.init(low: [], high: nil, rows: rows), 1)
      }
      #expect(owner != nil)
      for number in 1..<400 { apply(&cache, number, nil) }
      #expect(owner == nil)
      #expect(known(cache, 0) == [Array(repeating: 1, count: 100)])
      #expect(cache.byteCount < 3000)
    }

    @Test("eviction keeps the ranges that were used last")
    func eviction() {
      var cache = EntryCache()
      for number in 0..<100 {
        cache.insert(.init(low: Self.key(number), high: Self.key(number + 1), rows: [row(number, [1])]), 1)
      }
      apply(&cache, 5, [2])
      cache.makeRoom(for: 0, limit: cache.byteCount - 1)
      #expect(known(cache, 99) == [[1]] && known(cache, 5) == [[2]])
      #expect(known(cache, 0) == nil && known(cache, 60) == [[1]])
    }

    @Test("a store that only inserts stays below the limit of its cache", .enabled(if: isAvailable))
    func insertions() throws {
      var options = PostgresOptions()
      options.cacheBytes = 1 << 20
      let fixture = try ClusterFixture(options: options, processes: 1)
      for round in 0..<40 {
        try fixture.write { tx in
          for number in 0..<500 {
            let key = Self.key(round * 500 + number)
            _ = try tx.value(fixture.table, key)
            try tx.put(fixture.table, key, Array(repeating: 1, count: 100))
          }
        }
        #expect(fixture.engines[0].cache.current.entries.byteCount <= 1 << 20)
      }
      #expect(try fixture.entries().count == 20_000)
    }

    @Test("a begin does not fetch the changes of the known commit, nor those of too many", .enabled(if: isAvailable))
    func commitLists() throws {
      let fixture = try ClusterFixture(processes: 1)
      let engine = fixture.engines[0]
      for number in 0..<3 { try fixture.write { tx in try tx.put(fixture.table, [UInt8(number)], [1]) } }
      let last = try fixture.engines[0].beginRead().stateNumber
      func lists(_ known: Int64) throws -> [(number: Int64?, isEmpty: Bool)] {
        let rows = try fixture.sql(CommitList.statement, [.int8(engine.store), .int8(known)])
        return (0..<rows.count).map { (rows.integer($0, 1), rows.bytes($0, 3).isEmpty) }
      }
      let number = Int64(last)
      #expect(try lists(number).map(\.isEmpty) == [true])
      #expect(try lists(number - 2).map(\.isEmpty) == [true, false, false])
      #expect(try lists(.max).map(\.number) == [number])
      #expect(try lists(number + 7).map(\.number) == [number])
      #expect(try lists(number - 300).map(\.number) == [number])
      let plan = try fixture.sql(
        "EXPLAIN (FORMAT TEXT) " + CommitList.statement, [.int8(engine.store), .int8(number)])
      let lines = (0..<plan.count).map { plan.text($0, 0) }
      #expect(lines.contains { $0.contains("Index Cond") && $0.contains("number >=") }, "\(lines)")
    }

    @Test(
      "bytes that a read returned are valid until the next change, also after the entries were counted",
      .enabled(if: isAvailable))
    func lentBytes() throws {
      let fixture = try ClusterFixture(processes: 1)
      let writer = try fixture.engines[0].beginWrite(label: "lent", timeout: .seconds(5), isDryRun: false)
      let value = Array(repeating: UInt8(7), count: 200_000)
      try ([1] as [UInt8]).withUnsafeBytes { key in
        try value.withUnsafeBytes { try writer.put(fixture.table, key, $0) }
        let lent = try #require(try writer.get(fixture.table, key))
        #expect(try writer.entryCount(fixture.table) == 1)
        // Takes the memory again if it was freed.
        let others = (0..<8).map { _ in Array(repeating: UInt8(9), count: 262_144) }
        #expect(lent.elementsEqual(value) && others.count == 8)
      }
      writer.abort()
    }
  }
#endif
