#if Postgres
  import Foundation
  import KVClone
  import KVCloneCore
  import KVCloneRecords
  import KVCloneTestSupport
  import Testing

  @testable import KVClonePostgres

  @Suite("A store in a cluster", .serialized, .enabled(if: ClusterFixture.isAvailable, "KVCLONE_POSTGRES names none"))
  struct EngineTests {
    @Test("a cached small write takes two round trips, a read transaction one, and 1,000 ids two fetches")
    func roundTrips() throws {
      let fixture = try ClusterFixture(processes: 1)
      let trips = fixture.clusters[0].pool.roundTrips
      func counted(_ body: () throws -> Void) rethrows -> Int {
        let before = trips.count
        try body()
        return trips.count - before
      }
      try fixture.write { tx in
        for number in 0..<5000 {
          try tx.put(fixture.table, withUnsafeBytes(of: UInt64(number).bigEndian) { Array($0) }, [1])
        }
      }
      func write() throws {
        try fixture.write { tx in
          _ = try tx.value(fixture.table, [0, 0, 0, 0, 0, 0, 0, 7])
          try tx.put(fixture.table, [0, 0, 0, 0, 0, 0, 0, 7], [2])
        }
      }
      try write()
      #expect(try counted(write) == 2)
      #expect(try counted(write) == 2)
      let reads = try counted {
        let reader = StorageTransaction(try fixture.engines[0].beginRead())
        let value = try reader.value(fixture.table, [0, 0, 0, 0, 0, 0, 0, 7])
        #expect(value == [2])
      }
      #expect(reads == 1)
      let fetches = try counted {
        let reader = StorageTransaction(try fixture.engines[0].beginRead())
        let ids = (0..<1000).map { ObjectID(rawValue: UInt64($0 * 5)) }
        reader.prefetch(fixture.table, ids[...])
        for id in ids {
          let value = try reader.value(fixture.table, withUnsafeBytes(of: id.rawValue.bigEndian) { Array($0) })
          #expect(value != nil)
        }
      }
      #expect(fetches <= 3)
    }

    @Test("two processes with caches never read stale entries", arguments: [1, 2, 3] as [UInt64], [32 << 20, 0])
    func staleReads(seed: UInt64, cacheBytes: Int) throws {
      var options = PostgresOptions()
      options.cacheBytes = cacheBytes
      let fixture = try ClusterFixture(options: options)
      var random = SeededGenerator(seed: seed)
      var model: [[UInt8]: [UInt8]] = [:]
      for round in 0..<60 {
        let process = random.below(2)
        var next = model
        try fixture.write(process) { tx in
          for _ in 0..<random.below(12) {
            let key = [UInt8(random.below(8)), UInt8(random.below(20))]
            let value = try tx.value(fixture.table, key)
            #expect(value == next[key], "seed \(seed), round \(round)")
            if random.chance(in: 4) {
              let existed = try tx.delete(fixture.table, key)
              #expect(existed == (next.removeValue(forKey: key) != nil), "seed \(seed), round \(round)")
            } else {
              let value = [UInt8(random.below(256))]
              try tx.put(fixture.table, key, value)
              next[key] = value
            }
          }
        }
        model = next
        for process in 0..<2 where random.chance(in: 2) {
          let reader = StorageTransaction(try fixture.engines[process].beginRead())
          let key = [UInt8(random.below(8)), UInt8(random.below(20))]
          let value = try reader.value(fixture.table, key)
          #expect(value == model[key], "seed \(seed), round \(round)")
          let entry = try reader.entry(fixture.table, key, .atOrBefore)
          let expected = model.keys.filter { !key.lexicographicallyPrecedes($0) }.max {
            $0.lexicographicallyPrecedes($1)
          }
          #expect(entry?.key == expected, "seed \(seed), round \(round)")
          if random.chance(in: 4) {
            let all = try reader.entries(fixture.table)
            #expect(Dictionary(uniqueKeysWithValues: all.map { ($0.key, $0.value) }) == model, "seed \(seed)")
          }
        }
      }
    }

    @Test("a read transaction keeps its state while another process writes")
    func isolation() throws {
      let fixture = try ClusterFixture()
      try fixture.write { tx in try tx.put(fixture.table, [1], [1]) }
      let reader = StorageTransaction(try fixture.engines[1].beginRead())
      try fixture.write { tx in
        try tx.put(fixture.table, [1], [2])
        try tx.put(fixture.table, [2], [2])
      }
      let before = try reader.entries(fixture.table)
      #expect(before.map(\.value) == [[1]])
      #expect(try fixture.entries(1).map(\.value) == [[2], [2]])
    }

    @Test("installing the schema again waits for no open transaction")
    func installsBesideReaders() throws {
      let fixture = try ClusterFixture(processes: 1)
      try fixture.write { tx in try tx.put(fixture.table, [1], [1]) }
      let reader = StorageTransaction(try fixture.engines[0].beginRead())
      let count = try reader.entries(fixture.table).count
      // Otherwise the server waits for the reader, which does not end.
      let impatient = PostgresCluster((PostgresServer.address ?? "") + " options='-c lock_timeout=2000'")
      try impatient.install()
      impatient.close()
      let again = try reader.entries(fixture.table).count
      #expect(count == 1 && again == 1)
    }

    @Test("only one process writes; the other is busy after its timeout, and gets the holder's label")
    func exclusion() throws {
      let fixture = try ClusterFixture()
      let first = try fixture.engines[0].beginWrite(label: "import", timeout: .seconds(5), isDryRun: false)
      expectError(.busy) {
        _ = try fixture.engines[1].beginWrite(label: "other", timeout: .milliseconds(50), isDryRun: false)
      }
      #expect(fixture.engines[1].writer()?.label == "import")
      try first.commit()
      let second = try fixture.engines[1].beginWrite(label: "other", timeout: .seconds(60), isDryRun: false)
      second.abort()
      #expect(fixture.engines[1].writer() == nil)
    }

    @Test("a connection that ends before the commit changes nothing, and the error says so")
    func connectionLost() throws {
      let fixture = try ClusterFixture()
      try fixture.write { tx in try tx.put(fixture.table, [1], [1]) }
      let writer = try fixture.engines[1].beginWrite(label: "lost", timeout: .seconds(5), isDryRun: false)
      var transaction = StorageTransaction(writer)
      try transaction.put(fixture.table, [1], [2])
      try fixture.sql(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name LIKE 'kvclone writes %: lost'")
      #expect(commitFailure(transaction) == .io)
      #expect(try fixture.entries().map(\.value) == [[1]])
      #expect(try fixture.entries(1).map(\.value) == [[1]])
      try fixture.write(1) { tx in try tx.put(fixture.table, [1], [3]) }
      #expect(try fixture.entries().map(\.value) == [[3]])
    }

    @Test("a writer that stops is fenced after its idle limit, and fails when it goes on")
    func fenced() throws {
      var options = PostgresOptions()
      options.writerIdleLimit = .seconds(3)
      let fixture = try ClusterFixture(options: options)
      var stopped = StorageTransaction(
        try fixture.engines[0].beginWrite(label: "stopped", timeout: .seconds(5), isDryRun: false))
      try stopped.put(fixture.table, [1], [1])
      try fixture.write(1) { tx in try tx.put(fixture.table, [2], [2]) }
      #expect(commitFailure(stopped) == .io)
      #expect(try fixture.entries().map(\.key) == [[2]])
    }

    @Test("a store with the name exists; one without it does not; a dropped one is gone for those that have it open")
    func names() throws {
      let fixture = try ClusterFixture(processes: 1)
      let cluster = fixture.clusters[0]
      expectError(.storeExists) {
        try PostgresEngine.create(cluster, name: fixture.server.name, tables: [], .metadata, [])
      }
      expectError(.storeNotFound) { _ = try PostgresEngine(cluster, name: "missing") }
      expectError(.storeNotFound) { try cluster.drop("missing") }
      #expect(try cluster.stores().contains { $0.name == fixture.server.name })
      try cluster.drop(fixture.server.name)
      expectError(.storeNotFound) { _ = try fixture.engines[0].beginRead() }
      expectError(.storeNotFound) {
        _ = try fixture.engines[0].beginWrite(label: "", timeout: .seconds(1), isDryRun: false)
      }
    }

    @Test(
      "a server that cannot be reached, a missing database and a missing schema are typed errors with a remedy",
      arguments: [
        ("host=/nonexistent", StoreError.Kind.io), ("dbname=nonexistent", .storeNotFound),
      ])
    func unreachable(change: String, kind: StoreError.Kind) throws {
      let cluster = PostgresCluster((PostgresServer.address ?? "") + " " + change)
      do throws(StoreError) {
        _ = try cluster.stores()
        Issue.record("no error")
      } catch {
        #expect(error.kind == kind)
        #expect(error.message.contains("; "), "no remedy: \(error.message)")
      }
    }
  }
#endif
