import KVClone
import KVCloneTestSupport
import Testing

@testable import KVCloneExplorer

/// Changes come from pages of the explorer, and only if they are allowed.
@Suite(.bounded) struct OriginGuardTests {
  private let test: TestStore
  private let client: ExplorerClient

  init() throws {
    test = try TestStore(noteModel)
    client = ExplorerClient(test.store, { $0.allowsWrites = true }, routes: EchoPage.routes)
  }

  private static let form = (name: "Content-Type", value: "application/x-www-form-urlencoded; charset=UTF-8")

  @Test(
    arguments: [
      [("Origin", "http://127.0.0.1:8080")], [("Origin", "HTTP://127.0.0.1:8080")], [("Sec-Fetch-Site", "same-origin")],
      [("Origin", "null"), ("Sec-Fetch-Site", "same-origin")],
      [("Origin", "https://proxy.example"), ("Sec-Fetch-Site", "same-origin")],
    ] as [[(name: String, value: String)]])
  func pagesOfTheExplorerChangeTheStore(headers: [(name: String, value: String)]) async {
    let response = await client.send("POST", "/names/a.json", headers + [Self.form], body: "x=1+2&y=%3C")
    #expect(response.status == 200)
    #expect(response.text.contains("x=1%202&y=%3C"))
  }

  @Test(
    arguments: [
      [], [("Origin", "null")], [("Origin", "http://evil.example")], [("Origin", "http://127.0.0.1:8081")],
      [("Origin", "http://127.0.0.1")], [("Origin", "127.0.0.1:8080")], [("Origin", "ftp://127.0.0.1:8080")],
      [("Origin", "http://127.0.0.1:8080.evil.example")], [("Origin", "http://127.0.0.1:8080/")],
      [("Sec-Fetch-Site", "same-site")], [("Sec-Fetch-Site", "cross-site")], [("Sec-Fetch-Site", "none")],
      [("Origin", "http://evil.example"), ("Sec-Fetch-Site", "cross-site")],
      [("Origin", "http://127.0.0.1:8080"), ("Origin", "http://evil.example")],
      [("Sec-Fetch-Site", "same-origin"), ("Sec-Fetch-Site", "same-origin")],
    ] as [[(name: String, value: String)]])
  func pagesOfOtherOriginsChangeNothing(headers: [(name: String, value: String)]) async {
    let response = await client.send("POST", "/names/a.json", headers + [Self.form], body: "x=1")
    #expect(response.status == 403)
    #expect(response.text.contains("wrongOrigin"))
  }

  @Test func otherSitesMayOnlyLink() async {
    for site in ["cross-site", "same-site"] {
      for mode in ["no-cors", "cors", "websocket", ""] {
        let headers = [(name: "Sec-Fetch-Site", value: site), (name: "Sec-Fetch-Mode", value: mode)]
        #expect(await client.send("GET", "/names/a", headers).status == 403)
      }
      let headers = [(name: "Sec-Fetch-Site", value: site), (name: "Sec-Fetch-Mode", value: "navigate")]
      #expect(await client.send("GET", "/names/a", headers).status == 200)
    }
    for site in ["same-origin", "none"] {
      #expect(await client.send("GET", "/names/a", [("Sec-Fetch-Site", site)]).status == 200)
    }
  }

  private static let own: (name: String, value: String) = ("Origin", "http://127.0.0.1:8080")

  @Test func readOnlyExplorersChangeNothing() async throws {
    let reader = ExplorerClient(test.store, routes: EchoPage.routes)
    let response = await reader.send("POST", "/names/a.json", [Self.own])
    #expect(response.status == 403)
    #expect(response.text.contains("readOnly"))
    var options = StoreOptions()
    options.isReadOnly = true
    try test.reopen(options: options)
    let writer = ExplorerClient(test.store, { $0.allowsWrites = true }, routes: EchoPage.routes)
    #expect(await writer.send("POST", "/names/a", [Self.own]).status == 403)
  }

  @Test(arguments: ["application/json", "multipart/form-data; boundary=x", "text/plain", ""])
  func bodiesAreForms(contentType: String) async {
    let response = await client.send("POST", "/names/a", [Self.own, ("Content-Type", contentType)], body: "x=1")
    #expect(response.status == 415)
  }

  @Test(arguments: ["x=%", "x=%zz", "%FF=1", "x=%C3%28"])
  func malformedFormsAreRefused(body: String) async {
    #expect(await client.send("POST", "/names/a", [Self.own, Self.form], body: body).status == 400)
  }

  @Test func changesRedirectToTheirResult() async {
    let response = await client.send("POST", "/only-posted?at=s", [Self.own])
    #expect(response.status == 303)
    #expect(response.header("Location") == "/names/new?at=s")
  }
}
