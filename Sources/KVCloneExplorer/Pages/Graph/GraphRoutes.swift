import KVClone

/// Routes of the neighbourhood of an object.
enum GraphRoutes {
  static let all: [Route] = [.get("/graph/:entity/:serial", page)]

  @Sendable private static func page(_ context: PageContext) async throws -> Route.Reply {
    let name = try "\(context.parameter("entity"))/\(context.parameter("serial"))"
    let open = context.query.all(GraphLinks.open)
    let graph = try await context.read { transaction in
      try NeighbourhoodReader.read(try transaction.objectID(named: name), open: open, transaction)
    }
    return .page(GraphPage(graph: graph))
  }
}
