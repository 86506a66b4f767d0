import KVClone

/// The query of a grid, as its URL states it.
struct GridQuery: Sendable {
  var entity: EntityDescription
  /// The predicate in the format language; empty without one.
  var predicateText: String
  var predicate: QueryPredicate?
  var sort: [GridSort] = []
  var columns: [GridColumn]
  var limit: Int
  var includesSubentities: Bool
  /// The text of the position before or after the page.
  var position: (text: String, isBackward: Bool)?
  /// The reason why the query cannot run; the page shows it below the predicate.
  var problem: GridProblem?

  static let defaultLimit = 50

  /// - Throws: ``ExplorerError`` for an unknown entity, and for a wrong limit. Other errors become ``problem``.
  init(_ context: PageContext) throws {
    let name = try context.parameter("entity")
    guard let entity = context.model.entity(named: name) else {
      throw ExplorerError(.notFound, "the model has no entity with this name; choose one in the list of entities")
    }
    self.entity = entity
    predicateText = context.query["where"] ?? ""
    limit = try context.rowLimit(Self.defaultLimit)
    includesSubentities = context.query["subentities"] != "0"
    let names = context.query.all("columns").flatMap { $0.split(separator: ",").map(String.init) }
    let available = GridColumn.all(of: entity.name, in: context.model)
    let chosen = names.compactMap { name in available.first { $0.name == name } }
    columns = chosen.isEmpty ? Array(available.prefix(GridColumn.defaultCount)) : chosen
    if let after = context.query["after"] {
      position = (after, false)
    } else if let before = context.query["before"] {
      position = (before, true)
    }
    do {
      sort = try GridSort.parse(context.query["sort"] ?? "")
    } catch {
      problem = GridProblem(error)
    }
    let isBlank = predicateText.allSatisfy(\.isWhitespace)
    do {
      if !isBlank { predicate = try QueryPredicate(format: predicateText) }
    } catch {
      problem = GridProblem(error, in: predicateText)
    }
  }

  /// The request, without limit and position.
  var request: FetchRequest {
    FetchRequest(
      entity.name, predicate: predicate, sortDescriptors: sort.map(\.descriptor),
      includesSubentities: includesSubentities)
  }

  /// The items of the URL other than predicate and position, for forms.
  func kept(_ context: PageContext, except names: Set<String>) -> [(name: String, value: String)] {
    context.query.items.filter { item in
      !names.contains(item.name) && !["after", "before", "all"].contains(item.name)
    }
  }
}

/// An error in a query, with its position in the predicate.
struct GridProblem: Sendable, Equatable {
  var message: String
  /// The part of the predicate around the error, and a line with a caret below it.
  var excerpt: String?
  var caret: String?

  init(_ error: ExplorerError) {
    message = error.message
  }

  init(_ error: QueryFormatError, in text: String) {
    message = error.description
    guard error.column > 0 else { return }
    let start = max(0, error.column - 1 - Self.contextLength)
    let part = text.dropFirst(start).prefix(2 * Self.contextLength)
    excerpt = String(part.map { $0.isNewline ? " " : $0 })
    caret = String(repeating: " ", count: error.column - 1 - start) + "^"
  }

  /// An error of the model or of a type, which the planner finds before it reads anything.
  init(_ error: StoreError) {
    message = error.message
  }

  private static let contextLength = 40
}
