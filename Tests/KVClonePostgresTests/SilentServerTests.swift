#if Postgres
  import Foundation
  import KVClone
  import KVCloneCore
  import KVCloneRecords
  import KVCloneTestSupport
  import Testing

  @testable import KVClonePostgres

  /// Servers that keep their connections, and stop answering. Without a limit, each of these tests would wait forever.
  @Suite(
    "A cluster that does not answer", .serialized,
    .enabled(if: ClusterFixture.isAvailable, "KVCLONE_POSTGRES names none"))
  struct SilentServerTests {
    private let fixture: ClusterFixture
    private let proxy: ServerProxy
    private let engine: PostgresEngine

    init() throws {
      fixture = try ClusterFixture(processes: 1)
      proxy = try ServerProxy(fixture)
      var options = PostgresOptions()
      options.responseTimeout = .seconds(3)
      options.resolveTimeout = .seconds(3)
      engine = try fixture.engine(proxy.address + " connect_timeout=2", options: options)
    }

    private func end() {
      proxy.set(.forward)
      proxy.stop()
    }

    private func begin() throws -> StorageTransaction {
      StorageTransaction(try engine.beginWrite(label: "test", timeout: .seconds(5), isDryRun: false))
    }

    /// Appends rows of 8 MiB together, which no socket buffers.
    private func append(_ transaction: inout StorageTransaction) throws {
      let value = [UInt8](repeating: 7, count: 128 << 10)
      try Appended(keys: (0..<64).map { [UInt8($0)] }, value: value).append(&transaction, fixture.table)
    }

    @Test("a read ends with the reason, and the next one works on a new connection")
    func read() throws {
      defer { end() }
      try fixture.write { tx in try tx.put(fixture.table, [1], [1]) }
      let reader = StorageTransaction(try engine.beginRead())
      proxy.set(.silent)
      let error = expectError(.io) { _ = try reader.value(fixture.table, [1]) }
      #expect(error?.message.contains("did not answer in time") == true, "\(error?.message ?? "")")
      _ = consume reader
      proxy.set(.forward)
      let next = StorageTransaction(try engine.beginRead())
      let value = try next.value(fixture.table, [1])
      #expect(value == [1])
    }

    @Test("a commit that is not answered is looked up, and unknown if nothing answers")
    func commit() throws {
      defer { end() }
      var transaction = try begin()
      try transaction.put(fixture.table, [1], [1])
      proxy.set(.silent)
      #expect(commitFailure(transaction) == .commitOutcomeUnknown)
      proxy.set(.forward)
      var next = try begin()
      try next.put(fixture.table, [2], [2])
      #expect(commitFailure(next) == nil)
    }

    @Test("a commit ends, too, if the server does not take its bytes")
    func fullSocket() throws {
      defer { end() }
      var transaction = try begin()
      try transaction.put(fixture.table, [1], [UInt8](repeating: 7, count: 8 << 20))
      proxy.set(.stalled)
      #expect(commitFailure(transaction) == .commitOutcomeUnknown)
    }

    @Test("a COPY ends that the server does not begin, or stops reading", arguments: [false, true])
    func copy(begins: Bool) throws {
      defer { end() }
      var transaction = try begin()
      proxy.set(begins ? .stallCopy : .silent)
      expectError(.io) { try append(&transaction) }
      #expect(commitFailure(transaction) == .transactionAborted)
      proxy.set(.forward)
      #expect(try fixture.entries().isEmpty)
    }

    @Test("a short COPY that the server stops reading fails the commit, which was not sent")
    func shortCopy() throws {
      defer { end() }
      var transaction = try begin()
      proxy.set(.stallCopy)
      try Appended(keys: (0..<64).map { [UInt8($0)] }, value: [7]).append(&transaction, fixture.table)
      #expect(commitFailure(transaction) == .io)
      proxy.set(.forward)
      #expect(try fixture.entries().isEmpty)
    }

    @Test("the wait for the write lock is not limited")
    func writeLock() throws {
      defer { end() }
      let holder = Locked<(any StorageBackend)?>(
        try fixture.engines[0].beginWrite(label: "holder", timeout: .seconds(5), isDryRun: false))
      Thread.detachNewThread {
        sleep(7)
        holder.withLock { $0 = nil }
      }
      var transaction = StorageTransaction(
        try engine.beginWrite(label: "test", timeout: .seconds(30), isDryRun: false))
      try transaction.put(fixture.table, [1], [1])
      #expect(commitFailure(transaction) == nil)
    }

    @Test("a statement that the server refuses during a COPY leaves a usable connection")
    func refusedCopy() throws {
      defer { end() }
      try fixture.write { tx in try tx.put(fixture.table, [63], [1]) }
      let connection = try engine.cluster.pool.take(until: .now + .seconds(5))
      defer { engine.cluster.pool.give(back: connection) }
      let rows = (0..<64).map { (key: [UInt8($0)], value: [UInt8]([1])) }
      try Appended.withPointers(rows) { run in
        try connection.copy(into: fixture.table.handle, of: engine.store, run.lazy.map { ($0.key, $0.value) })
      }
      // The next use has its error.
      #expect(throws: PostgresError.self) { try connection.run("SELECT 1") }
      #expect(!connection.isBroken)
      #expect(try connection.run("SELECT 1").count == 1)
      #expect(try fixture.entries().map(\.key) == [[63]])
    }
  }
#endif
