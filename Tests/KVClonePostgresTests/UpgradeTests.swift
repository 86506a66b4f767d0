#if Postgres
  import Foundation
  import KVClone
  import KVCloneCore
  import KVCloneRecords
  import KVCloneTestSupport
  import Testing

  @testable import KVClonePostgres

  /// Two versions of the library on one schema. Version 2 adds a column that version 1 ignores; version 3 requires
  /// itself.
  @Suite(
    "Upgrades of the schema", .serialized, .enabled(if: ClusterFixture.isAvailable, "KVCLONE_POSTGRES names none"))
  struct UpgradeTests {
    private static let second = SchemaVersions.Step(
      version: 2, minimum: 1, statements: ["ALTER TABLE kvclone.store ADD COLUMN note text"])
    private static let third = SchemaVersions.Step(
      version: 3, minimum: 3, statements: ["CREATE TABLE kvclone.extra (id int8 PRIMARY KEY)"])
    private static let additive = SchemaVersions(oldest: 1, steps: [second])
    private static let newest = SchemaVersions(oldest: 1, steps: [second, third])

    private let database: ScratchDatabase
    private let old: PostgresCluster
    private let table = StorageTable(code: .links, handle: UInt32(TableCode.links.rawValue))

    init() throws {
      database = try ScratchDatabase()
      old = database.cluster()
    }

    private func makeStore() throws -> PostgresEngine {
      try old.install()
      try PostgresEngine.create(old, name: "store", tables: [.links], .links, [([1], [1])])
      return try PostgresEngine(old, name: "store")
    }

    private func put(_ engine: PostgresEngine, _ key: [UInt8]) throws {
      var transaction = StorageTransaction(
        try engine.beginWrite(label: "test", timeout: .seconds(10), isDryRun: false))
      try transaction.put(table, key, key)
      try transaction.commit()
    }

    private func keys(_ engine: PostgresEngine) throws -> [[UInt8]] {
      try StorageTransaction(try engine.beginRead()).entries(table).map(\.key)
    }

    private func version() throws -> [Int64?] {
      [
        try database.integer("SELECT version FROM kvclone.schema_version"),
        try database.integer("SELECT minimum FROM kvclone.schema_version"),
      ]
    }

    @Test("a newer library uses an older schema, and raises its version only on request")
    func onRequest() throws {
      let engine = try makeStore()
      let new = database.cluster(Self.newest)
      let newEngine = try PostgresEngine(new, name: "store")
      try put(newEngine, [2])
      try new.install()
      try PostgresEngine.create(new, name: "other", tables: [], .metadata, [])
      try new.drop("other")
      #expect(try version() == [1, 1])
      #expect(try keys(engine) == [[1], [2]])
      #expect(try new.upgrade() == PostgresCluster.SchemaUpgrade(from: 1, to: 3))
      #expect(try version() == [3, 3])
      #expect(try new.upgrade() == PostgresCluster.SchemaUpgrade(from: 3, to: 3))
      #expect(try keys(newEngine) == [[1], [2]])
      #expect(try new.stores().map(\.entryCount) == [2])
    }

    @Test("a running older library continues after a step that only adds, and the entries are the same")
    func additive() throws {
      let engine = try makeStore()
      try put(engine, [2])
      let new = database.cluster(Self.additive)
      #expect(try new.upgrade() == PostgresCluster.SchemaUpgrade(from: 1, to: 2))
      #expect(try version() == [2, 1])
      #expect(try keys(engine) == [[1], [2]])
      try put(engine, [3])
      #expect(try keys(try PostgresEngine(old, name: "store")) == [[1], [2], [3]])
      #expect(try keys(try PostgresEngine(new, name: "store")) == [[1], [2], [3]])
      try old.install()
      // It has nothing to raise.
      #expect(try old.upgrade() == PostgresCluster.SchemaUpgrade(from: 2, to: 2))
      #expect(try version() == [2, 1])
    }

    @Test("a running older library gets newerFormat with its next transaction when the minimum is raised")
    func raisedMinimum() throws {
      let engine = try makeStore()
      try put(engine, [2])
      let reader = StorageTransaction(try engine.beginRead())
      // Opens a second connection, for the later count of round trips.
      _ = try engine.beginRead()
      // An altered table would wait for the reader.
      let step = SchemaVersions.Step(version: 2, minimum: 2, statements: Self.third.statements)
      let new = database.cluster(SchemaVersions(oldest: 1, steps: [step]))
      try new.upgrade()
      // Not the transaction that has begun before.
      let before = try reader.entries(table).map(\.key)
      #expect(before == [[1], [2]])
      let trips = old.pool.roundTrips.count
      let error = expectError(.newerFormat) { _ = try engine.beginRead() }
      #expect(error?.message.contains("upgrade the library") == true)
      #expect(old.pool.roundTrips.count == trips + 1)
      expectError(.newerFormat) { try put(engine, [3]) }
      expectError(.newerFormat) { _ = try PostgresEngine(old, name: "store") }
      expectError(.newerFormat) { try PostgresEngine.create(old, name: "x", tables: [], .metadata, []) }
      expectError(.newerFormat) { try old.drop("store") }
      expectError(.newerFormat) { _ = try old.stores() }
      expectError(.newerFormat) { try old.install() }
      expectError(.newerFormat) { try old.upgrade() }
      #expect(try old.status().schemaVersion == 2)
      #expect(try keys(try PostgresEngine(new, name: "store")) == [[1], [2]])
      #expect(try new.stores().map(\.name) == ["store"])
    }

    @Test("an upgrade waits for an open write transaction of an older library, and keeps its commit")
    func openWriter() throws {
      let engine = try makeStore()
      var writer = StorageTransaction(try engine.beginWrite(label: "old", timeout: .seconds(10), isDryRun: false))
      try writer.put(table, [2], [2])
      let new = database.cluster(Self.newest)
      let result = Locked<Result<PostgresCluster.SchemaUpgrade, any Error>?>(nil)
      let group = DispatchGroup()
      group.enter()
      Thread.detachNewThread {
        let upgrade = Result { try new.upgrade() }
        result.withLock { $0 = upgrade }
        group.leave()
      }
      let waits = "SELECT count(*) FROM pg_locks WHERE NOT granted AND relation = 'kvclone.store'::regclass"
      while try database.integer(waits) == 0, result.withLock({ $0 == nil }) { usleep(5_000) }
      try writer.commit()
      #expect(group.wait(timeout: .now() + 600) == .success)
      #expect(try result.withLock { try $0?.get() } == PostgresCluster.SchemaUpgrade(from: 1, to: 3))
      #expect(try keys(try PostgresEngine(new, name: "store")) == [[1], [2]])
      expectError(.newerFormat) { try put(engine, [3]) }
    }

    @Test("of upgrades at once, one runs the steps, and the others find them done")
    func concurrentUpgrades() throws {
      _ = try makeStore()
      let results = Locked<[String]>([])
      let group = DispatchGroup()
      for cluster in (0..<4).map({ _ in database.cluster(Self.newest) }) {
        group.enter()
        Thread.detachNewThread {
          let result: String
          do {
            let upgrade = try cluster.upgrade()
            result = "\(upgrade.from) to \(upgrade.to)"
          } catch {
            result = "\(error)"
          }
          results.withLock { $0.append(result) }
          group.leave()
        }
      }
      #expect(group.wait(timeout: .now() + 600) == .success)
      #expect(results.withLock { $0.sorted() } == ["1 to 3", "3 to 3", "3 to 3", "3 to 3"])
    }

    @Test("an upgrade with a step that fails changes nothing")
    func failingStep() throws {
      let engine = try makeStore()
      let broken = SchemaVersions.Step(version: 3, minimum: 3, statements: ["ALTER TABLE kvclone.missing ADD a int4"])
      let new = database.cluster(SchemaVersions(oldest: 1, steps: [Self.second, broken]))
      #expect(throws: StoreError.self) { try new.upgrade() }
      #expect(try version() == [1, 1])
      #expect(
        try database.integer(
          "SELECT count(*) FROM pg_attribute WHERE attrelid = 'kvclone.store'::regclass AND attname = 'note'") == 0)
      try put(engine, [2])
      #expect(try keys(engine) == [[1], [2]])
    }

    @Test("a new schema has the version of its library; one that is too old or has no version names the remedy")
    func newSchema() throws {
      expectError(.storeNotFound) { try old.upgrade() }
      let new = database.cluster(Self.newest)
      try new.install()
      #expect(try version() == [3, 3])
      #expect(try database.integer("SELECT count(*) FROM kvclone.extra") == 0)
      let newer = SchemaVersions(
        oldest: 4, steps: Self.newest.steps + [.init(version: 4, minimum: 4, statements: [])])
      let newest = database.cluster(newer)
      let error = expectError(.olderFormat) { _ = try newest.stores() }
      #expect(error?.message.contains("kvclone cluster install --upgrade") == true)
      expectError(.olderFormat) { try newest.install() }
      #expect(try newest.upgrade() == PostgresCluster.SchemaUpgrade(from: 3, to: 4))
      #expect(try newest.stores().isEmpty)
      _ = try database.integer("DELETE FROM kvclone.schema_version")
      let missing = expectError(.invalidStore) { _ = try newest.stores() }
      #expect(missing?.message.contains("kvclone cluster install") == true)
      expectError(.invalidStore) { try newest.upgrade() }
    }

    // MARK: Stores

    /// Raises the format of a store to a version that this library does not know.
    private func raiseFormat(_ engine: any StorageEngine) throws {
      let metadata = try engine.openTables([.metadata], create: false)[0]
      var transaction = StorageTransaction(
        try engine.beginWrite(label: "newer", timeout: .seconds(10), isDryRun: false))
      var format = try #require(try Metadata.format(transaction, metadata))
      format.raise(to: FormatLimits.formatVersion + 1)
      try transaction.put(metadata, MetadataKey.bytes(MetadataKey.format), format.encoded())
      try transaction.commit()
    }

    @Test("a format of a store that is raised while it is open is refused at the next opening, as in a directory")
    func raisedStoreFormat() throws {
      try old.install()
      let path = NSTemporaryDirectory() + "/kvclone-" + UUID().uuidString
      defer { try? FileManager.default.removeItem(atPath: path) }
      let stores = [
        try old.createStore("store", model: CheckFixture.model),
        try ObjectStore.create(at: path, model: CheckFixture.model),
      ]
      for store in stores {
        let isInCluster = store.path == "store"
        try store.insert("Tag", ["name": .string("first")])
        try raiseFormat(isInCluster ? try PostgresEngine(database.cluster(), name: "store") : store.engine)
        try store.insert("Tag", ["name": .string("second")])
        #expect(try store.info().objectCount == 2)
        #expect(try store.info().formatVersion == Int(FormatLimits.formatVersion) + 1)
        store.close()
        expectError(.newerFormat) {
          _ = try isInCluster ? old.openStore("store") : ObjectStore.open(at: path)
        }
      }
      expectError(.newerFormat) { _ = try old.openStore("store", model: CheckFixture.model) }
      expectError(.newerFormat) { _ = try old.migrate("store", to: CheckFixture.model) }
      #expect(try old.stores().map(\.name) == ["store"])
    }

    private static func model(_ version: String, _ attribute: String) -> ManagedObjectModel {
      ManagedObjectModel("Notes", version: version) {
        EntityDescription("Note") { AttributeDescription(attribute, .string, optional: true) }
      }
    }

    @Test("a store that another process migrates while it is open is refused until it is opened again")
    func migratedElsewhere() throws {
      try old.install()
      let store = try old.createStore("store", model: Self.model("1", "title"))
      let note = try store.insert("Note", ["title": .string("before")])
      try database.cluster().migrate("store", to: Self.model("2", "text"))
      expectError(.incompatibleModel) { _ = try store.value(note, "title") }
      expectError(.incompatibleModel) { try store.insert("Note", ["title": .string("after")]) }
      store.close()
      let again = try old.openStore("store", model: Self.model("2", "text"))
      #expect(try again.info().objectCount == 1)
      again.close()
    }
  }
#endif
