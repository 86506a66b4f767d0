#if Postgres
  import Foundation
  import KVClone
  import KVCloneCore
  import KVCloneRecords
  import KVCloneTestSupport
  import Testing

  @testable import KVClonePostgres

  @Suite(
    "Entries that a write transaction reads ahead", .serialized,
    .enabled(if: ClusterFixture.isAvailable, "KVCLONE_POSTGRES names none"))
  struct ReadAheadTests {
    private static func fixture(connections: Int = 8) throws -> ClusterFixture {
      var options = PostgresOptions()
      options.connections = connections
      let fixture = try ClusterFixture(options: options, processes: 1)
      try fixture.write { tx in
        for number in 0..<6000 { try tx.put(fixture.table, EntryModel.bytes(number), [UInt8(number & 255)]) }
      }
      fixture.engines[0].cache.forget()
      return fixture
    }

    /// The last commit of the store, and an object that reads ahead as of it.
    private static func readAhead(_ fixture: ClusterFixture) throws -> ReadAhead {
      let engine = fixture.engines[0]
      _ = try engine.beginRead()
      return ReadAhead(engine, try #require(engine.seen.commit))
    }

    private static func entries(
      _ ahead: ReadAhead, _ table: UInt32, from number: Int, isBetween: Bool = false
    ) -> ReadAhead.Entries? {
      EntryModel.bytes(number).withUnsafeBytes { ahead.entries(table, from: $0, isBetween: isBetween) }
    }

    @Test("a transaction that has read ahead leaves the other connections to other threads")
    func connections() throws {
      let fixture = try Self.fixture(connections: 3)
      let pool = fixture.clusters[0].pool
      let tx = StorageTransaction(
        try fixture.engines[0].beginWrite(label: "test", timeout: .seconds(10), isDryRun: false))
      #expect(try tx.entries(fixture.table).count == 6000)
      let isFound = Locked(false)
      let group = DispatchGroup()
      DispatchQueue.global().async(group: group) {
        guard let connection = try? pool.take(until: .now + .seconds(10)) else { return }
        pool.give(back: connection)
        isFound.withLock { $0 = true }
      }
      group.wait()
      #expect(isFound.withLock { $0 })
      #expect(try tx.entryCount(fixture.table) == 6000)
    }

    @Test("entries that were not needed are replaced, and those of another table are not")
    func replacement() throws {
      let fixture = try Self.fixture()
      let ahead = try Self.readAhead(fixture)
      let (table, other) = (fixture.table.handle, UInt32(TableCode.blobs.rawValue))
      ahead.begin(table, from: EntryModel.bytes(0), limit: 600)
      ahead.begin(other, from: [], limit: 600)
      // Read one after the other: the first ones are there, too.
      #expect(ahead.entries(other, from: .noBytes, isBetween: false)?.rows.count == 0)
      #expect(Self.entries(ahead, table, from: 3000) == nil)
      ahead.begin(table, from: EntryModel.bytes(3000), limit: 600)
      #expect(Self.entries(ahead, table, from: 0) == nil)
      #expect(Self.entries(ahead, table, from: 3000)?.rows.count == 600)
      #expect(Self.entries(ahead, table, from: 3000) == nil)
      ahead.begin(table, from: EntryModel.bytes(100), limit: 600)
      #expect(Self.entries(ahead, table, from: 150) == nil)
      #expect(Self.entries(ahead, table, from: 700, isBetween: true) == nil)
      #expect(Self.entries(ahead, table, from: 699, isBetween: true)?.low == EntryModel.bytes(100))
    }

    @Test("entries between keys that were sent, and those as of another commit, are not used")
    func staleEntries() throws {
      let fixture = try Self.fixture()
      let table = fixture.table.handle
      /// Whether 600 entries behind the thousandth one are used.
      func isUsed(_ sent: ClosedRange<Int>, isToEnd: Bool = false) throws -> Bool {
        let ahead = try Self.readAhead(fixture)
        ahead.begin(table, from: EntryModel.bytes(1000), limit: isToEnd ? 10_000 : 600)
        ahead.noteSent(table, from: EntryModel.bytes(sent.lowerBound), through: EntryModel.bytes(sent.upperBound))
        return Self.entries(ahead, table, from: 1000) != nil
      }
      #expect(try isUsed(0...999))
      #expect(try !isUsed(0...1000))
      #expect(try !isUsed(1599...1700))
      #expect(try isUsed(1600...1700))
      #expect(try !isUsed(1600...1700, isToEnd: true))
      #expect(try !isUsed(7000...7000, isToEnd: true))
      let before = try Self.readAhead(fixture)
      try fixture.write { tx in try tx.put(fixture.table, EntryModel.bytes(1), [1]) }
      before.begin(table, from: EntryModel.bytes(1000), limit: 600)
      #expect(Self.entries(before, table, from: 1000) == nil)
      let seen = try #require(fixture.engines[0].seen.commit)
      let other = ReadAhead(fixture.engines[0], SharedCache.Commit(number: seen.number, token: CommitToken.random()))
      other.begin(table, from: EntryModel.bytes(1000), limit: 600)
      #expect(Self.entries(other, table, from: 1000) == nil)
    }
  }
#endif
