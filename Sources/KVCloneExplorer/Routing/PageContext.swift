import KVClone

/// A request together with the store, for the handlers of pages.
struct PageContext: Sendable {
  /// The store or branch that the page shows.
  var store: ObjectStore
  /// The store of the explorer, also if the page shows a branch of it.
  let root: ObjectStore
  let options: ExplorerOptions
  let request: ExplorerRequest
  /// Decoded parameters of the path.
  var parameters: [String: String]
  let query: QueryItems
  /// The items of a form that was posted.
  var form: QueryItems
  let format: PageFormat
  /// Whether the `Accept` header has chosen the format.
  let isNegotiated: Bool
  /// The end of the time that the request may take; ``read(_:)`` checks it by itself.
  var deadline: Deadline
  /// The live updates of the explorer.
  let openStreams: OpenStreams
  /// The jobs of the explorer.
  let jobs: StoreJobs

  /// The model of the state that the page shows: that of a snapshot can be an earlier version.
  var model: ManagedObjectModel

  /// The snapshot that the page shows; nil for the present state.
  var snapshotName: String? { query["at"] }

  /// The branch that the page shows; nil for the store.
  var branchName: String? { query["branch"].flatMap { $0.isEmpty ? nil : $0 } }

  /// Runs `body` in a read transaction of the present state, or of the snapshot of `?at=`, of the store or of the
  /// branch of `?branch=`.
  ///
  /// Keep it short, and render after it: a transaction retains pages of the file.
  ///
  /// - Throws: ``ExplorerError`` with `timeLimit` after the deadline, or `cancelled`; errors of `body` and the store.
  func read<Result: Sendable>(_ body: @Sendable (borrowing ReadTransaction) throws -> Result) async throws -> Result {
    try await BoundedReader(store: store, deadline: deadline).read(at: snapshotName, body)
  }

  /// Returns a parameter of the path.
  ///
  /// - Throws: ``ExplorerError`` if the route has no parameter with this name.
  func parameter(_ name: String) throws -> String {
    guard let value = parameters[name] else { throw ExplorerError.notFound }
    return value
  }

  /// Returns the URL of a page of the same state: below the base path, of the same branch, and at the same snapshot.
  ///
  /// - Parameters:
  ///   - segments: of the path, not encoded.
  ///   - items: of the query; nil values are omitted.
  func link(_ segments: [String], _ items: [(name: String, value: String?)] = []) -> String {
    var query = QueryItems()
    for item in items { if let value = item.value { query.append(item.name, value) } }
    for (name, value) in stateItems where !items.contains(where: { $0.name == name }) { query.append(name, value) }
    let path = options.basePath + "/" + segments.map(PathSegment.encode).joined(separator: "/")
    return query.items.isEmpty ? path : "\(path)?\(query.text)"
  }

  /// The number of rows of a page, from the query.
  ///
  /// - Throws: ``ExplorerError`` for anything except a number from 1 to 1,000.
  func rowLimit(_ standard: Int = 100) throws -> Int {
    guard let text = query["limit"] else { return standard }
    guard let limit = Int(text), (1...1000).contains(limit) else {
      throw ExplorerError(.badRequest, "limit is not a number from 1 to 1000; remove it, or correct it")
    }
    return limit
  }

  /// The branch of the page, as items of a query.
  var branchItems: [(name: String, value: String)] { branchName.map { [("branch", $0)] } ?? [] }

  /// The branch and the snapshot of the page, as items of a query.
  var stateItems: [(name: String, value: String)] { branchItems + (snapshotName.map { [("at", $0)] } ?? []) }

  /// Returns the URL of a page without any query, for the action of a form of method GET, which replaces the query.
  func target(_ segments: [String]) -> String { link(segments, [("at", nil), ("branch", nil)]) }

  /// Returns the URL of this page with some items of the query replaced; nil removes an item.
  func link(replacing items: [(name: String, value: String?)]) -> String {
    var query = query
    for item in items { query[item.name] = item.value }
    let path = options.basePath + request.path
    return query.items.isEmpty ? path : "\(path)?\(query.text)"
  }

  /// Returns the URL of this page in another format.
  func link(as format: PageFormat) -> String {
    let path = options.basePath + request.path + (format == .html ? "" : format.suffix)
    return query.items.isEmpty ? path : "\(path)?\(query.text)"
  }

  /// Returns the URL of the page about an entity of the model.
  ///
  /// - Parameter suffix: of a format, at the end of the path.
  func link(modelOf entity: String, _ suffix: String = "") -> String {
    let link = link(["model", "entities", entity])
    let end = link.firstIndex(of: "?") ?? link.endIndex
    return link[..<end] + suffix + link[end...]
  }

  /// Returns the URL of a file of the explorer, which caches keep until its content changes.
  func link(to asset: Asset) -> String { options.basePath + asset.path }
}
