#if Postgres
  import Foundation
  import KVClone
  import KVCloneCore
  import KVCloneTestSupport
  import Testing

  @testable import KVClonePostgres

  @Suite(
    "Waits of moves with a response timeout", .serialized,
    .enabled(if: ClusterFixture.isAvailable, "KVCLONE_POSTGRES names none"))
  struct MoveWaitTests {
    private static func fixture() throws -> ClusterFixture {
      var options = PostgresOptions()
      options.responseTimeout = .seconds(3)
      return try ClusterFixture(options: options)
    }

    /// Runs `body` on another thread, and `release` a while after its begin.
    private func run(_ body: @escaping @Sendable () throws -> Void, _ release: () throws -> Void) throws {
      let errors = Locked<[String]>([])
      let group = DispatchGroup()
      DispatchQueue.global().async(group: group) {
        do { try body() } catch { errors.withLock { $0.append("\(error)") } }
      }
      // Longer than the response timeout.
      sleep(7)
      try release()
      group.wait()
      #expect(errors.withLock { $0 } == [])
    }

    @Test("a move waits for the write lock for longer than the response timeout")
    func lock() throws {
      let fixture = try Self.fixture()
      let writer = try fixture.engines[0].beginWrite(label: "test", timeout: .seconds(10), isDryRun: false)
      let engine = fixture.engines[1]
      try run({ try MoveSource.locking(engine, timeout: .seconds(30)).end() }) { writer.abort() }
    }

    @Test("the deletion of an interrupted copy can take longer than the response timeout")
    func deletion() throws {
      let fixture = try Self.fixture()
      let (cluster, store, name) = (fixture.clusters[1], fixture.engines[0].store, fixture.server.name)
      let move = CommitToken.random()
      try fixture.sql(
        "UPDATE kvclone.store SET state = 1, move = $2 WHERE id = $1", [.int8(store), .bytea(move)])
      try fixture.sql(
        "INSERT INTO kvclone.stager (store, byte, owner, until) VALUES ($1, 0, '', now())", [.int8(store)])
      let pool = fixture.clusters[0].pool
      let connection = try pool.take(until: pool.deadline)
      defer { pool.give(back: connection) }
      _ = try connection.run([
        PostgresStatement("BEGIN", isPrepared: false),
        PostgresStatement("SELECT byte FROM kvclone.stager WHERE store = $1 FOR UPDATE", [.int8(store)]),
      ])
      let target = MoveTarget(cluster: cluster, name: name, store: store, move: move)
      try run({ try target.clear(tables: []) }) { connection.rollBack() }
      #expect(try fixture.sql("SELECT byte FROM kvclone.stager WHERE store = $1", [.int8(store)]).count == 0)
    }
  }
#endif
