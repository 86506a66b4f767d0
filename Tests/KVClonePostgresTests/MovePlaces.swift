#if Postgres
  import Foundation
  import KVClone
  import KVCloneCore
  import KVCloneRecords
  import KVCloneTestSupport
  import Testing

  @testable import KVClonePostgres

  /// Two databases of the server of the tests, as two clusters, and the name of a store in them.
  final class MovePlaces: Sendable {
    private static let secondAddress: Result<String, any Error> = Result {
      let first = PostgresCluster(ClusterFixture.address ?? "")
      defer { first.close() }
      try first.install()
      let found = try first.pool.run([
        PostgresStatement("SELECT 1 FROM pg_catalog.pg_database WHERE datname = 'kvclone_second'")
      ])
      // Tests of another process can create it at the same time.
      if found[0].count == 0 { _ = try? first.pool.run([PostgresStatement("CREATE DATABASE kvclone_second")]) }
      let address = (ClusterFixture.address ?? "") + " dbname=kvclone_second"
      let second = PostgresCluster(address)
      defer { second.close() }
      try second.install()
      return address
    }

    let source: PostgresCluster
    let target: PostgresCluster
    let name = "move-" + UUID().uuidString

    init() throws {
      let second = try Self.secondAddress.get()
      source = PostgresCluster(ClusterFixture.address ?? "")
      target = PostgresCluster(second)
    }

    deinit {
      for cluster in [source, target] {
        // A test may have ended within a move.
        _ = try? cluster.pool.run([
          PostgresStatement("UPDATE kvclone.store SET state = 0 WHERE name = $1", [.text(name)])
        ])
        try? cluster.drop(name)
        cluster.close()
      }
    }

    /// Moves the store, and interrupts the move at a point as by a crash.
    func interrupt(at point: MoveRun.Point) {
      let crash = expectError(.hookFailed) {
        _ = try MoveRun(name, from: source, to: target, CopyProgress(nil, nil), didSwitch: nil) {
          (passed) throws(StoreError) in
          if passed != point { return }
          throw StoreError(.hookFailed, "crash")
        }.run()
      }
      #expect(crash?.message == "crash")
    }

    /// Moves the store, and calls `body` at a point.
    @discardableResult
    func move(at point: MoveRun.Point, _ body: @escaping () throws -> Void) throws -> MoveResult {
      try MoveRun(name, from: source, to: target, CopyProgress(nil, nil), didSwitch: nil) {
        (passed) throws(StoreError) in
        if passed != point { return }
        do { try body() } catch { throw error as? StoreError ?? StoreError(.io, "\(error)") }
      }.run()
    }

    /// The number of rows in a cluster that belong to no store, or to one that was moved away.
    static func strayEntryCount(_ cluster: PostgresCluster, _ name: String) throws -> Int64 {
      let rows = try cluster.pool.run([
        PostgresStatement(
          """
          SELECT count(*) FROM kvclone.entry e LEFT JOIN kvclone.store s ON s.id = e.store \
          WHERE s.id IS NULL OR (s.name = $1 AND s.state = 2)
          """, [.text(name)], isPrepared: false)
      ])
      return rows[0].integer(0, 0) ?? -1
    }

    /// All entries of a store, by table.
    static func image(of store: ObjectStore) throws -> [TableCode: [MemoryEntry]] {
      let storage = StorageTransaction(try store.engine.beginRead())
      var image: [TableCode: [MemoryEntry]] = [:]
      for table in store.schema.tables.withRedirects { image[table.code] = try storage.entries(table, from: [0]) }
      return image
    }
  }

  extension ObjectStore {
    func countObjects(_ entity: String) throws -> Int { try read { try $0.count(entity: entity) } }
  }
#endif
