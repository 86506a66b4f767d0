import KVClone
import KVCloneTestSupport
import Testing

@testable import KVCloneExplorer

/// Sends requests to an explorer as a browser does.
struct ExplorerClient: Sendable {
  static let host = "127.0.0.1:8080"

  let explorer: Explorer
  /// Sent with every request.
  var headers: [(name: String, value: String)] = [("Host", host)]

  init(_ store: ObjectStore, _ change: (inout ExplorerOptions) -> Void = { _ in }, routes: [Route]? = nil) {
    var options = ExplorerOptions()
    options.requestTimeLimit = .unreached
    change(&options)
    explorer = routes.map { Explorer(store, options: options, routes: $0) } ?? Explorer(store, options: options)
  }

  /// - Parameter target: path and query.
  func send(
    _ method: String = "GET", _ target: String, _ headers: [(name: String, value: String)] = [], body: String = ""
  ) async -> ExplorerResponse {
    let parts = target.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
    return await explorer.respond(
      to: ExplorerRequest(
        method: method, path: parts[0], query: parts.count > 1 ? parts[1] : "", headers: self.headers + headers,
        body: Array(body.utf8)))
  }
}

extension ExplorerResponse {
  /// The value of the header with this name; nil without one, and for several.
  func header(_ name: String) -> String? {
    let values = headers.filter { $0.name == name }.map(\.value)
    return values.count == 1 ? values[0] : nil
  }

  var text: String {
    if case .bytes(let bytes) = body { String(decoding: bytes, as: UTF8.self) } else { "" }
  }

  /// The chunks of a response that does not end by itself.
  func stream() throws -> AsyncThrowingStream<[UInt8], any Error> {
    guard case .stream(let stream) = body else { throw StreamMissing() }
    return stream
  }

  struct StreamMissing: Error {}
}

/// A page with the parameters, the query and the form of its request.
struct EchoPage: Page {
  let title = "Echo"
  let section = PageSection.entities
  var name: String
  var form = ""

  func html(_ context: PageContext) -> HTML {
    "<a href=\"\(context.link(["names", name]))\">\(name)</a><a href=\"\(context.link(as: .json))\">JSON</a>"
  }

  func write(to json: inout JSONWriter) {
    json.member("name", name)
    json.member("form", form)
  }

  var table: PageTable { PageTable(columns: ["name", "form"], rows: [[name, form]]) }

  static let routes: [Route] = [
    .get("/") { _ in .page(EchoPage(name: "root")) },
    .get("/names/:name") { context in .page(EchoPage(name: try context.parameter("name"))) },
    .post("/names/:name") { context in
      .page(EchoPage(name: try context.parameter("name"), form: context.form.text))
    },
    .post("/only-posted") { context in .redirect(context.link(["names", "new"])) },
  ]
}

let noteModel = ManagedObjectModel("Notes") {
  EntityDescription("Note") {
    AttributeDescription("title", .string)
    RelationshipDescription("next", toOne: "Note")
  }
}
