#if Postgres
  import Foundation
  import KVClone
  import KVCloneCore
  import KVCloneTestSupport
  import Testing

  @testable import KVClonePostgres

  @Suite(
    "The connections of a cluster object", .serialized,
    .enabled(if: ClusterFixture.isAvailable, "KVCLONE_POSTGRES names none"))
  struct PoolTests {
    @Test("a wait without an end gets the next free connection")
    func endlessWait() throws {
      var options = PostgresOptions()
      options.connections = 2
      options.connectionTimeout = .seconds(Int64.max)
      let cluster = PostgresCluster(ClusterFixture.address ?? "", options: options)
      defer { cluster.close() }
      let first = try cluster.pool.take(until: cluster.pool.deadline)
      let isFound = Locked(false)
      let group = DispatchGroup()
      DispatchQueue.global().async(group: group) {
        guard let connection = try? cluster.pool.take(until: cluster.pool.deadline) else { return }
        cluster.pool.give(back: connection)
        isFound.withLock { $0 = true }
      }
      // Most likely, the other thread waits by then; the test is valid in any case.
      usleep(100_000)
      cluster.pool.give(back: first)
      #expect(group.wait(timeout: .now() + 600) == .success)
      #expect(isFound.withLock { $0 })
    }

    @Test("a connection is counted for the thread that took it, also if another one takes it at once")
    func holders() throws {
      var options = PostgresOptions()
      options.connections = 3
      let cluster = PostgresCluster(ClusterFixture.address ?? "", options: options)
      defer { cluster.close() }
      let pool = cluster.pool
      let errors = Locked<[any Error]>([])
      let group = DispatchGroup()
      for _ in 0..<4 {
        DispatchQueue.global().async(group: group) {
          do {
            for _ in 0..<2000 { pool.give(back: try pool.take(until: pool.deadline)) }
          } catch {
            errors.withLock { $0.append(error) }
          }
        }
      }
      #expect(group.wait(timeout: .now() + 600) == .success)
      #expect(errors.withLock { $0.map { "\($0)" } } == [])
      #expect(pool.holderCount == 0)
    }
  }
#endif
