import Foundation
import KVClone
import KVCloneCore
import KVCloneModel
import KVCloneTestSupport
import Testing

@testable import KVCloneExplorer

/// Errors of handlers become responses with a status, a kind and a remedy.
@Suite(.bounded) struct ErrorReportTests {
  private let test: TestStore

  init() throws { test = try TestStore(noteModel) }

  /// Returns the response of a page that throws an error.
  private func response(_ error: any Error, _ target: String = "/") async -> ExplorerResponse {
    await ExplorerClient(test.store, routes: [.get("/") { _ in throw error }]).send("GET", target)
  }

  @Test(
    arguments: [
      (.objectNotFound, 404), (.snapshotNotFound, 404), (.unknownEntity, 404), (.unknownProperty, 404),
      (.invalidObjectName, 400), (.invalidPredicate, 400), (.wrongType, 400), (.readOnly, 403), (.staleObject, 409),
      (.snapshotHeld, 409), (.busy, 503), (.readersFull, 503), (.closed, 503), (.diskFull, 507), (.mapFull, 507),
      (.unsupportedByEngine, 501), (.corrupted, 500), (.io, 500), (.cancelled, 503), (.limitExceeded, 400),
    ] as [(StoreError.Kind, Int)])
  func storeErrorsHaveAStatus(kind: StoreError.Kind, status: Int) async {
    let error = StoreError(kind, "it failed; do this", entity: "Note", property: "title", object: "Note/1")
    let response = await response(error, "/.json")
    #expect(response.status == status)
    #expect((response.header("Retry-After") != nil) == (status == 503))
    if kind == .cancelled { return }
    #expect(
      response.text == """
        {"message_type":"error","status":\(status),"kind":"\(kind.rawValue)","entity":"Note","object":"Note/1",\
        "property":"title","message":"it failed; do this"}

        """)
  }

  @Test func otherErrorsHaveAStatus() async throws {
    #expect(await response(CloneError(.uniquenessConflict, "no")).status == 409)
    #expect(await response(CloneError(.parentUnavailable, "no")).status == 422)
    #expect(await response(CloneError(.cancelled, "no")).status == 503)
    #expect(await response(CancellationError()).status == 503)
    #expect(
      await response(try #require(throws: QueryFormatError.self) { try QueryPredicate(format: "a ==") }).status == 400)
  }

  @Test func unknownErrorsShowNoValues() async {
    struct Leak: Error, LocalizedError {
      var secret = "s3cret"
      var errorDescription: String? { secret }
    }
    let response = await response(Leak())
    #expect(response.status == 500)
    #expect(!response.text.contains("s3cret"))
    #expect(response.text.contains("Leak"))
  }

  @Test func messagesAreEscapedInEveryFormat() async {
    let error = StoreError(.objectNotFound, "<img src=x>\r\n\"a\",b", entity: "<b>", object: "\u{202E}")
    let page = await response(error)
    #expect(page.status == 404)
    #expect(!page.text.contains("<img") && !page.text.contains("<b>") && !page.text.contains("\u{202E}"))
    #expect(page.text.contains("<h1>Not found</h1>"))
    #expect(page.text.contains("role=\"alert\""))
    let csv = await response(error, "/.csv")
    #expect(
      csv.text == """
        status,kind,entity,object,property,message
        404,objectNotFound,<b>,\u{202E},,"<img src=x> ""a"",b"

        """)
  }

  @Test func everyKindHasAStatusAndAText() {
    for kind in ExplorerError.Kind.allCases {
      let report = ErrorReport(ExplorerError(kind, "x"))
      #expect((400...599).contains(report.status))
      #expect(!ErrorPage(report: report).title.isEmpty)
    }
  }

  @Test func missingSnapshotsAreNotFound() async {
    let routes: [Route] = [.get("/") { context in .page(EchoPage(name: "\(try await context.read { _ in 1 })")) }]
    let client = ExplorerClient(test.store, routes: routes)
    #expect(await client.send("GET", "/").status == 200)
    let response = await client.send("GET", "/?at=nothing")
    #expect(response.status == 404)
    #expect(response.text.contains("snapshotNotFound"))
  }
}
