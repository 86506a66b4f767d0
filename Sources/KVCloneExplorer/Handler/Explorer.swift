public import KVClone

/// Answers requests of a browser with pages about a store.
///
/// It needs no server of its own: a server passes requests on, and sends the responses. Requests read in short
/// transactions, and change nothing unless ``ExplorerOptions/allowsWrites`` is set.
public final class Explorer: Sendable {
  let store: ObjectStore
  let options: ExplorerOptions

  private static let routes: [Route] =
    AssetRoutes.all + EntityRoutes.all + ObjectRoutes.all + CloneRoutes.all + TimeRoutes.all + ModelRoutes.all
    + StoreRoutes.all + GraphRoutes.all + EventRoutes.all

  public init(_ store: ObjectStore, options: ExplorerOptions = ExplorerOptions()) {
    self.store = store
    self.options = options
  }

  /// Answers a request; failures become responses with a status from 400.
  public func respond(to request: ExplorerRequest) async -> ExplorerResponse {
    do {
      return try await answer(request)
    } catch let error as ExplorerError {
      return ExplorerResponse(status: error.status, "text/plain; charset=utf-8", error.message)
    } catch {
      return ExplorerResponse(status: 500, "text/plain; charset=utf-8", "\(error)")
    }
  }

  private func answer(_ request: ExplorerRequest) async throws -> ExplorerResponse {
    var request = request
    var format = PageFormat.html
    for suffix in [PageFormat.json, .csv] where request.path.hasSuffix(".\(suffix.rawValue)") {
      request.path.removeLast(suffix.rawValue.count + 1)
      format = suffix
    }
    guard let query = QueryItems(request.query) else { throw ExplorerError(.badRequest, "the query is not UTF-8") }
    let path = try request.path.split(separator: "/").map { segment in
      guard let text = PercentEncoding.decode(segment) else {
        throw ExplorerError(.badRequest, "the path is not percent-encoded UTF-8")
      }
      return text
    }
    for route in Self.routes where route.method == request.method {
      guard let parameters = route.parameters(in: path) else { continue }
      let context = PageContext(
        store: store, options: options, request: request, parameters: parameters, query: query, form: QueryItems(),
        format: format)
      return try response(await route.answer(context), context)
    }
    throw ExplorerError(.notFound, "there is no such page")
  }

  private func response(_ reply: Route.Reply, _ context: PageContext) throws -> ExplorerResponse {
    switch reply {
    case .response(let response): return response
    case .redirect(let target): return ExplorerResponse(status: 303, headers: [("Location", target)])
    case .page(let page):
      switch context.format {
      case .html: return ExplorerResponse(PageFormat.html.contentType, PageShell.document(page, context).text)
      case .json:
        var json = JSONWriter()
        json.beginObject()
        page.write(to: &json)
        json.endObject()
        json.newLine()
        return ExplorerResponse(PageFormat.json.contentType, json.bytes)
      case .csv:
        let table = page.table
        let rows = [table.columns] + table.rows
        return ExplorerResponse(
          PageFormat.csv.contentType, rows.map { CSV.row($0) + "\n" }.joined())
      }
    }
  }
}
