import KVClone
import KVCloneCore
import Synchronization

/// All results of a grid as CSV: pages in short transactions, one after the other, as fast as the client reads.
enum GridExport {
  /// The number of rows of a transaction; fewer results are sorted in any order.
  static let rowCount = 500

  /// - Throws: ``ExplorerError`` for other formats, for orders that no index has, and if too many exports run.
  static func response(_ context: PageContext) async throws -> ExplorerResponse {
    guard context.format == .csv else {
      throw ExplorerError(.badRequest, "all=1 streams CSV; add .csv to the path, or follow the link to the next page")
    }
    var query = try GridQuery(context)
    if let problem = query.problem { throw problem.error }
    query.limit = rowCount
    let place = try GridExportPlace(context.store)
    let reader = GridReader(context, query)
    let start = try await context.read { tx in
      try reader.read(reader.query.position, nil, prefersIndexOrder: true, tx)
    }
    // Each page of another order would read all matches.
    if start.sortsMatches, start.hasMore {
      let advice = IndexAdvice.text(query, in: context.model) ?? ""
      throw ExplorerError(.badRequest, "all=1 needs the order of ids or of an index; remove sort. \(advice)")
    }
    let run = GridExportRun(reader, start, place)
    return ExplorerResponse(
      status: 200, headers: [("Content-Type", PageFormat.csv.contentType)],
      body: .stream(AsyncThrowingStream { try await run.next() }))
  }
}

/// A slot of a concurrent export. Their number is limited, because rows contain whole texts.
private final class GridExportPlace: Sendable {
  private final class Places: Attachment {
    let count = Mutex(0)
  }

  private static let limit = 8
  private let places: Places

  /// - Throws: `busy` if all places are taken.
  init(_ store: ObjectStore) throws {
    places = store.schema.attachments.value(of: Places.self)
    let isFree = places.count.withLock { count in
      count += 1
      return count <= Self.limit
    }
    // `deinit` releases the place, also after this error.
    guard isFree else {
      throw ExplorerError(.busy, "\(Self.limit) exports are running, which is the limit; try again after one of them")
    }
  }

  deinit { places.count.withLock { $0 -= 1 } }
}

/// The pages of an export.
private actor GridExportRun {
  /// The longest chunk in bytes.
  private static let chunkLength = 256 << 10

  private let reader: GridReader
  private let place: GridExportPlace
  private var part: GridReader.Part?
  /// The number of rows of the part that were written.
  private var written = 0
  /// The part of a row that the last chunk has no room for.
  private var rest: ArraySlice<UInt8>

  init(_ reader: GridReader, _ start: GridReader.Part, _ place: GridExportPlace) {
    self.reader = reader
    self.place = place
    part = start
    rest = Array((CSV.row(["id"] + reader.query.columns.map(\.name)) + "\n").utf8)[...]
  }

  /// Returns the next lines; nil after the last ones.
  func next() async throws -> [UInt8]? {
    if reader.context.openStreams.isShutDown { throw CancellationError() }
    var chunk: [UInt8] = []
    while chunk.count < Self.chunkLength {
      let piece = rest.prefix(Self.chunkLength - chunk.count)
      chunk += piece
      rest = rest.dropFirst(piece.count)
      if rest.isEmpty, try await !readRow() { break }
    }
    return chunk.isEmpty ? nil : chunk
  }

  /// Begins the next row; returns false after the last one.
  private func readRow() async throws -> Bool {
    while let part {
      if written < part.rows.count {
        let row = part.rows[written]
        written += 1
        rest = Array((CSV.row([row.name.id] + row.cells.map(\.text)) + "\n").utf8)[...]
        return true
      }
      (self.part, written) = (nil, 0)
      if part.hasMore, let last = part.last { self.part = try await reader.following(last) }
    }
    return false
  }
}

extension GridReader {
  init(_ context: PageContext, _ query: GridQuery) {
    (self.context, self.query) = (context, query)
  }

  /// Reads the rows after a position, with a time limit of their own.
  fileprivate func following(_ position: String) async throws -> Part {
    let reader = BoundedReader(store: context.store, deadline: Deadline(after: context.options.requestTimeLimit))
    return try await reader.read(at: context.snapshotName) { tx in
      try read((position, false), nil, prefersIndexOrder: true, tx)
    }
  }
}
