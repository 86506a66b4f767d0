import KVClone
import KVCloneCore
import KVCloneQuery

/// Reads the pages of a grid.
struct GridReader: Sendable {
  let context: PageContext
  let query: GridQuery

  /// The size of the texts after which a page ends, in bytes.
  private static let maximumByteCount = 1 << 20

  init(_ context: PageContext) throws {
    self.context = context
    query = try GridQuery(context)
  }

  /// Rows and their position in the results.
  struct Part: Sendable {
    var rows: [GridRow] = []
    var first: String?
    var last: String?
    var hasMore = false
    var plan: [String] = []
    var sortsMatches = false
  }

  /// Reads the page. Errors of the query are part of it in HTML, and thrown in other formats.
  func page() async throws -> GridPage {
    var page = GridPage(query: query, context)
    let isHTML = context.format == .html
    if let problem = query.problem {
      if !isHTML { throw problem.error }
      return page
    }
    do {
      let part = try await context.read { tx in try read(query.position, isHTML ? .html : .data, tx) }
      page.show(part, context)
      let known = part.rows.count + (part.hasMore ? 1 : 0)
      let isComplete = query.position == nil && !part.hasMore
      page.count =
        isComplete ? .exact(part.rows.count) : try await MatchCount.read(query.request, known: known, context)
    } catch let error as ExplorerError where error.kind == .timeLimit {
      let advice = IndexAdvice.text(query, in: context.model)
      let message = [error.message + ".", advice].compactMap { $0 }.joined(separator: " ")
      if !isHTML { throw ExplorerError(.timeLimit, message) }
      page.timeLimit = message
    } catch let error as StoreError where Self.isOfQuery(error) {
      let problem = GridProblem(error)
      if !isHTML { throw problem.error }
      page.query.problem = problem
    }
    return page
  }

  /// Reads the rows from a position on.
  ///
  /// - Parameter prefersIndexOrder: whether to read an index that has the order also where reading and sorting all
  ///   matches costs less for one page.
  func read(
    _ position: (text: String, isBackward: Bool)?, _ limit: GridTextLimit?, prefersIndexOrder: Bool = false,
    _ transaction: borrowing ReadTransaction
  ) throws -> Part {
    let request = query.request
    var span = PageSpan(limit: query.limit)
    if let position {
      let place = try PositionText.position(
        position.text, isBackward: position.isBackward, request, in: transaction)
      span =
        position.isBackward ? PageSpan(before: place, limit: query.limit) : PageSpan(after: place, limit: query.limit)
    }
    let use: RequestPlanner.IndexUse = prefersIndexOrder && !query.sort.isEmpty ? .always : .whereCheaper
    let found = try span.page(of: request, use: use, in: transaction)
    var part = Part(hasMore: found.hasMore, sortsMatches: found.sortsMatches)
    (part.first, part.last) = (found.first.flatMap(PositionText.text), found.last.flatMap(PositionText.text))
    var byteCount = 0
    // In the direction of paging, so that a page that ends early continues there.
    let ids = span.isBackward ? found.ids.reversed() : found.ids
    for (place, id) in ids.enumerated() {
      let row = try GridRow.read(id, query.columns, limit, in: context.model, transaction)
      part.rows.append(row)
      byteCount += row.byteCount
      if byteCount > Self.maximumByteCount, place + 1 < ids.count {
        part.hasMore = true
        let end = try ResultPosition.find(id, among: request, in: transaction).flatMap(PositionText.text)
        if span.isBackward { part.first = end } else { part.last = end }
        break
      }
    }
    if span.isBackward { part.rows.reverse() }
    var planned = request
    planned.fetchLimit = query.limit
    part.plan = try transaction.explain(planned)
    return part
  }

  /// Whether an error is one of the query, and not of the store.
  static func isOfQuery(_ error: StoreError) -> Bool {
    [.invalidPredicate, .unknownProperty, .wrongType, .unknownEntity, .invalidObjectName, .objectNotFound]
      .contains(error.kind)
  }
}

extension GridProblem {
  /// The error, as every format of the page answers it.
  var error: ExplorerError { ExplorerError(.badRequest, message) }
}
