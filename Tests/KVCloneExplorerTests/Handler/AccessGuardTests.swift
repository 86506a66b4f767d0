import KVCloneTestSupport
import Testing

@testable import KVCloneExplorer

/// The token is exchanged for a cookie, and nothing of the store is shown without either.
@Suite(.bounded) struct AccessGuardTests {
  private let test: TestStore
  private let client: ExplorerClient

  init() throws {
    test = try TestStore(noteModel)
    client = ExplorerClient(test.store, { $0.token = "sëcret+1" }, routes: EchoPage.routes)
  }

  private static let token = "s%C3%ABcret%2B1"

  /// The cookie as a browser sends it.
  private func cookie(_ client: ExplorerClient) async throws -> String {
    let response = await client.send("GET", "/?token=\(Self.token)")
    return String(try #require(response.header("Set-Cookie")).prefix { $0 != ";" })
  }

  @Test(arguments: [
    "/", "/names/a", "/names/a.json", "/names/a.csv", "/nowhere", "/?token=", "/?token=wrong", "/?token=secret",
    "/?token=s%C3%ABcret", "/?token=s%C3%ABcret%2B11", "/?x=1&token=no&token=\(Self.token)",
  ])
  func nothingIsShownWithoutTheToken(target: String) async {
    let response = await client.send("GET", target, [("Cookie", "kvclone=1; other=\(Self.token)")])
    #expect(response.status == 401)
    #expect(!response.text.contains("Notes"))
    #expect(response.header("Set-Cookie") == nil)
    #expect(response.header("WWW-Authenticate") != nil)
  }

  @Test(arguments: [
    ("/?token=\(Self.token)", "/"), ("/names/a%20b?token=\(Self.token)&x=1", "/names/a%20b?x=1"),
    ("/names/a.json?y=%2F&token=\(Self.token)", "/names/a.json?y=%2F"),
    ("//evil.example/%2e%2e?token=\(Self.token)", "/evil.example/..~"),
  ])
  func theTokenIsExchangedForACookie(target: String, location: String) async throws {
    let response = await client.send("GET", target)
    #expect(response.status == 303)
    #expect(response.header("Location") == location)
    let cookie = try #require(response.header("Set-Cookie"))
    #expect(cookie.hasSuffix("; Path=/; SameSite=Strict; HttpOnly"))
    #expect(!cookie.contains("cret"))
    let next = await client.send("GET", "/names/a", [("Cookie", "a=b; \(cookie.prefix { $0 != ";" }); c=d")])
    #expect(next.status == 200)
  }

  @Test func theCookieIsOfOneExplorerAndPort() async throws {
    let cookie = try await cookie(client)
    var other = client
    other.headers = [("Host", "127.0.0.1:8081")]
    #expect(try await self.cookie(other).prefix { $0 != "=" } != cookie.prefix { $0 != "=" })
    #expect(await other.send("GET", "/", [("Cookie", cookie)]).status == 401)
    let restarted = ExplorerClient(test.store, { $0.token = "sëcret+1" }, routes: EchoPage.routes)
    #expect(await restarted.send("GET", "/", [("Cookie", cookie)]).status == 401)
    #expect(await client.send("GET", "/", [("Cookie", cookie + "0")]).status == 401)
    #expect(await client.send("GET", "/", [("Cookie", cookie)]).status == 200)
  }

  @Test func theURLWithTheTokenWorksAgain() async throws {
    let cookie = try await cookie(client)
    let response = await client.send("GET", "/names/a?token=old", [("Cookie", cookie)])
    #expect(response.status == 303)
    #expect(response.header("Location") == "/names/a")
  }

  @Test func scriptsSendTheTokenAsAHeader() async {
    #expect(await client.send("GET", "/", [("Authorization", "Bearer sëcret+1")]).status == 200)
    #expect(await client.send("GET", "/", [("Authorization", "bearer sëcret+1")]).status == 200)
    for value in ["Bearer", "Bearer ", "Bearer secret", "Basic sëcret+1", "sëcret+1"] {
      #expect(await client.send("GET", "/", [("Authorization", value)]).status == 401, "\(value)")
    }
  }

  @Test func thePageOfARefusalHasItsStyle() async {
    let response = await client.send("GET", "/names/%3Cb%3E?token=old&x=%22")
    #expect(response.text.contains("href=\"/names/%3Cb%3E?x=%22\""))
    let stylesheet = await client.send("GET", Asset.stylesheet.path)
    #expect(stylesheet.status == 404, "the routes of this test have no style sheet")
    let complete = ExplorerClient(test.store) { $0.token = "x" }
    #expect(await complete.send("GET", Asset.stylesheet.path).status == 200)
  }

  @Test func thePathOfTheCookieIsTheBasePath() async throws {
    let mounted = ExplorerClient(
      test.store, { ($0.token, $0.basePath) = ("x", "/tools/store/") }, routes: EchoPage.routes)
    let response = await mounted.send("GET", "/tools/store/?token=x&a=1")
    #expect(response.header("Location") == "/tools/store/?a=1")
    #expect(try #require(response.header("Set-Cookie")).contains("; Path=/tools/store;"))
  }

  @Test(arguments: [
    ("", "", true), ("a", "a", true), ("a", "b", false), ("a", "ab", false), ("ab", "a", false), ("", "a", false),
  ])
  func comparisonIsExact(left: String, right: String, areEqual: Bool) {
    #expect(AccessGuard.areEqual(Array(left.utf8), Array(right.utf8)) == areEqual)
  }
}
