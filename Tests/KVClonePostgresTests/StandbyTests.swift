#if Postgres
  import Foundation
  import KVClone
  import KVCloneCore
  import KVCloneRecords
  import KVCloneTestSupport
  import Testing

  @testable import KVClonePostgres

  /// `KVCLONE_POSTGRES_ROUNDS` is the number of rounds of random interleavings, 60 by default.
  @Suite("Reads from standbys", .serialized, .enabled(if: ServerInstance.isAvailable, "no PostgreSQL server"))
  struct StandbyTests {
    private static let rounds = ProcessInfo.processInfo.environment["KVCLONE_POSTGRES_ROUNDS"].flatMap(Int.init) ?? 60

    @Test("reads use a standby and begin in one round trip, and opening and writing use the primary")
    func route() throws {
      let fixture = try StandbyFixture()
      let cluster = fixture.cluster()
      let store = try cluster.createStore("shop", model: CheckFixture.model)
      try store.addTag("red")
      let standbys = try #require(cluster.standbys)
      #expect(standbys.pool.roundTrips.count == 0)
      try fixture.catchUp()
      #expect(try store.readsOnStandby)
      let (before, beforePrimary) = (standbys.pool.roundTrips.count, cluster.pool.roundTrips.count)
      #expect(try store.readsOnStandby)
      #expect(standbys.pool.roundTrips.count - before == 1)
      #expect(cluster.pool.roundTrips.count == beforePrimary)
      #expect(try store.tagCount() == 1)
      #expect(try fixture.connectionCount(fixture.standby) == 1)
      #expect(try fixture.cluster().status().role == .primary)
      #expect(try fixture.cluster(.primary, fixture.standby.address).status().role == .standby)
    }

    @Test("an open store sees its own commits and what it has seen, and other stores see the state of the standby")
    func ownCommits() throws {
      let fixture = try StandbyFixture()
      let (one, two) = (fixture.cluster(), fixture.cluster())
      let store = try one.createStore("shop", model: CheckFixture.model)
      let other = try two.openStore("shop")
      try fixture.pause()
      try store.addTag("red")
      #expect(try store.tagCount() == 1)
      #expect(try !store.readsOnStandby)
      #expect(try other.tagCount() == 0)
      #expect(try other.readsOnStandby)
      // A write transaction sees the last state, behind which its store does not go back.
      let count = try other.write { tx in try tx.count(entity: "Tag") }
      #expect(count == 1)
      #expect(try other.tagCount() == 1)
      #expect(try !other.readsOnStandby)
      try fixture.resume()
      #expect(try store.readsOnStandby && other.readsOnStandby)
      #expect(try store.tagCount() == 1)
      #expect(try other.tagCount() == 1)
    }

    @Test("a standby that is further behind than the maximum is not used")
    func maximumLag() throws {
      let fixture = try StandbyFixture()
      let writer = try fixture.cluster(.primary).createStore("shop", model: CheckFixture.model)
      let recent = try fixture.cluster(.standby(maximumLag: .zero)).openStore("shop")
      let patient = try fixture.cluster().openStore("shop")
      try fixture.pause()
      try writer.addTag("red")
      try fixture.wait("the standby has received the commit") {
        try fixture.standby.sql("SELECT pg_last_wal_receive_lsn() > pg_last_wal_replay_lsn()") == "t"
      }
      #expect(try !recent.readsOnStandby)
      #expect(try recent.tagCount() == 1)
      #expect(try patient.readsOnStandby)
      #expect(try patient.tagCount() == 0)
      try fixture.resume()
      try fixture.wait("the standby is used again") { try recent.readsOnStandby }
    }

    @Test("without a standby, the primary serves, also if the standby ends, and a standby is used again after it")
    func unavailableStandby() throws {
      let fixture = try StandbyFixture()
      let table = try fixture.makeStore()
      let alone = try fixture.engine(fixture.cluster(.standby(maximumLag: .seconds(3600)), fixture.primary.address))
      #expect(try !alone.readsOnStandby)
      let engine = try fixture.engine(fixture.cluster(cacheBytes: 0))
      try fixture.write(alone) { tx in try tx.put(table, [1], [1]) }
      try fixture.catchUp()
      #expect(try engine.readsOnStandby)
      let reader = StorageTransaction(try engine.beginRead())
      fixture.standby.stop()
      #expect(readFailure(reader) { tx throws(StoreError) in _ = try tx.value(table, [1]) } == .io)
      _ = consume reader
      #expect(try !engine.readsOnStandby)
      let next = StorageTransaction(try engine.beginRead())
      #expect(try next.value(table, [1]) == [1])
      _ = consume next
      try fixture.standby.start()
      try fixture.wait("the standby is used again") { try engine.readsOnStandby }
    }

    @Test("a standby that was promoted is no standby any more")
    func promotedStandby() throws {
      let fixture = try StandbyFixture()
      let table = try fixture.makeStore()
      let engine = try fixture.engine(fixture.cluster())
      try fixture.write(engine) { tx in try tx.put(table, [1], [1]) }
      try fixture.catchUp()
      #expect(try engine.readsOnStandby)
      fixture.primary.stop()
      try fixture.standby.promote()
      #expect(try !engine.readsOnStandby)
      try fixture.write(engine) { tx in try tx.put(table, [2], [2]) }
      let reader = StorageTransaction(try engine.beginRead())
      #expect(try reader.entries(table).map(\.key) == [[1], [2]])
    }

    @Test("a read that conflicts with the replay is an error with a remedy, and a repeated one succeeds")
    func conflict() throws {
      let fixture = try StandbyFixture(standbySettings: ["max_standby_streaming_delay": "0"])
      let table = try fixture.makeStore()
      let engine = try fixture.engine(fixture.cluster())
      let writer = try fixture.engine(fixture.cluster(.primary))
      try fixture.write(writer) { tx in try tx.put(table, [1], [1]) }
      try fixture.catchUp()
      let backend = try engine.beginRead()
      #expect((backend as? PostgresReader)?.isOnStandby ?? false)
      let reader = StorageTransaction(backend)
      try fixture.write(writer) { tx in try tx.put(table, [1], [2]) }
      try fixture.primary.sql("VACUUM kvclone.entry")
      try fixture.catchUp()
      do {
        _ = try reader.value(table, [1])
        Issue.record("the standby kept the rows")
      } catch {
        #expect(error.kind == .busy && error.message.contains("hot_standby_feedback"), "\(error.message)")
      }
      _ = consume reader
      let next = StorageTransaction(try engine.beginRead())
      #expect(try next.value(table, [1]) == [2])
    }

    @Test("a pinned snapshot is a transaction of the standby, and keeps its state")
    func pinnedSnapshot() throws {
      let fixture = try StandbyFixture()
      let store = try fixture.cluster().createStore("shop", model: CheckFixture.model)
      try store.addTag("red")
      try fixture.catchUp()
      let snapshot = try store.pinnedSnapshot(owner: "test")
      #expect(try fixture.connectionCount(fixture.standby, "state = 'idle in transaction'") == 1)
      try store.addTag("green")
      try fixture.catchUp()
      #expect(try snapshot.read { tx in try tx.count(entity: "Tag") } == 1)
      #expect(try store.tagCount() == 2)
      snapshot.close()
    }

    @Test("listeners learn of commits of this process at once, and of others after their replay")
    func listeners() throws {
      let fixture = try StandbyFixture()
      let table = try fixture.makeStore()
      let engine = try fixture.engine(fixture.cluster())
      let other = try fixture.engine(fixture.cluster(.primary))
      let numbers = Locked<[UInt64]>([])
      let watch = engine.watchCommits { [weak engine] in
        guard let number = try? engine?.beginRead().stateNumber else { return }
        numbers.withLock { $0.append(number) }
      }
      try fixture.pause()
      try fixture.write(engine) { tx in try tx.put(table, [1], [1]) }
      let own = try #require(engine.seen.commit).number
      #expect(numbers.withLock { $0.contains(UInt64(own)) })
      try fixture.resume()
      try fixture.write(other) { tx in try tx.put(table, [2], [2]) }
      try fixture.wait("the commit is noticed") { numbers.withLock { $0.contains(UInt64(own + 1)) } }
      _ = watch
    }

    @Test("no read mixes or repeats states with random pauses of the replay", arguments: [1, 2] as [UInt64])
    func interleavings(seed: UInt64) throws {
      let fixture = try StandbyFixture()
      let table = try fixture.makeStore()
      let writer = try fixture.engine(fixture.cluster())
      let readers = try [
        writer, fixture.engine(fixture.cluster()), fixture.engine(fixture.cluster(cacheBytes: 0)),
        fixture.engine(fixture.cluster(.primary)),
      ]
      try fixture.catchUp()
      var random = SeededGenerator(seed: seed)
      var states: [UInt64: [[UInt8]: [UInt8]]] = [try newest(writer): [:]]
      var last = try #require(states.keys.first)
      var seen = Array(repeating: UInt64(0), count: readers.count)
      var (standbyCount, primaryCount, oldCount) = (0, 0, 0)
      for round in 0..<Self.rounds {
        if round % 10 == 3 { try fixture.standby.sql("SELECT pg_wal_replay_pause()") }
        if round % 10 == 8 { try fixture.standby.sql("SELECT pg_wal_replay_resume()") }
        if random.chance(in: 2) || round % 10 == 5 {
          var next = states[last] ?? [:]
          try fixture.write(writer) { tx in
            for _ in 0..<1 + random.below(8) {
              let key = [UInt8(random.below(4)), UInt8(random.below(20))]
              if random.chance(in: 4) {
                _ = try tx.delete(table, key)
                next[key] = nil
              } else {
                let value = [UInt8(random.below(256))]
                try tx.put(table, key, value)
                next[key] = value
              }
            }
          }
          last = UInt64(try #require(writer.seen.commit).number)
          states[last] = next
        }
        for (index, engine) in readers.enumerated() {
          let backend = try engine.beginRead()
          let number = backend.stateNumber
          if (backend as? PostgresReader)?.isOnStandby ?? false {
            standbyCount += 1
          } else if engine.standbys != nil {
            primaryCount += 1
          }
          if number < last { oldCount += 1 }
          #expect(number >= seen[index], "seed \(seed), round \(round)")
          if engine === writer { #expect(number == last, "seed \(seed), round \(round)") }
          seen[index] = number
          let expected = try #require(states[number])
          let reader = StorageTransaction(backend)
          let key = [UInt8(random.below(4)), UInt8(random.below(20))]
          let value = try reader.value(table, key)
          #expect(value == expected[key], "seed \(seed), round \(round)")
          if random.chance(in: 3) {
            let all = try reader.entries(table)
            #expect(Dictionary(uniqueKeysWithValues: all.map { ($0.key, $0.value) }) == expected, "seed \(seed)")
          }
        }
      }
      try fixture.standby.sql("SELECT pg_wal_replay_resume()")
      // Otherwise, the rounds have proved nothing.
      #expect(standbyCount > 0 && primaryCount > 0 && oldCount > 0)
    }

    private func newest(_ engine: PostgresEngine) throws -> UInt64 { try engine.beginRead().stateNumber }
  }
#endif
