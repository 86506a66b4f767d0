#if Postgres
  import Foundation
  import KVClone
  import KVCloneCore
  import KVCloneRecords
  import KVCloneTestSupport
  import Testing

  @testable import KVClonePostgres

  /// Servers that end, or run out of disk space, while stores are open.
  @Suite(
    "Restarts and full disks of a server", .serialized,
    .enabled(if: ServerInstance.isAvailable, "no PostgreSQL server is installed"))
  struct RestartTests {
    @Test("after a restart of the server, idle connections are replaced, and open transactions fail without a change")
    func restarts() throws {
      let server = try ServerInstance()
      defer { server.stop() }
      var options = PostgresOptions()
      options.cacheBytes = 0
      let cluster = PostgresCluster(server.address, options: options)
      defer { cluster.close() }
      let engine = try ErrorProbe.makeStore(cluster)
      func restart() throws {
        server.stop("fast")
        try server.start()
      }
      try ErrorProbe.put(engine, [1])
      try restart()
      #expect(try ErrorProbe.keys(engine) == [[1]])
      try restart()
      try ErrorProbe.put(engine, [2])
      let reader = try engine.beginRead()
      try restart()
      let readError = expectError(.io) { _ = try StorageTransaction(reader).entries(ErrorProbe.table) }
      ErrorProbe.check(readError, "repeat the call")
      let writer = try engine.beginWrite(label: "lost", timeout: .seconds(5), isDryRun: false)
      let key: [UInt8] = [3]
      try key.withUnsafeBytes { try writer.put(ErrorProbe.table, $0, $0) }
      try restart()
      ErrorProbe.check(expectError(.io) { try writer.commit() }, "nothing was changed, try again")
      try restartDuringCommit(server, cluster, engine)
      #expect(try ErrorProbe.keys(engine) == [[1], [2]])
      try ErrorProbe.put(engine, [5])
      #expect(try ErrorProbe.keys(engine) == [[1], [2], [5]])
    }

    /// Crashes the server while a commit waits for a lock in it.
    private func restartDuringCommit(
      _ server: ServerInstance, _ cluster: PostgresCluster, _ engine: PostgresEngine
    ) throws {
      let blocker = try cluster.pool.take(until: cluster.pool.deadline)
      defer { cluster.pool.give(back: blocker, isUsable: false) }
      for text in ["BEGIN", "LOCK TABLE kvclone.commit IN SHARE MODE"] { _ = try blocker.run(text) }
      let outcome = Locked<Result<Void, any Error>?>(nil)
      let group = DispatchGroup()
      group.enter()
      Thread.detachNewThread {
        let result = Result { try ErrorProbe.put(engine, [4]) }
        outcome.withLock { $0 = result }
        group.leave()
      }
      let waits = "SELECT count(*) FROM pg_locks WHERE NOT granted AND relation = 'kvclone.commit'::regclass"
      while try server.sql(waits) == "0", outcome.withLock({ $0 == nil }) { usleep(5_000) }
      server.stop()
      try server.start()
      #expect(group.wait(timeout: .now() + 600) == .success)
      ErrorProbe.check(
        expectError(.io) { try outcome.withLock { try $0?.get() } }, "nothing was changed, try again")
    }

    @Test("a server that does not run, or does not take connections yet, is io or busy with a remedy")
    func startingServer() throws {
      let server = try ServerInstance()
      defer { server.stop() }
      // Without it, a standby takes no connections, as a server that starts.
      try server.sql("ALTER SYSTEM SET hot_standby = off")
      server.stop("fast")
      ErrorProbe.check(server.address, .io, "check the address, and whether the server runs")
      try ServerInstance.run(["touch", server.data + "/standby.signal"])
      try server.start()
      ErrorProbe.check(server.address, .busy, "repeat the call when the database server runs again")
    }

    // MARK: Disks

    @Test(
      "a full disk of the server is diskFull and changes nothing, and with more space writes continue",
      .enabled(if: SmallDisk.isAvailable, "this process may not mount file systems"))
    func fullDisk() throws {
      let disk = try SmallDisk(megabytes: 20)
      let server = try ServerInstance()
      defer {
        server.stop()
        disk.unmount()
      }
      try ServerInstance.run(["chown", "postgres:", disk.path], asServer: false)
      try server.sql("CREATE TABLESPACE small LOCATION '\(disk.path)'")
      try server.sql("CREATE DATABASE small TABLESPACE small")
      let cluster = PostgresCluster(server.address + " dbname=small")
      defer { cluster.close() }
      let engine = try ErrorProbe.makeStore(cluster)
      var keys: [[UInt8]] = []
      let error = expectError(.diskFull) {
        for number in 0..<64 as Range<UInt8> {
          try ErrorProbe.put(engine, [number], byteCount: 1 << 20)
          keys.append([number])
        }
      }
      ErrorProbe.check(error, "free disk space on the database server")
      #expect(!keys.isEmpty)
      #expect(try ErrorProbe.keys(engine) == keys)
      try disk.grow(to: 64)
      try ErrorProbe.put(engine, [100], byteCount: 1 << 20)
      #expect(try ErrorProbe.keys(engine) == keys + [[100]])
    }

    @Test(
      "a full disk of the write-ahead log loses no acknowledged commit, and its error has a remedy",
      .enabled(if: SmallDisk.isAvailable, "this process may not mount file systems"))
    func fullLog() throws {
      let server = try ServerInstance()
      server.stop("fast")
      let log = server.data + "/pg_wal"
      let used = try ServerInstance.run(["du", "-sm", log]).prefix { $0.isNumber }
      let disk = try SmallDisk(megabytes: try #require(Int(used)) + 8)
      defer {
        server.stop()
        disk.unmount()
      }
      try ServerInstance.run(["chown", "postgres:", disk.path], asServer: false)
      try ServerInstance.run([
        "sh", "-c", "cp -a \(log)/. \(disk.path) && rm -rf \(log) && ln -s \(disk.path) \(log)",
      ])
      try server.start()
      var options = PostgresOptions()
      options.resolveTimeout = .seconds(1)
      let cluster = PostgresCluster(server.address, options: options)
      defer { cluster.close() }
      let engine = try ErrorProbe.makeStore(cluster)
      var keys: [[UInt8]] = []
      var failure: StoreError?
      do {
        for number in 0..<64 as Range<UInt8> {
          try ErrorProbe.put(engine, [number], byteCount: 4 << 20)
          keys.append([number])
        }
      } catch let error as StoreError {
        failure = error
      }
      let error = try #require(failure)
      // The server crashes, so it depends on the moment what its client sees.
      #expect([.diskFull, .io, .busy, .commitOutcomeUnknown].contains(error.kind), "\(error.message)")
      let remedies = ["free disk space", "try again", "repeat", "look for its changes", "whether the server runs"]
      #expect(remedies.contains(where: error.message.contains), "\(error.message)")
      try disk.grow(to: 512)
      server.stop()
      try server.start()
      let found = try ErrorProbe.keys(engine)
      #expect(keys.allSatisfy(found.contains) && found.count <= keys.count + 1)
      try ErrorProbe.put(engine, [100])
      #expect(try ErrorProbe.keys(engine).contains([100]))
    }
  }
#endif
