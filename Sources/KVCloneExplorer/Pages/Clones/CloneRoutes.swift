import KVClone

/// Routes of clone previews, and clones.
enum CloneRoutes {
  static let all: [Route] = [
    .get("/clone/:entity/:serial") { try await preview($0) },
    .post("/clone/:entity/:serial") { try await CloneRun($0).clone() },
    .get("/clone/:entity/:serial/result") { .page(try await CloneResultPage.read($0)) },
    .post("/clone/:entity/:serial/undo") { try await CloneRun($0).undo() },
  ]

  private static func preview(_ context: PageContext) async throws -> Route.Reply {
    let form = try CloneForm(context.query)
    let reader = ClonePreviewReader(context: context)
    // The form sends every field: the URL of the page has only those that differ from their defaults.
    if context.query["form"] != nil {
      let from = context.query["from"].flatMap { $0.isEmpty ? nil : $0 }
      return .redirect(context.link(try reader.path(), form.query + [("at", from)]))
    }
    return .page(ClonePage(try await reader.content(form)))
  }
}
