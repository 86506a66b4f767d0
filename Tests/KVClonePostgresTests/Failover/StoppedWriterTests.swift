#if Postgres
  import Foundation
  import KVClone
  import KVCloneOperations
  import KVCloneTestSupport
  import Testing

  @testable import KVClonePostgres

  /// `KVCLONE_POSTGRES_ROUNDS` is the number of stopped processes.
  @Suite(
    "Stopped processes with a write transaction", .serialized,
    .enabled(if: ClusterFixture.isAvailable, "KVCLONE_POSTGRES names none"))
  struct StoppedWriterTests {
    private static let model = ManagedObjectModel("Stopped") {
      EntityDescription("Item") { AttributeDescription("text", .string) }
    }
    private static let idleLimit = 6_000

    @Test("a stopped process is fenced after its idle limit, and its commit fails when it continues")
    func fenced() throws {
      let server = try PostgresServer(caches: true, isEmpty: true)
      defer { server.drop() }
      let store = try server.cluster.createStore(server.name, model: Self.model)
      defer { store.close() }
      let location = "\(PostgresServer.address ?? "")\t\(server.name)\t\(32 << 20)\t\(Self.idleLimit)"
      for round in 0..<CampaignSize.rounds(default: 2) {
        let peer = try PeerProcess("write", [location, "Item"])
        #expect(peer.hear() == "writing")
        kill(peer.process.processIdentifier, SIGSTOP)
        defer { peer.kill() }
        // It has the lock until the limit.
        try store.write(timeout: .seconds(120)) { tx in
          try tx.insert("Item", ["text": .string("round \(round)")])
        }
        kill(peer.process.processIdentifier, SIGCONT)
        try peer.tell("commit")
        #expect(peer.hear() == "commit error io")
        #expect(try store.objects("Item").count == round + 1)
      }
      let issues = try server.cluster.openStore(server.name).check().issues
      #expect(issues.isEmpty, "\(issues.prefix(3).map(\.message))")
    }
  }
#endif
