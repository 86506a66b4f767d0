#if Postgres
  import Foundation
  import KVClone
  import KVCloneCore
  import KVCloneOperations
  import KVCloneRecords
  import KVCloneTestSupport
  import Testing

  @testable import KVClonePostgres

  @Suite(
    "Copies between directories and clusters", .serialized,
    .enabled(if: ClusterFixture.isAvailable, "KVCLONE_POSTGRES names none"))
  struct CopyTests {
    private let places: CopyPlaces

    init() throws { places = try CopyPlaces() }

    @Test("a copy has every entry, in both directions and between clusters, and is the same store")
    func everyEntry() throws {
      let fixture = try CheckFixture()
      try fixture.store.createSnapshot(named: "before")
      try fixture.store.set(fixture.items[3], "title", .string("changed since"))
      let (uuid, path) = (fixture.store.uuid, fixture.files.path)
      fixture.store.close()
      let expected = try CopyPlaces.image(of: path)
      let count = expected.values.reduce(0) { $0 + $1.count }
      let result = try places.cluster.copyStore(at: path, as: places.name)
      #expect(result.entryCount == UInt64(count) && result.tableCount == expected.count && result.byteCount > 5000)
      #expect(try CopyPlaces.image(of: try places.open()) == expected)
      try places.cluster.copyStore(places.name, to: places.other, as: places.secondName)
      try places.other.copyStore(places.secondName, to: places.directory)
      #expect(try CopyPlaces.image(of: places.directory) == expected)
      for store in [try places.open(isReadOnly: false), try ObjectStore.open(at: places.directory)] {
        defer { store.close() }
        #expect(store.uuid == uuid)
        try checked(store)
        #expect(try store.check(CheckOptions(readData: true)).isClean)
        #expect(try store.snapshots().map(\.name) == ["before"])
        try store.insert("Tag", ["name": .string("green")])
        try checked(store)
      }
      #expect(try ObjectStore.check(at: places.directory, options: CheckOptions(readData: true)).isClean)
    }

    @Test("more than one transaction: blobs above the size of a batch")
    func large() throws {
      let files = try TestStore(CheckFixture.model)
      let item = try files.store.insert("Item", ["number": .decimal(1)])
      let bytes = Data((0..<20_000_000).map { UInt8(truncatingIfNeeded: $0 &* 31 >> 3) })
      try files.store.set(item, "photo", .binary(bytes))
      files.store.close()
      let expected = try CopyPlaces.image(of: files.path)
      try places.cluster.copyStore(at: files.path, as: places.name)
      let info = try #require(try places.cluster.stores().first { $0.name == places.name })
      #expect(info.commitNumber >= 3 && info.entryCount == expected.values.reduce(0) { $0 + Int64($1.count) })
      try places.cluster.copyStore(places.name, to: places.directory)
      #expect(try CopyPlaces.image(of: places.directory) == expected)
    }

    @Test("the destination must not exist, and a missing source creates nothing")
    func destinations() throws {
      let files = try TestStore(CheckFixture.model)
      files.store.close()
      let cluster = places.cluster
      try cluster.copyStore(at: files.path, as: places.name)
      expectError(.storeExists) { try cluster.copyStore(at: files.path, as: places.name) }
      expectError(.storeExists) { try cluster.copyStore(places.name, to: files.path) }
      expectError(.storeExists) { try cluster.copyStore(places.name, to: cluster, as: places.name) }
      #expect(try places.open().model.name == "Check", "a refused copy leaves the store that exists")
      expectError(.storeNotFound) { try cluster.copyStore(at: files.path + "-no", as: places.secondName) }
      expectError(.storeNotFound) { try cluster.copyStore(places.secondName, to: places.directory) }
      for name in ["", "a\0b", String(repeating: "n", count: 256)] {
        expectError(.invalidDestination) { try cluster.copyStore(at: files.path, as: name) }
      }
      #expect(try places.isEmpty(places.secondName))
    }

    @Test("cancelled in any phase: nothing remains", arguments: ["copy", "verify", "sync"])
    func cancelled(_ phase: String) throws {
      let fixture = try CheckFixture()
      fixture.store.close()
      let cancellation = Cancellation()
      let progress: @Sendable (OperationProgress) -> Void = { if $0.phase.rawValue == phase { cancellation.cancel() } }
      if phase != "sync" {
        expectError(.cancelled) {
          try places.cluster.copyStore(
            at: fixture.files.path, as: places.name, progress: progress,
            cancellation: cancellation)
        }
        #expect(try places.isEmpty(places.name))
      }
      try places.cluster.copyStore(at: fixture.files.path, as: places.name)
      let second = Cancellation()
      expectError(.cancelled) {
        try places.cluster.copyStore(
          places.name, to: places.directory,
          progress: { if $0.phase.rawValue == phase { second.cancel() } }, cancellation: second)
      }
      #expect(try FileManager.default.contentsOfDirectory(atPath: places.root).isEmpty)
    }

    @Test("until its last transaction, a copy is not a store; progress counts entries")
    func becomesStoreLast() throws {
      let fixture = try CheckFixture()
      fixture.store.close()
      let (places, seen) = (places, ContractBox([OperationProgress]()))
      try places.cluster.copyStore(
        at: fixture.files.path, as: places.name,
        progress: { progress in
          seen.change { $0.append(progress) }
          if progress.phase == .verify {
            expectError(.invalidStore) { _ = try places.other.openStore(places.name) }
          }
        })
      #expect(Set(seen.value.map(\.phase)) == [.copy, .verify])
      #expect(seen.value.allSatisfy { ($0.total ?? 0) > 50 && $0.completed <= $0.total ?? 0 })
      #expect(try places.open().model.name == "Check")
    }

    @Test("a copy that differs is found and removed", arguments: Damage.allCases)
    func differs(_ damage: Damage) throws {
      let fixture = try CheckFixture()
      fixture.store.close()
      let places = places
      let error = expectError(.corrupted) {
        try places.cluster.copyStore(
          at: fixture.files.path, as: places.name,
          progress: { progress in
            guard progress.phase == .verify, progress.completed == 0 else { return }
            do { try places.sql(damage.rawValue, [.text(places.name)]) } catch { Issue.record("\(error)") }
          })
      }
      #expect(error?.message.contains("the copy differs from the store in the table") == true)
      #expect(try places.isEmpty(places.name))
    }

    /// Statements that change one entry of a store.
    enum Damage: String, CaseIterable {
      case value = """
        UPDATE kvclone.entry SET v = set_byte(v, 0, 255 - get_byte(v, 0)) WHERE ctid IN (SELECT e.ctid \
        FROM kvclone.entry e JOIN kvclone.store s ON s.id = e.store WHERE s.name = $1 AND length(v) > 0 LIMIT 1)
        """
      case key = """
        UPDATE kvclone.entry SET k = k || '\\x01'::bytea WHERE ctid IN (SELECT e.ctid FROM kvclone.entry e \
        JOIN kvclone.store s ON s.id = e.store WHERE s.name = $1 LIMIT 1)
        """
      case missing = """
        DELETE FROM kvclone.entry WHERE ctid IN (SELECT e.ctid FROM kvclone.entry e \
        JOIN kvclone.store s ON s.id = e.store WHERE s.name = $1 LIMIT 1)
        """
      case tally = """
        UPDATE kvclone.tally SET entries = entries + 1 WHERE tbl = 2 \
        AND store = (SELECT id FROM kvclone.store WHERE name = $1)
        """
    }

    @Test("a migration in a cluster, planned first")
    func migration() throws {
      let store = try places.cluster.createStore(places.name, model: Library.model)
      try store.insert("Tag")
      store.close()
      let next = Library.model.next { draft in
        draft["Tag"].attributes.append(AttributeDescription("remark", .string, default: "light"))
      }
      let plan = try places.cluster.planMigration(places.name, to: next)
      #expect(plan.isPossible && plan.steps.count == 1)
      #expect(try places.open().model.versionIdentifier == "1")
      let report = try places.cluster.migrate(places.name, to: next)
      #expect(report.versions == ["1", "next"])
      let migrated = try places.open()
      #expect(migrated.model.versionIdentifier == "next")
      try checked(migrated)
    }

    @Test("the status of a server, as a value and as JSON")
    func status() throws {
      let files = try TestStore(CheckFixture.model)
      files.store.close()
      try places.cluster.copyStore(at: files.path, as: places.name)
      let status = try places.cluster.status()
      #expect(status.schemaVersion == Int(ClusterSchema.version) && (status.storeCount ?? 0) >= 1)
      #expect(status.connectionCount >= 1 && status.connectionLimit >= status.connectionCount)
      #expect(status.serverVersion.first?.isNumber == true && !status.synchronousCommit.isEmpty)
      #expect((status.role == .standby) == (status.replayDelaySeconds != nil))
      let json = try JSONEncoder().encode(status)
      #expect(try JSONDecoder().decode(PostgresCluster.Status.self, from: json) == status)
    }
  }

  /// Names in the cluster of the tests, and a directory, all removed after the test.
  private final class CopyPlaces: Sendable {
    let cluster = PostgresCluster(PostgresServer.address ?? "")
    /// The same cluster, with connections of its own.
    let other = PostgresCluster(PostgresServer.address ?? "")
    let name = "copy-" + UUID().uuidString
    let secondName = "copy/ü-" + UUID().uuidString
    let root: String

    init() throws {
      root = try temporaryDirectory()
      try cluster.install()
    }

    deinit {
      for name in [name, secondName] { try? cluster.drop(name) }
      cluster.close()
      other.close()
      try? FileManager.default.removeItem(atPath: root)
    }

    var directory: String { root + "/copy.kvclone" }

    func open(isReadOnly: Bool = true) throws -> ObjectStore {
      var options = StoreOptions()
      options.isReadOnly = isReadOnly
      return try cluster.openStore(name, options: options)
    }

    /// Whether the cluster has nothing of a store.
    func isEmpty(_ name: String) throws -> Bool {
      let orphans = try sql("SELECT count(*) FROM kvclone.entry WHERE store NOT IN (SELECT id FROM kvclone.store)")
      return try !cluster.stores().contains { $0.name == name } && orphans.integer(0, 0) == 0
    }

    @discardableResult
    func sql(_ text: String, _ values: [PostgresValue] = []) throws -> PostgresRows {
      try other.pool.run([PostgresStatement(text, values, isPrepared: false)])[0]
    }

    /// All entries of a store, by table.
    static func image(of store: ObjectStore) throws -> [TableCode: [MemoryEntry]] {
      let storage = StorageTransaction(try store.engine.beginRead())
      var image: [TableCode: [MemoryEntry]] = [:]
      for table in store.schema.tables.withRedirects { image[table.code] = try storage.entries(table, from: [0]) }
      return image
    }

    static func image(of path: String) throws -> [TableCode: [MemoryEntry]] {
      var options = StoreOptions()
      options.isReadOnly = true
      let store = try ObjectStore.open(at: path, options: options)
      defer { store.close() }
      return try image(of: store)
    }
  }
#endif
