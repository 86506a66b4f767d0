#if Postgres
  import Foundation
  import Glibc
  import KVClone
  import KVCloneCore
  import KVCloneModel
  import KVCloneRecords
  import KVCloneTestSupport
  import Testing

  @testable import KVClonePostgres

  @Suite(
    "Connections and whole stores in a cluster", .serialized,
    .enabled(if: ClusterFixture.isAvailable, "KVCLONE_POSTGRES names none"))
  struct ConnectionTests {
    private var address: String { ClusterFixture.address ?? "" }

    private func withConnection<R>(_ address: String, _ body: (PostgresConnection) throws -> R) throws -> R {
      let cluster = PostgresCluster(address)
      defer { cluster.close() }
      let connection = try cluster.pool.take(until: cluster.pool.deadline)
      defer { cluster.pool.give(back: connection) }
      return try body(connection)
    }

    @Test("connections have timeouts, which the address overrides")
    func timeouts() throws {
      try withConnection(address) { connection in
        for (name, value) in PostgresConnection.timeouts { #expect(connection.parameter(name) == value) }
      }
      try withConnection(address + " connect_timeout=7 keepalives_idle=99") { connection in
        #expect(connection.parameter("connect_timeout") == "7")
        #expect(connection.parameter("keepalives_idle") == "99")
        #expect(connection.parameter("tcp_user_timeout") == "30000")
      }
    }

    @Test("only settings with which a standby stores a commit count as replicated")
    func replicated() {
      for setting in ["on", "remote_apply"] { #expect(ConnectionPool.isReplicated(setting, "ANY 1 (*)")) }
      for setting in ["remote_write", "local", "off"] { #expect(!ConnectionPool.isReplicated(setting, "ANY 1 (*)")) }
      #expect(!ConnectionPool.isReplicated("on", ""))
    }

    @Test("writers that read in other transactions do not starve each other")
    func nestedTransactions() throws {
      var options = PostgresOptions()
      options.connections = 3
      options.connectionTimeout = .seconds(5)
      let fixtures = try (0..<4).map { _ in try ClusterFixture(processes: 1) }
      let cluster = PostgresCluster(address, options: options)
      defer { cluster.close() }
      let errors = Locked<[any Error]>([])
      let group = DispatchGroup()
      for fixture in fixtures {
        let engine = try PostgresEngine(cluster, name: fixture.server.name)
        Thread.detach(group) {
          do {
            for _ in 0..<10 {
              let writer = try engine.beginWrite(label: "outer", timeout: .seconds(10), isDryRun: false)
              usleep(2000)
              _ = try engine.beginRead()
              writer.abort()
            }
          } catch {
            errors.withLock { $0.append(error) }
          }
        }
      }
      #expect(group.wait(timeout: .now() + 600) == .success)
      #expect(errors.withLock { $0.map { "\($0)" } } == [])
    }

    @Test("the timeout of a writer bounds the waits for the turn, a connection and the lock together")
    func deadline() throws {
      var options = PostgresOptions()
      options.connections = 2
      let fixture = try ClusterFixture(processes: 1)
      let engine = try fixture.engine(address, options: options)
      let reader = try engine.beginRead()
      let elapsed = Locked<Duration?>(nil)
      let group = DispatchGroup()
      Thread.detach(group) {
        let begin = ContinuousClock.now
        expectError(.busy) {
          _ = try engine.beginWrite(label: "late", timeout: .milliseconds(300), isDryRun: false)
        }
        elapsed.withLock { $0 = ContinuousClock.now - begin }
      }
      #expect(group.wait(timeout: .now() + 600) == .success)
      let time = try #require(elapsed.withLock { $0 })
      #expect(time > .milliseconds(250))
      withExtendedLifetime(reader) {}
    }

    @Test("a write that does not wait for others begins, also if it has to connect")
    func noTimeout() throws {
      let fixture = try ClusterFixture(processes: 1)
      let engine = try fixture.engine(address)
      engine.cluster.pool.closeIdle()
      let writer = try engine.beginWrite(label: "at once", timeout: .zero, isDryRun: false)
      writer.abort()
    }

    @Test("listeners are notified after the turn and the connection are free")
    func notification() throws {
      let fixture = try ClusterFixture(processes: 1)
      let engine = fixture.engines[0]
      let failure = Locked<String?>("not notified")
      let watch = engine.watchCommits {
        do {
          let writer = try engine.beginWrite(label: "listener", timeout: .seconds(1), isDryRun: false)
          writer.abort()
          failure.withLock { $0 = nil }
        } catch {
          failure.withLock { $0 = "\(error)" }
        }
      }
      try fixture.write { tx in try tx.put(fixture.table, [1], [1]) }
      #expect(failure.withLock { $0 } == nil)
      _ = watch
    }

    @Test("a forked child is refused, and does not end the sessions of its parent")
    func fork() throws {
      let fixture = try ClusterFixture(processes: 1)
      let engine = fixture.engines[0]
      let reader = StorageTransaction(try engine.beginRead())
      let symbol = try #require(dlsym(nil, "fork"))
      let fork = unsafeBitCast(symbol, to: (@convention(c) () -> Int32).self)
      let child = fork()
      if child == 0 {
        // One flag, and the end of the connections, as at the end of the cluster object.
        fixture.clusters[0].pool.closeIdle()
        do throws(StoreError) {
          _ = try engine.beginRead()
          _exit(1)
        } catch {
          _exit(error.kind == .forked ? 7 : 2)
        }
      }
      var status: Int32 = 0
      #expect(waitpid(child, &status, 0) == child)
      #expect(status >> 8 & 0xFF == 7)
      #expect(try reader.entries(fixture.table).isEmpty)
      #expect(try fixture.sql("SELECT 1").count == 1)
    }

    @Test("a label is cut between characters, and a zero byte in it does not fail")
    func labels() throws {
      let fixture = try ClusterFixture()
      let label = "import\0" + String(repeating: "ü", count: 60)
      let writer = try fixture.engines[0].beginWrite(label: label, timeout: .seconds(5), isDryRun: false)
      #expect(fixture.engines[0].writer()?.label.hasPrefix("import") == true)
      #expect(fixture.engines[0].writer()?.isThisProcess == true)
      #expect(fixture.engines[1].writer()?.isThisProcess == false)
      writer.abort()
      let name = WriterSession.name(String(repeating: "é", count: 40))
      #expect(name == String(repeating: "é", count: 31))
    }

    @Test("a process that only waits for the write lock is not its holder")
    func waitingWriter() throws {
      let fixture = try ClusterFixture()
      let holder = try fixture.engines[0].beginWrite(label: "holder", timeout: .seconds(5), isDryRun: false)
      let group = DispatchGroup()
      let engine = fixture.engines[1]
      Thread.detach(group) {
        expectError(.busy) { _ = try engine.beginWrite(label: "waits", timeout: .seconds(1), isDryRun: false) }
      }
      usleep(300_000)
      #expect(engine.writer()?.label == "holder")
      #expect(engine.writer()?.isThisProcess == false)
      #expect(group.wait(timeout: .now() + 600) == .success)
      holder.abort()
    }

    // MARK: Whole stores

    @Test("a creation and a deletion that lose the connection during the commit find out that they took effect")
    func lostCreation() throws {
      let fixture = try ClusterFixture(processes: 1)
      let proxy = try ServerProxy(fixture)
      defer { proxy.stop() }
      let cluster = PostgresCluster(proxy.address)
      defer { cluster.close() }
      for mode in [ServerProxy.Mode.loseCommit, .loseAnswer] {
        let name = "test-" + UUID().uuidString
        proxy.set(mode)
        try PostgresEngine.create(cluster, name: name, tables: [.metadata], .metadata, [([1], [2])])
        #expect(try cluster.stores().contains { $0.name == name && $0.entryCount == 1 })
        proxy.set(mode)
        try cluster.drop(name)
        #expect(try !cluster.stores().contains { $0.name == name })
      }
    }

    @Test("a deletion that is looked up spares a store that another process has created with the name")
    func lostDeletion() throws {
      let fixture = try ClusterFixture(processes: 1)
      let proxy = try ServerProxy(fixture)
      defer { proxy.stop() }
      let cluster = PostgresCluster(proxy.address)
      defer { cluster.close() }
      let (name, other) = (fixture.server.name, fixture.clusters[0])
      let failure = Locked<(any Error)?>(nil)
      proxy.set(.loseAnswer) {
        do {
          try PostgresEngine.create(other, name: name, tables: [], .metadata, [])
        } catch {
          failure.withLock { $0 = error }
        }
      }
      try cluster.drop(name)
      #expect(failure.withLock { $0 == nil })
      #expect(try other.stores().contains { $0.name == name })
    }

    @Test("a store that exists already is not taken for an own creation")
    func foreignCreation() throws {
      let fixture = try ClusterFixture(processes: 1)
      let proxy = try ServerProxy(fixture)
      defer { proxy.stop() }
      let cluster = PostgresCluster(proxy.address)
      defer { cluster.close() }
      let (name, other) = ("test-" + UUID().uuidString, fixture.clusters[0])
      defer { try? other.drop(name) }
      proxy.set(.loseCommit) { try? PostgresEngine.create(other, name: name, tables: [], .metadata, []) }
      expectError(.storeExists) { try PostgresEngine.create(cluster, name: name, tables: [], .metadata, []) }
    }

    @Test("processes that open a missing store with a model at once all get it")
    func openAtOnce() throws {
      let fixture = try ClusterFixture(processes: 1)
      let model = stagingModel
      for _ in 0..<5 {
        let name = "test-" + UUID().uuidString
        let results = Locked<[String]>([])
        let group = DispatchGroup()
        for _ in 0..<4 {
          let address = address
          Thread.detach(group) {
            let cluster = PostgresCluster(address)
            defer { cluster.close() }
            let result: String
            do {
              try cluster.openStore(name, model: model).close()
              result = "opened"
            } catch {
              result = "\(error)"
            }
            results.withLock { $0.append(result) }
          }
        }
        #expect(group.wait(timeout: .now() + 600) == .success)
        #expect(results.withLock { $0 } == ["opened", "opened", "opened", "opened"])
        try fixture.clusters[0].drop(name)
      }
    }

    @Test("processes can install the schema at once")
    func install() throws {
      let fixture = try ClusterFixture(processes: 1)
      let name = "kvclone_test_\(getpid())"
      try fixture.sql("CREATE DATABASE \(name)")
      defer { _ = try? fixture.sql("DROP DATABASE \(name) WITH (FORCE)") }
      let errors = Locked<[String]>([])
      let group = DispatchGroup()
      for _ in 0..<6 {
        let address = address + " dbname=" + name
        Thread.detach(group) {
          let cluster = PostgresCluster(address)
          defer { cluster.close() }
          do { try cluster.install() } catch { errors.withLock { $0.append("\(error)") } }
        }
      }
      #expect(group.wait(timeout: .now() + 600) == .success)
      #expect(errors.withLock { $0 } == [])
    }

    // MARK: Uploads

    @Test("leases are renewed by one timer, also after they were empty for a moment, and a deleted one is left alone")
    func leases() throws {
      let fixture = try ClusterFixture(processes: 1)
      let cluster = fixture.clusters[0]
      let store = fixture.engines[0].store
      let uploads = PostgresUploads(cluster, store: store, renewal: .milliseconds(100))
      for _ in 0..<10 {
        #expect(try uploads.hold(1))
        uploads.release(1)
      }
      #expect(try uploads.hold(2))
      #expect(try uploads.hold(3))
      try fixture.sql(
        "UPDATE kvclone.stager SET until = clock_timestamp() - interval '1 s' WHERE store = $1", [.int8(store)])
      try fixture.sql("DELETE FROM kvclone.stager WHERE store = $1 AND byte = 3", [.int8(store)])
      let before = cluster.pool.roundTrips.count
      let begin = ContinuousClock.now
      while cluster.pool.roundTrips.count - before < 3 { usleep(10_000) }
      let trips = cluster.pool.roundTrips.count - before
      #expect(Double(trips) <= (ContinuousClock.now - begin) / .milliseconds(100) + 2, "\(trips)")
      let held = try fixture.sql(
        "SELECT byte FROM kvclone.stager WHERE store = $1 AND until > clock_timestamp()", [.int8(store)])
      #expect(held.count == 1 && held.integer(0, 0) == 2)
      // Another process can hold the deleted one, and the renewal does not take it back.
      let other = PostgresUploads(cluster, store: store)
      #expect(try other.hold(3))
      #expect(try !other.hold(2))
      #expect(try !uploads.hold(3))
    }

    @Test("an upload that lost its lease and its chunks to another process fails with objectNotFound")
    func lostLease() throws {
      let fixture = try ClusterFixture(processes: 1)
      let name = "test-" + UUID().uuidString
      let (first, second) = (PostgresCluster(address), PostgresCluster(address))
      defer {
        try? fixture.clusters[0].drop(name)
        for cluster in [first, second] { cluster.close() }
      }
      let store = try first.createStore(name, model: stagingModel)
      let bytes = Data(repeating: 7, count: 40 << 20)
      expectError(.objectNotFound) {
        _ = try store.stageBlob { writer in
          try writer.append(bytes)
          let held = try fixture.sql(
            "DELETE FROM kvclone.stager WHERE store = (SELECT id FROM kvclone.store WHERE name = $1)", [.text(name)])
          #expect(held.changedCount == 1)
          // The begin of an upload of another process deletes what was left behind.
          let other = try second.openStore(name)
          _ = try other.stageBlob { try $0.append(bytes) }
          try writer.append(bytes)
        }
      }
      store.close()
    }
  }

  extension Thread {
    fileprivate static func detach(_ group: DispatchGroup, _ body: @escaping @Sendable () -> Void) {
      group.enter()
      detachNewThread {
        body()
        group.leave()
      }
    }
  }
#endif
