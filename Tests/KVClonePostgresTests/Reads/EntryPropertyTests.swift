#if Postgres
  import Foundation
  import KVClone
  import KVCloneLMDB
  import KVCloneRecords
  import KVCloneTestSupport
  import Testing

  @testable import KVCloneCore
  @testable import KVClonePostgres

  /// Reads of a large table in write and read transactions, compared with a model. A failure prints its seed, which
  /// `KVCLONE_SEEDS` repeats. `KVCLONE_POSTGRES_ROUNDS` is the number of transactions, 4 by default.
  @Suite(
    "Entries of a large table, compared with a model", .serialized,
    .enabled(if: ClusterFixture.isAvailable, "KVCLONE_POSTGRES names none"))
  struct EntryPropertyTests {
    private static let rounds = ProcessInfo.processInfo.environment["KVCLONE_POSTGRES_ROUNDS"].flatMap(Int.init) ?? 4

    @Test(
      "scans, seeks and announced reads, between changes that are sent early, rolled back or of another process",
      arguments: PropertySeeds.seeds, [0, 32 << 20])
    func random(seed: UInt64, cacheBytes: Int) throws {
      var options = PostgresOptions()
      options.cacheBytes = cacheBytes
      let fixture = try ClusterFixture(options: options)
      var random = SeededGenerator(seed: seed)
      var committed = EntryModel()
      try fixture.write { tx in try committed.appendRun(&tx, fixture.table, count: 12_000, &random) }
      for round in 0..<Self.rounds {
        let engine = fixture.engines[random.below(2)]
        var model = committed
        model.comment = "seed \(seed), cacheBytes \(cacheBytes), round \(round)"
        let isDryRun = random.chance(in: 8)
        var tx = StorageTransaction(try engine.beginWrite(label: "test", timeout: .seconds(10), isDryRun: isDryRun))
        for _ in 0..<40 {
          if random.chance(in: 8) {
            let savepoint = try tx.beginSavepoint { NSTemporaryDirectory() }
            let before = model
            for _ in 0..<4 { try model.step(&tx, fixture.table, &random) }
            if random.chance(in: 2) {
              try tx.rollBack(to: savepoint)
              model = before
            } else {
              tx.release(savepoint)
            }
          } else {
            try model.step(&tx, fixture.table, &random)
          }
        }
        if random.chance(in: 4) {
          _ = consume tx
        } else {
          try tx.commit()
          if !isDryRun { committed = model }
        }
        let read = StorageTransaction(try fixture.engines[random.below(2)].beginRead())
        committed.comment = model.comment
        for _ in 0..<15 { try committed.read(read, fixture.table, &random) }
        try committed.expectAll(read, fixture.table)
      }
    }

    @Test("a scan passes each entry once if an earlier read has fetched some of them")
    func overlap() throws {
      var options = PostgresOptions()
      options.cacheBytes = 0
      let fixture = try ClusterFixture(options: options, processes: 1)
      var model = EntryModel()
      var random = SeededGenerator(seed: 1)
      try fixture.write { tx in try model.appendRun(&tx, fixture.table, count: 10_000, &random) }
      // A read fetches 128 entries, and a scan ends a large fetch at one of these places.
      for place in stride(from: 7500, to: 8500, by: 117) {
        let read = StorageTransaction(try fixture.engines[0].beginRead())
        _ = try read.value(fixture.table, EntryModel.bytes(model.keys[place]))
        try model.expectAll(read, fixture.table)
      }
    }

    @Test("one long scan does not fetch behind its end, and short scans that ascend do")
    func ends() throws {
      let fixture = try ClusterFixture(processes: 1)
      let engine = fixture.engines[0]
      var model = EntryModel()
      var random = SeededGenerator(seed: 1)
      try fixture.write { tx in try model.appendRun(&tx, fixture.table, count: 6000, &random) }
      /// Whether scans fetch the entry with a number.
      func fetches(_ index: Int, _ scans: [Range<Int>]) throws -> Bool {
        engine.cache.forget()
        do {
          let read = StorageTransaction(try engine.beginRead())
          for scan in scans {
            try model.expectScan(
              from: model.keys[scan.lowerBound], before: model.keys[scan.upperBound], read, fixture.table)
          }
        }
        let cache = engine.cache.current.entries
        return EntryModel.bytes(model.keys[index]).withUnsafeBytes { cache.range(fixture.table.handle, at: $0) != nil }
      }
      // 128, 256 and 512 entries, and the rest.
      #expect(try !fetches(1550, [0..<1500]))
      #expect(try fetches(250, (0..<10).map { $0 * 10..<$0 * 10 + 5 }))
    }
  }
#endif
