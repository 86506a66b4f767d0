#if Postgres
  import KVCloneCore
  import KVCloneTestSupport
  import Testing

  @testable import KVClone
  @testable import KVClonePostgres

  @Suite(
    "The same store in a cluster", .serialized, .enabled(if: ClusterFixture.isAvailable, "KVCLONE_POSTGRES names none"))
  struct SameStoreTests {
    @Test("two openings of a store are one store, also by two cluster objects, and a copy is another one")
    func openings() throws {
      let server = try PostgresServer(caches: true, isEmpty: true)
      defer { server.drop() }
      let other = PostgresCluster(PostgresServer.address ?? "")
      defer { other.close() }
      let copyName = server.name + "-copy"
      let source = try server.cluster.createStore(server.name, model: CheckFixture.model)
      let again = try other.openStore(server.name)
      try server.cluster.copyStore(server.name, to: other, as: copyName)
      defer { try? other.drop(copyName) }
      let copy = try other.openStore(copyName)
      let tag = try source.insert("Tag", ["name": .string("green")])
      #expect(copy.uuid == source.uuid)
      #expect(try source.clone([tag], into: copy).objectCount == 1)
      for same in [again, source] {
        do {
          _ = try source.clone([tag], into: same)
          Issue.record("the clone within one store was accepted")
        } catch let error as CloneError {
          #expect(error.kind == .invalidConfiguration, "\(error.message)")
        }
      }
    }
  }
#endif
