#if Postgres
  import KVClone
  import KVCloneCore
  import KVCloneRecords
  import KVCloneTestSupport
  import Testing

  @testable import KVClonePostgres

  @Suite("Reads from standbys of moved stores", .enabled(if: ServerInstance.isAvailable, "no PostgreSQL server"))
  struct StandbyMoveTests {
    @Test("a store that has arrived is read from the primary while the standby still refuses it")
    func arrived() throws {
      let fixture = try StandbyFixture()
      _ = try fixture.makeStore()
      let cluster = fixture.cluster()
      let engine = try fixture.engine(cluster)
      try fixture.primary.sql("UPDATE kvclone.store SET state = \(MoveState.arrived)")
      try fixture.pause()
      #expect(throws: StoreError.self) { try engine.beginRead() }
      try fixture.primary.sql("UPDATE kvclone.store SET state = 0")
      #expect(try !engine.readsOnStandby)
      try fixture.resume()
      #expect(try engine.readsOnStandby)
    }

    @Test("reads of a store that was moved away do not end the use of standbys for other stores")
    func moved() throws {
      let fixture = try StandbyFixture()
      _ = try fixture.makeStore()
      let cluster = fixture.cluster()
      cluster.standbys?.intervals.unreachable = .seconds(3600)
      cluster.standbys?.intervals.behind = .seconds(3600)
      let engine = try fixture.engine(cluster)
      try PostgresEngine.create(cluster, name: "other", tables: [], .metadata, [])
      let other = try PostgresEngine(cluster, name: "other")
      other.beginUseOfStandbys()
      try fixture.primary.sql("UPDATE kvclone.store SET state = \(MoveState.moved) WHERE name = 'entries'")
      try fixture.catchUp()
      for _ in 0..<2 {
        do {
          _ = try engine.beginRead()
          Issue.record("a moved store was read")
        } catch {
          #expect(error.kind == .storeMoved)
        }
        #expect(try other.readsOnStandby)
      }
    }
  }
#endif
