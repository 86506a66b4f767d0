/// Routes of lists of entities and of objects.
enum EntityRoutes {
  static let all: [Route] = [
    .get("/") { context in .page(try await EntitiesPage.read(context)) },
    .get("/find") { context in try await ObjectSearch.answer(context) },
    .get("/entities/:entity") { context in
      if context.query["all"] == "1" { return .response(try await GridExport.response(context)) }
      return .page(try await GridReader(context).page())
    },
    .get("/entities/:entity/explain") { context in .page(try await ExplainPage.read(context)) },
    .get("/entities/:entity/words") { context in .page(try WordsPage(context)) },
  ]
}
