#if Postgres
  import Foundation
  import KVClone
  import KVCloneCore
  import KVCloneRecords
  import KVCloneTestSupport
  import Testing

  @testable import KVClonePostgres

  @Suite(
    "Lost connections to a cluster", .serialized,
    .enabled(if: ClusterFixture.isAvailable, "KVCLONE_POSTGRES names none"))
  struct LossTests {
    private func write(
      _ fixture: ClusterFixture, _ engine: PostgresEngine, _ key: [UInt8], _ value: [UInt8],
      beforeCommit: () throws -> Void = {}
    ) throws -> StoreError.Kind? {
      var transaction = StorageTransaction(
        try engine.beginWrite(label: "test", timeout: .seconds(5), isDryRun: false))
      try transaction.put(fixture.table, key, value)
      try beforeCommit()
      return commitFailure(transaction)
    }

    @Test("a connection that is lost before COMMIT arrives changes nothing")
    func lostBeforeCommit() throws {
      let fixture = try ClusterFixture(processes: 1)
      let proxy = try ServerProxy(fixture)
      defer { proxy.stop() }
      let engine = try fixture.engine(proxy.address)
      #expect(try write(fixture, engine, [1], [1], beforeCommit: { proxy.set(.loseCommit) }) == .io)
      #expect(try fixture.entries().isEmpty)
      #expect(try write(fixture, engine, [1], [2]) == nil)
      #expect(try fixture.entries().map(\.value) == [[2]])
    }

    @Test("a connection that is lost after COMMIT took effect is a success, and listeners hear of it")
    func lostAfterCommit() throws {
      let fixture = try ClusterFixture(processes: 1)
      let proxy = try ServerProxy(fixture)
      defer { proxy.stop() }
      var options = PostgresOptions()
      options.watchInterval = .seconds(3600)
      let engine = try fixture.engine(proxy.address, options: options)
      let notes = Locked(0)
      let watch = engine.watchCommits { notes.withLock { $0 += 1 } }
      #expect(try write(fixture, engine, [1], [1], beforeCommit: { proxy.set(.loseAnswer) }) == nil)
      #expect(notes.withLock { $0 } == 1)
      #expect(try fixture.entries().map(\.value) == [[1]])
      #expect(try write(fixture, engine, [1], [2]) == nil)
      #expect(try fixture.entries().map(\.value) == [[2]])
      _ = watch
    }

    @Test("a commit that the server no longer lists is unknown, not a failure")
    func forgottenCommit() throws {
      let fixture = try ClusterFixture(processes: 1)
      let proxy = try ServerProxy(fixture)
      defer { proxy.stop() }
      let engine = try fixture.engine(proxy.address)
      let pool = fixture.clusters[0].pool
      let store = PostgresValue.int8(engine.store)
      let kind = try write(fixture, engine, [1], [1]) {
        proxy.set(.loseAnswer) {
          // Other processes commit so much that the row is deleted.
          _ = try? pool.run([
            PostgresStatement("UPDATE kvclone.store SET number = number + 5000 WHERE id = $1", [store]),
            PostgresStatement("UPDATE kvclone.commit SET number = number + 5000 WHERE store = $1", [store]),
          ])
        }
      }
      #expect(kind == .commitOutcomeUnknown)
    }

    @Test("the lookup of an outcome ends after its time, though a server accepts connections and answers nothing")
    func silentServer() throws {
      let fixture = try ClusterFixture(processes: 1)
      let proxy = try ServerProxy(fixture)
      defer { proxy.stop() }
      var options = PostgresOptions()
      options.resolveTimeout = .seconds(1)
      let engine = try fixture.engine(proxy.address + " connect_timeout=2", options: options)
      #expect(
        try write(fixture, engine, [1], [1], beforeCommit: { proxy.set(.loseAnswer, next: .silent) })
          == .commitOutcomeUnknown)
    }

    @Test("a lookup that waits for the lock of the store ends")
    func lockedStore() throws {
      let fixture = try ClusterFixture()
      let proxy = try ServerProxy(fixture)
      defer { proxy.stop() }
      var options = PostgresOptions()
      options.resolveTimeout = .milliseconds(500)
      let engine = try fixture.engine(proxy.address, options: options)
      let locker = Locked<(any StorageBackend)?>(nil)
      let kind = try write(fixture, engine, [1], [1]) {
        let other = fixture.engines[1]
        proxy.set(.loseAnswer) {
          let writer = try? other.beginWrite(label: "holder", timeout: .seconds(1), isDryRun: false)
          locker.withLock { $0 = writer }
        }
      }
      #expect(kind == .commitOutcomeUnknown)
      locker.withLock { $0 = nil }
    }

    /// Makes the server answer commits of a store with a warning, as for a cancelled wait for a standby.
    private func warn(_ fixture: ClusterFixture, _ event: String, _ condition: String) throws {
      let name = "kvclone_warn_\(fixture.engines[0].store)"
      try fixture.sql(
        "CREATE OR REPLACE FUNCTION public.\(name)() RETURNS trigger LANGUAGE plpgsql AS "
          + "$$ BEGIN RAISE WARNING 'not confirmed'; RETURN NULL; END $$")
      try fixture.sql(
        "CREATE CONSTRAINT TRIGGER \(name) AFTER \(event) DEFERRABLE INITIALLY DEFERRED FOR EACH ROW "
          + "WHEN (\(condition)) EXECUTE FUNCTION public.\(name)()")
    }

    private func endWarnings(_ fixture: ClusterFixture) {
      // It waits for every transaction with the table, and the next ones wait for it.
      let drop = """
        DO $$ BEGIN SET LOCAL lock_timeout = '5ms';
        DROP FUNCTION IF EXISTS public.kvclone_warn_\(fixture.engines[0].store)() CASCADE; END $$
        """
      for _ in 0..<10_000 where (try? fixture.sql(drop)) == nil { usleep(20_000) }
    }

    @Test("a commit with a warning is looked up, and confirmed by a commit of its own")
    func warning() throws {
      let fixture = try ClusterFixture(processes: 1)
      let engine = fixture.engines[0]
      try warn(fixture, "INSERT ON kvclone.commit", "NEW.store = \(engine.store)")
      defer { endWarnings(fixture) }
      let trips = fixture.clusters[0].pool.roundTrips
      var before = 0
      #expect(try write(fixture, engine, [1], [1], beforeCommit: { before = trips.count }) == nil)
      // The commit, and at least the lookup and the confirmation.
      #expect(trips.count - before >= 3)
      #expect(try fixture.entries().map(\.value) == [[1]])
    }

    @Test("a commit that is not confirmed by another commit either is unknown")
    func repeatedWarning() throws {
      var options = PostgresOptions()
      options.resolveTimeout = .milliseconds(500)
      let fixture = try ClusterFixture(options: options, processes: 1)
      let engine = fixture.engines[0]
      try warn(fixture, "UPDATE ON kvclone.store", "NEW.id = \(engine.store)")
      defer { endWarnings(fixture) }
      #expect(try write(fixture, engine, [1], [1]) == .commitOutcomeUnknown)
      endWarnings(fixture)
      #expect(try write(fixture, engine, [2], [2]) == nil)
      #expect(try fixture.entries().map(\.key) == [[1], [2]])
    }

    @Test("idle connections that the server has ended are replaced before a transaction begins")
    func deadIdleConnections() throws {
      let fixture = try ClusterFixture(processes: 1)
      let engine = try fixture.engine((ClusterFixture.address ?? "") + " application_name=kvclone-idle")
      let idle = try (0..<4).map { _ in try engine.beginRead() }
      withExtendedLifetime(idle) {}
      func terminate() throws { try fixture.terminate("application_name = 'kvclone-idle'") }
      func warm() throws { _ = try (0..<4).map { _ in try engine.beginRead() } }
      try warm()
      try terminate()
      #expect(throws: Never.self) { _ = try engine.beginRead() }
      try warm()
      try terminate()
      #expect(try write(fixture, engine, [1], [1]) == nil)
      try warm()
      try terminate()
      #expect(throws: Never.self) { _ = try engine.cluster.stores() }
    }

    @Test("a fatal error ends the use of a connection, and of the idle ones")
    func fatalError() throws {
      let fixture = try ClusterFixture(processes: 1)
      let cluster = fixture.clusters[0]
      do {
        _ = try cluster.pool.run([PostgresStatement("SELECT pg_terminate_backend(pg_backend_pid())")])
        Issue.record("no error")
      } catch let error as PostgresError {
        #expect(error.state == "57P01" && error.isConnectionLost)
      }
      // Not repeatable: the connection itself must be gone.
      #expect(throws: Never.self) { _ = try cluster.pool.run([PostgresStatement("SELECT 1")]) }
    }

    @Test("a failed read reports its cause from every later call of the transaction, and from the commit")
    func causeOfFailedReads() throws {
      let fixture = try ClusterFixture(processes: 1)
      let engine = fixture.engines[0]
      var transaction = StorageTransaction(
        try engine.beginWrite(label: "cause", timeout: .seconds(5), isDryRun: false))
      try transaction.put(fixture.table, [1], [1])
      try fixture.terminate("application_name LIKE 'kvclone writes \(engine.store): cause'")
      transaction.prefetch(fixture.table, [ObjectID(rawValue: 1), ObjectID(rawValue: 900)][...])
      for _ in 0..<2 {
        let error = expectError(.io) { _ = try transaction.value(fixture.table, [9]) }
        #expect(error?.message.contains("connection") == true)
      }
      let put = expectError(.io) { try transaction.put(fixture.table, [2], [2]) }
      #expect(put?.message.contains("connection") == true)
      #expect(commitFailure(transaction) == .io)
      #expect(try fixture.entries().isEmpty)
    }
  }
#endif
