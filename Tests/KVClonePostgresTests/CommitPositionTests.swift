#if Postgres
  import Foundation
  import KVClone
  import KVCloneCore
  import KVCloneTestSupport
  import Testing

  @testable import KVClonePostgres

  @Suite("Positions of commits", .serialized)
  struct CommitPositionTests {
    private func kind(_ body: () throws -> Void) -> StoreError.Kind? {
      do {
        try body()
        return nil
      } catch { return (error as? StoreError)?.kind }
    }

    private func tagCount(_ store: ObjectStore, _ position: CommitPosition, timeout: Duration = .seconds(5)) throws
      -> Int
    {
      try PostgresCluster.read(store, atLeast: position, timeout: timeout) { tx in try tx.count(entity: "Tag") }
    }

    @Test("a position is the same after its text and its JSON, and other texts are none")
    func text() throws {
      let commit = SharedCache.Commit(number: 4711, token: CommitToken.random())
      let position = CommitPosition(store: UUID(), commit)
      let text = position.description
      #expect(CommitPosition(text) == position)
      #expect(text.utf8.count <= 90 && text.allSatisfy { $0.isLetter || $0.isNumber || $0 == "-" })
      #expect(try JSONDecoder().decode([CommitPosition].self, from: JSONEncoder().encode([position])) == [position])
      let wrong = ["", "kv1", text.dropLast(2).description, text + "00", "kv2" + text.dropFirst(3), "kv1--1" + text]
      for text in wrong { #expect(CommitPosition(text) == nil, "\(text)") }
      #expect(throws: DecodingError.self) {
        try JSONDecoder().decode([CommitPosition].self, from: Data(#"["x"]"#.utf8))
      }
    }

    @Test("an older state never replaces the cached one, and a lost commit is no floor for later reads")
    func order() {
      func commit(_ number: Int64, _ token: UInt8) -> SharedCache.Commit { .init(number: number, token: [token]) }
      let cache = SharedCache(byteLimit: 1000)
      cache.keep(EntryCache(), as: commit(7, 1))
      cache.keep(EntryCache(), as: commit(6, 1))
      #expect(cache.current.commit == commit(7, 1))
      let seen = SeenCommit()
      seen.note(commit(7, 1))
      seen.note(commit(6, 1))
      #expect(seen.commit == commit(7, 1))
      // A transaction of the primary that began when less was seen.
      seen.note(commit(5, 1), insteadOf: commit(4, 1))
      #expect(seen.commit == commit(7, 1))
      // One that began when the lost commit was seen.
      seen.note(commit(6, 2), insteadOf: commit(7, 1))
      #expect(seen.commit == commit(6, 2))
    }

    @Test(
      "a read that requires a commit of another process sees it", .enabled(if: ServerInstance.isAvailable, "no server"))
    func atLeast() async throws {
      let fixture = try StandbyFixture()
      let writer = try fixture.cluster(.primary).createStore("shop", model: CheckFixture.model)
      let reader = try fixture.cluster().openStore("shop")
      try fixture.catchUp()
      var options = StoreOptions()
      options.isReadOnly = true
      let onlyStandby = try fixture.cluster(.primary, fixture.standby.address).openStore("shop", options: options)
      #expect(kind { try onlyStandby.addTag("none") } == .readOnly)
      try fixture.pause()
      try writer.addTag("red")
      let text = try PostgresCluster.lastCommit(of: writer).description
      let position = try #require(CommitPosition(text))
      #expect(try reader.tagCount() == 0)
      #expect(try tagCount(writer, position) == 1)
      #expect(try await PostgresCluster.read(reader, atLeast: position) { tx in try tx.count(entity: "Tag") } == 1)
      #expect(try reader.tagCount() == 1)
      #expect(try PostgresCluster.lastCommit(of: reader) == position)
      #expect(kind { _ = try tagCount(onlyStandby, position, timeout: .milliseconds(30)) } == .busy)
      #expect(try onlyStandby.tagCount() == 0)
      try fixture.standby.sql("SELECT pg_wal_replay_resume()")
      #expect(try tagCount(onlyStandby, position, timeout: .seconds(30)) == 1)
      // The standby serves a required commit that it has.
      try fixture.catchUp()
      let again = try fixture.cluster().openStore("shop")
      #expect(try tagCount(again, position) == 1)
      #expect(again.standbyRoundTrips > 0)
      let strange = try fixture.cluster().createStore("other", model: CheckFixture.model)
      #expect(kind { try PostgresCluster.read(strange, atLeast: position) { _ in } } == .commitLost)
    }

    @Test(
      "a commit that a failover has lost is an error for reads that require it, and no others",
      .enabled(if: ServerInstance.isAvailable, "no server"))
    func lostCommit() throws {
      let fixture = try StandbyFixture()
      let stores = try [fixture.cluster(.primary), fixture.cluster()].map { cluster in
        try cluster.openStore("shop", model: CheckFixture.model)
      }
      try stores[0].addTag("kept")
      try fixture.catchUp()
      let kept = try PostgresCluster.lastCommit(of: stores[0])
      fixture.standby.stop("fast")
      try stores[0].addTag("lost")
      let lost = try PostgresCluster.lastCommit(of: stores[0])
      #expect(try stores[1].tagCount() == 2)
      fixture.primary.kill()
      try fixture.standby.start()
      try fixture.standby.promote()
      for store in stores {
        #expect(kind { try PostgresCluster.read(store, atLeast: lost) { _ in } } == .commitLost)
        #expect(try tagCount(store, kept) == 1)
        #expect(try store.tagCount() == 1)
        #expect(try PostgresCluster.lastCommit(of: store) == kept)
      }
      // Another commit with the number of the lost one.
      try stores[1].addTag("new")
      #expect(try PostgresCluster.lastCommit(of: stores[1]).number == lost.number)
      for store in stores {
        #expect(kind { try PostgresCluster.read(store, atLeast: lost) { _ in } } == .commitLost)
        #expect(try store.tagCount() == 2)
      }
    }
  }

  extension ObjectStore {
    fileprivate var standbyRoundTrips: Int { (engine as? PostgresEngine)?.standbys?.pool.roundTrips.count ?? 0 }
  }
#endif
