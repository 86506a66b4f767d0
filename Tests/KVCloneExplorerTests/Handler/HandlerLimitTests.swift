import KVCloneTestSupport
import Testing

@testable import KVCloneExplorer

/// Sizes, methods and headers of requests and responses.
@Suite(.bounded) struct HandlerLimitTests {
  private let test: TestStore
  private let client: ExplorerClient

  init() throws {
    test = try TestStore(noteModel)
    client = ExplorerClient(
      test.store, { ($0.maximumBodySize, $0.maximumTargetSize, $0.allowsWrites) = (10, 100, true) },
      routes: EchoPage.routes)
  }

  @Test func longTargetsAreRefused() async {
    let name = String(repeating: "a", count: 93)
    #expect(await client.send("GET", "/names/\(name)").status == 200)
    #expect(await client.send("GET", "/names/\(name)a").status == 414)
    #expect(await client.send("GET", "/?\(name)aaaaaaa").status == 414)
  }

  @Test func longBodiesAreRefused() async {
    let headers = [
      (name: "Origin", value: "http://\(ExplorerClient.host)"),
      (name: "Content-Type", value: "application/x-www-form-urlencoded"),
    ]
    #expect(await client.send("POST", "/names/a", headers, body: "x=12345678").status == 200)
    #expect(await client.send("POST", "/names/a", headers, body: "x=123456789").status == 413)
    #expect(await client.send("GET", "/names/a", body: "x=123456789").status == 413)
  }

  @Test func manyAndLongHeadersAreRefused() async {
    let many = (0..<100).map { (name: "X-\($0)", value: "") }
    #expect(await client.send("GET", "/", Array(many.dropLast())).status == 200)
    #expect(await client.send("GET", "/", many).status == 431)
    #expect(await client.send("GET", "/", [("X", String(repeating: "x", count: 64 << 10))]).status == 431)
  }

  @Test func manyItemsAreRefused() async {
    let client = ExplorerClient(test.store, routes: EchoPage.routes)
    let items = String(repeating: "&", count: 999)
    #expect(await client.send("GET", "/?\(items)").status == 200)
    #expect(await client.send("GET", "/?\(items)&").status == 413)
    #expect(await client.send("GET", "/", body: items + "&").status == 413)
  }

  @Test(arguments: ["PUT", "DELETE", "OPTIONS", "TRACE", "CONNECT", "get", "", "G\u{0}T", "PROPFIND"])
  func otherMethodsAreRefused(method: String) async {
    let response = await client.send(method, "/names/a")
    #expect(response.status == 405)
    #expect(response.header("Allow") == "GET, HEAD, POST")
  }

  @Test func aPageHasItsOwnMethods() async {
    let origin = (name: "Origin", value: "http://\(ExplorerClient.host)")
    let posted = await client.send("POST", "/", [origin])
    #expect(posted.status == 405)
    #expect(posted.header("Allow") == "GET, HEAD")
    let read = await client.send("GET", "/only-posted")
    #expect(read.status == 405)
    #expect(read.header("Allow") == "POST")
    #expect(await client.send("HEAD", "/only-posted").status == 405)
  }

  @Test func headHasTheHeadersOfThePageWithoutItsBody() async {
    let get = await client.send("GET", "/names/a.json")
    let head = await client.send("HEAD", "/names/a.json")
    #expect(head.status == 200)
    #expect(head.text.isEmpty)
    #expect(head.header("Content-Length") == "\(get.text.utf8.count)")
    #expect(head.headers.map(\.name) == get.headers.map(\.name))
  }

  @Test(arguments: [
    ("GET", "/names/a"), ("GET", "/names/a.json"), ("GET", "/nowhere"), ("PUT", "/"), ("GET", "x"), ("GET", "/%"),
    ("GET", "/?%"), ("POST", "/"),
  ])
  func everyResponseRestrictsTheBrowser(method: String, target: String) async throws {
    let response = await client.send(method, target)
    let policy = try #require(response.header("Content-Security-Policy"))
    #expect(policy == SecurityHeaders.contentSecurityPolicy)
    #expect(!policy.contains("unsafe"))
    #expect(response.header("X-Content-Type-Options") == "nosniff")
    #expect(response.header("X-Frame-Options") == "DENY")
    #expect(response.header("Referrer-Policy") == "same-origin")
    #expect(response.header("Cross-Origin-Opener-Policy") == "same-origin")
    #expect(response.header("Cross-Origin-Resource-Policy") == "same-origin")
    #expect(response.header("Cache-Control") == "no-store")
  }

  @Test func onlyTheCurrentVersionOfAnAssetIsKept() async {
    let client = ExplorerClient(test.store)
    for asset in [Asset.stylesheet, .script] {
      let current = await client.send("GET", asset.path)
      #expect(current.header("Cache-Control") == "public, max-age=31536000, immutable")
      #expect(current.text == asset.text)
      #expect(current.header("Vary") == nil)
      let old = await client.send("GET", "/assets/\(asset.name)?v=0")
      #expect(old.header("Cache-Control") == "no-cache")
    }
  }

  @Test func aPageCannotWeakenThePolicyOrBeginAHeader() async {
    let routes: [Route] = [
      .get("/") { _ in
        .response(
          ExplorerResponse(
            status: 200,
            headers: [
              ("content-security-policy", "sandbox"), ("x-frame-options", "ALLOW"),
              ("Content-Disposition", "a\r\nSet-Cookie: x=1\u{0}\u{7F}"),
            ]))
      }
    ]
    let response = await ExplorerClient(test.store, routes: routes).send("GET", "/")
    #expect(response.header("Content-Security-Policy") == SecurityHeaders.contentSecurityPolicy + ", sandbox")
    #expect(response.header("content-security-policy") == nil)
    #expect(response.header("X-Frame-Options") == "DENY")
    #expect(response.header("x-frame-options") == nil)
    #expect(response.header("Content-Disposition") == "aSet-Cookie: x=1")
  }
}
