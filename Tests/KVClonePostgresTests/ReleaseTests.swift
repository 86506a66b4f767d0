#if Postgres
  import Foundation
  import KVClone
  import KVCloneCore
  import KVCloneTestSupport
  import Testing

  /// Stores that are closed keep nothing of the process.
  @Suite("Stores that are closed", .enabled(if: ClusterFixture.isAvailable, "KVCLONE_POSTGRES names none"))
  struct ReleaseTests {
    /// A process that serves thousands of tenants opens and closes their stores all the time.
    @Test("a closed store is released with its engine and its cache", arguments: [true, false])
    func closedStore(caches: Bool) throws {
      let test = try TestStore(stagingModel, engine: .postgres(caches: caches))
      weak var store: ObjectStore?
      weak var engine: (any StorageEngine)?
      func use() throws {
        (store, engine) = (test.store, test.store.engine)
        let ids = try test.store.insert("File", count: 4)
        try test.store.createSnapshot(named: "one")
        try test.store.write { tx in try tx.set(ids[0], "data", .binary(Data(repeating: 1, count: 100_000))) }
        #expect(try test.store.data(ids[0], "data")?.count == 100_000)
        #expect(try test.store.snapshot(named: "one").read { try $0.count(entity: "File") } == 4)
        try test.reopen()
      }
      try use()
      #expect(store == nil, "the store is retained")
      #expect(engine == nil, "the engine is retained")
      try checked(test.store)
    }
  }
#endif
