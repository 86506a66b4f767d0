import KVClone
import KVCloneCore
import KVCloneTestSupport
import Testing

@testable import KVCloneExplorer

/// The format of a page, and names that look like formats or like parts of paths.
@Suite(.bounded) struct FormatTests {
  private let test: TestStore
  private let client: ExplorerClient

  init() throws {
    test = try TestStore(noteModel)
    client = ExplorerClient(test.store, routes: EchoPage.routes)
  }

  @Test(
    arguments: [
      (nil, "text/html; charset=utf-8"), ("", "text/html; charset=utf-8"), ("*/*", "text/html; charset=utf-8"),
      ("application/json", "application/json"), ("text/csv", "text/csv; charset=utf-8"),
      ("text/*", "text/html; charset=utf-8"), ("application/*", "application/json"),
      ("text/html;q=0.5, application/json", "application/json"),
      ("text/html, application/json;q=0.9", "text/html; charset=utf-8"),
      ("text/csv ; q=0.8, application/json;q=0.7, */*;q=0.1", "text/csv; charset=utf-8"),
      ("*/*, text/html;q=0", "application/json"),
      ("text/html;q=0, application/json;q=0, */*", "text/csv; charset=utf-8"),
      ("text/*;q=0.9, text/html;q=0.1, application/json;q=0.5", "text/csv; charset=utf-8"),
      ("image/png", "text/html; charset=utf-8"), ("application/json;q=2", "text/html; charset=utf-8"),
      ("application/json;q=nan", "text/html; charset=utf-8"), (",;,;;q=,", "text/html; charset=utf-8"),
      ("APPLICATION/JSON", "application/json"),
      ("text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8", "text/html; charset=utf-8"),
    ] as [(String?, String)])
  func theClientChoosesAFormat(accept: String?, expected: String) async {
    let response = await client.send("GET", "/names/a", accept.map { [("Accept", $0)] } ?? [])
    #expect(response.header("Content-Type") == expected)
    #expect(response.header("Vary") == "Accept")
  }

  @Test func aSuffixTakesPrecedence() async {
    let json = await client.send("GET", "/names/a.json", [("Accept", "text/html")])
    #expect(json.text == "{\"name\":\"a\",\"form\":\"\"}\n")
    #expect(json.header("Vary") == nil)
    #expect(await client.send("GET", "/names/a.csv").text == "name,form\na,\"\"\n")
    #expect(await client.send("GET", "/.json").text == "{\"name\":\"root\",\"form\":\"\"}\n")
  }

  @Test(arguments: [
    "a", ".", "..", "~", "a~", "...", ".json", "a.json", "a.csv", "a.json~", "b.html", "place.latitude", "a/b", "a?b#c",
    "a%2Fb", "../../etc/passwd", "\u{0}", "\u{202E}", "<script>", "\"'&", "a b+c", "🧀", "e\u{301}", "\u{301}.json",
    "assets", "a.json.json", "\r\nSet-Cookie: x=1",
  ])
  func everyNameHasAPathInEveryFormat(name: String) async throws {
    let base = NamePath.of(name)
    #expect(!base.contains("/../") && !base.hasSuffix("/..") && !base.hasSuffix("/."))
    let expected = EchoText.json(name)
    #expect(await client.send("GET", base + ".json").text == expected)
    #expect(await client.send("GET", base, [("Accept", "application/json")]).text == expected)
    let page = await client.send("GET", base)
    #expect(page.text.contains("href=\"\(base)\""))
    #expect(page.text.contains("href=\"\(base).json\""))
    #expect(!page.text.contains("<script>"))
  }

  @Test(arguments: [
    "/..", "/../..", "/names/..", "/names/../../etc/passwd", "/names/%2e%2e/%2e%2e", "/assets/../names/a",
  ])
  func pathsDoNotLeadUpwards(path: String) async {
    let status = await client.send("GET", path).status
    // As a name, it is one of the store.
    #expect(status == (path == "/names/.." ? 200 : 404))
  }

  @Test(arguments: ["", "x", "*", "http://127.0.0.1:8080/", "/names/%", "/names/%F", "/names/%FF", "/names/%C3%28"])
  func malformedPathsAreRefused(path: String) async {
    #expect(await client.send("GET", path).status == 400)
  }

  @Test func thePathIsBelowTheBasePath() async {
    let client = ExplorerClient(test.store, { $0.basePath = "tools/store" }, routes: EchoPage.routes)
    let page = await client.send("GET", "/tools/store/names/a?x=1")
    #expect(page.status == 200)
    #expect(page.text.contains("href=\"/tools/store/names/a\""))
    #expect(page.text.contains("href=\"/tools/store/names/a.json?x=1\""))
    let base = await client.send("GET", "/tools/store?x=%0d%0a")
    #expect(base.status == 303)
    #expect(base.header("Location") == "/tools/store/?x=%0D%0A")
    #expect(await client.send("GET", "/tools/store/").status == 200)
    for path in ["/", "/names/a", "/tools/storenames/a", "/tools/", "/tools/STORE/"] {
      #expect(await client.send("GET", path).status == 404, "\(path)")
    }
  }

  @Test func linksStayOnTheHost() async {
    let page = await client.send("GET", "//names//evil.example")
    #expect(page.status == 200)
    #expect(!page.text.contains("\"//"))
  }
}

private enum NamePath {
  /// The path of the test's page of a name.
  static func of(_ name: String) -> String { "/names/" + PathSegment.encode(name) }
}

private enum EchoText {
  static func json(_ name: String) -> String {
    JSONWriter.object { json in
      json.member("name", name)
      json.member("form", "")
    } + "\n"
  }
}
