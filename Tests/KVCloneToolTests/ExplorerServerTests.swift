#if Explorer
  import KVClone
  import KVCloneExplorer
  import Testing

  @testable import KVCloneTool

  @Suite("kvclone: server of explore")
  struct ExplorerServerTests {
    @Test("the explorer is shut down with its server")
    func shutdown() async throws {
      let scratch = try Scratch.filled(1)
      let store = try ObjectStore.open(at: scratch.store)
      defer { store.close() }
      let explorer = Explorer(store)
      let request = ExplorerRequest(path: "/", headers: [("Host", "127.0.0.1")])
      #expect(await explorer.respond(to: request).status == 200)
      let address = try ExploreAddress(listeningOn: "127.0.0.1", port: 0)
      let server = ExplorerServer(address.socket, explorer, ExplorerOptions(), launchCode: nil)
      let run = Task { try await server.run() }
      run.cancel()
      await #expect(throws: (any Error).self) { try await run.value }
      #expect(await explorer.respond(to: request).status == 503)
    }
  }
#endif
