import KVClone
import KVCloneCore

/// All results of a grid as CSV: pages in short transactions, one after the other, as fast as the client reads.
enum GridExport {
  /// The number of rows of a transaction; fewer results are sorted in any order.
  static let rowCount = 500

  /// - Throws: ``ExplorerError`` for other formats, and for orders that no index has.
  static func response(_ context: PageContext) async throws -> ExplorerResponse {
    guard context.format == .csv else {
      throw ExplorerError(.badRequest, "all=1 streams CSV; add .csv to the path, or follow the link to the next page")
    }
    var query = try GridQuery(context)
    if let problem = query.problem { throw problem.error }
    query.limit = rowCount
    let reader = GridReader(context, query)
    let start = try await context.read { tx in
      try reader.read(reader.query.position, textLimit: nil, prefersIndexOrder: true, tx)
    }
    // Each page of another order would read all matches.
    if start.sortsMatches, start.hasMore {
      let advice = IndexAdvice.text(query, in: context.model) ?? ""
      throw ExplorerError(.badRequest, "all=1 needs the order of ids or of an index; remove sort. \(advice)")
    }
    let run = GridExportRun(reader, start)
    return ExplorerResponse(
      status: 200, headers: [("Content-Type", PageFormat.csv.contentType)],
      body: .stream(AsyncThrowingStream { try await run.next() }))
  }
}

/// The pages of an export.
private actor GridExportRun {
  private let reader: GridReader
  private var part: GridReader.Part?
  private var isFirst = true

  init(_ reader: GridReader, _ start: GridReader.Part) {
    self.reader = reader
    part = start
  }

  /// Returns the next lines; nil after the last ones.
  func next() async throws -> [UInt8]? {
    guard let part else { return nil }
    if reader.context.openStreams.isShutDown { throw CancellationError() }
    var text = ""
    if isFirst { text += CSV.row(["id"] + reader.query.columns.map(\.name)) + "\n" }
    isFirst = false
    for row in part.rows { text += CSV.row([row.name.id] + row.cells.map(\.text)) + "\n" }
    self.part = nil
    if part.hasMore, let last = part.last { self.part = try await reader.following(last) }
    return Array(text.utf8)
  }
}

extension GridReader {
  init(_ context: PageContext, _ query: GridQuery) {
    (self.context, self.query) = (context, query)
  }

  /// Reads the rows behind a position, with a time limit of their own.
  fileprivate func following(_ position: String) async throws -> Part {
    let reader = BoundedReader(store: context.store, deadline: Deadline(after: context.options.requestTimeLimit))
    return try await reader.read(at: context.snapshotName) { tx in
      try read((position, false), textLimit: nil, prefersIndexOrder: true, tx)
    }
  }
}
