import KVCloneTestSupport
import Testing

@testable import KVCloneExplorer

/// Requests under other host names are refused: the defence against DNS rebinding.
@Suite(.bounded) struct HostGuardTests {
  private let test: TestStore
  private let explorer: Explorer

  init() throws {
    test = try TestStore(noteModel)
    explorer =
      ExplorerClient(test.store) {
        $0.allowedHosts = ["localhost:8080", "127.0.0.1:8080", "[::1]:8080", "Store.Example"]
      }.explorer
  }

  private func status(_ hosts: [String]) async -> Int {
    let headers = hosts.map { (name: "hOST", value: $0) }
    return await explorer.respond(to: ExplorerRequest(path: "/assets/explorer.css", headers: headers)).status
  }

  @Test(arguments: [
    "localhost:8080", "LOCALHOST:8080", "localhost.:8080", "127.0.0.1:8080", "[::1]:8080", "store.example",
    "store.example:80", "store.example:443", "STORE.EXAMPLE.",
  ])
  func allowedNamesAreAnswered(host: String) async {
    #expect(await status([host]) == 200)
  }

  @Test(arguments: [
    "evil.example", "evil.example:8080", "localhost", "localhost:8081", "localhost.evil.example:8080",
    "127.0.0.1:8080.evil.example", "[::2]:8080", "store.example:8080", "xlocalhost:8080",
  ])
  func otherNamesAreRefused(host: String) async {
    let status = await status([host])
    #expect(status == 421 || status == 400)
  }

  @Test(arguments: [
    "", ":8080", "localhost:", "localhost:+8080", "localhost:080808080", "localhost:8080:8080", "[::1", "[]:8080",
    "[::1]8080", "local host:8080", "localhost:8080/", "user@localhost:8080", "localhost:8080\u{0}", "ſtore.example",
    "localhost:٨٠٨٠", "..", ".",
  ])
  func malformedNamesAreRefused(host: String) async {
    let status = await status([host])
    #expect(status == 400 || status == 421)
  }

  @Test func aRequestHasOneHost() async {
    #expect(await status([]) == 400)
    #expect(await status(["localhost:8080", "localhost:8080"]) == 400)
    #expect(await status(["localhost:8080", "evil.example"]) == 400)
  }

  @Test func withoutAListEveryNameIsAnswered() async {
    let open = ExplorerClient(test.store).explorer
    for headers in [[], [("Host", "any.example:1")]] as [[(name: String, value: String)]] {
      #expect(await open.respond(to: ExplorerRequest(path: "/assets/explorer.css", headers: headers)).status == 200)
    }
  }

  @Test func theRefusalShowsNothingOfTheStore() async {
    let response = await explorer.respond(
      to: ExplorerRequest(path: "/", headers: [("Host", "evil.example")]))
    #expect(response.status == 421)
    #expect(!response.text.contains("Notes"))
    #expect(response.text.contains("allowed hosts"))
  }
}
