import KVCloneCore
import KVCloneModel
import KVCloneRecords

/// Reads one page of the results of a compiled request.
struct PageReader {
  let request: CompiledRequest
  let span: PageSpan

  func read(in session: borrowing Session) throws(StoreError) -> ResultPage {
    if let position = span.position, position.keys.count != request.order.count { throw foreignPosition }
    var page = ResultPage()
    page.ids = try found(in: session)
    page.hasMore = page.ids.count > span.limit
    page.sortsMatches = request.sortsResults
    if page.hasMore { page.ids.removeLast(page.ids.count - span.limit) }
    if span.isBackward { page.ids.reverse() }
    page.first = try page.ids.first.map { (id) throws(StoreError) in try position(of: id, in: session) }
    page.last = try page.ids.last.map { (id) throws(StoreError) in try position(of: id, in: session) }
    return page
  }

  /// The results from the position on, in the direction of the paging, with one more than the page has.
  private func found(in session: borrowing Session) throws(StoreError) -> [ObjectID] {
    if case .ordered(let ordered) = request.source, request.found == nil {
      return try OrderedPage(request: request, ordered: ordered, span: span).read(in: session)
    }
    if request.order.isEmpty { return try IDPage(request: request, span: span).read(in: session) }
    return try FetchExecutor.sortedResults(
      request, beyond: span.position, isReversed: span.isBackward, limit: span.limit + 1, in: session)
  }

  private func position(of id: ObjectID, in session: borrowing Session) throws(StoreError) -> ResultPosition {
    let keys = try FetchExecutor.sortKeys(
      request.order, id, try session.existingRecord(id), QueryEvaluator(session.schema), in: session)
    return ResultPosition(keys: keys, id: id)
  }

  private var foreignPosition: StoreError {
    StoreError(
      .invalidPredicate, "the position of the page belongs to another order; start with the first page",
      entity: request.entity.name)
  }
}

/// The results of a page, one after the other.
struct PageResults: ~Copyable {
  let limit: Int
  private(set) var ids: [ObjectID] = []
  private var filter: RecordFilter
  private var windows: ReadWindows

  init(_ request: CompiledRequest, limit: Int, in session: borrowing Session) {
    self.limit = limit
    filter = RecordFilter(request, session.schema)
    windows = ReadWindows(session.storage)
  }

  var isFull: Bool { ids.count > limit }

  /// Adds an object if it matches; returns whether to continue.
  ///
  /// - Parameter isIndexed: whether the object comes from an index, and so must exist.
  mutating func offer(_ id: ObjectID, isIndexed: Bool, in session: borrowing Session) throws(StoreError) -> Bool {
    windows.next()
    var isFound = false
    _ = try FetchExecutor.passes(id, isIndexed: isIndexed, &filter, in: session) { (_, _) throws(StoreError) in
      isFound = true
      return true
    }
    if isFound { ids.append(id) }
    return !isFull
  }
}
