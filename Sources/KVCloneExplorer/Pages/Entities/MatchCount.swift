import KVClone
import KVCloneCore

/// A number of objects, counted within a time limit.
enum MatchCount: Sendable, Equatable {
  case exact(Int)
  case moreThan(Int)
  case unknown

  /// The number of objects up to which they are counted one by one.
  private static let maximum = 10_000
  private static let timeLimit = Duration.milliseconds(100)

  /// Counts the results of a request, in a transaction of its own.
  ///
  /// - Parameter known: the number of results that were found otherwise.
  static func read(_ request: FetchRequest, known: Int, _ context: PageContext) async throws -> MatchCount {
    let reader = BoundedReader(store: context.store, deadline: Deadline(after: timeLimit))
    let counts = EntityCountCache.of(context.store).latest(StateName.key(context.store, context.snapshotName))
    do {
      return try await reader.read(at: context.snapshotName) { tx in try read(request, counts, in: tx) }
    } catch let error as ExplorerError where error.kind == .timeLimit {
      return known > 0 ? .moreThan(known - 1) : .unknown
    }
  }

  private static func read(
    _ request: FetchRequest, _ counts: EntityCountCache.Entry?, in transaction: borrowing ReadTransaction
  ) throws -> MatchCount {
    if request.predicate == nil {
      if let counts, counts.commit == (try transaction.currentToken().commit) {
        let model = transaction._withSession { $0.schema.model }
        let below = request.includesSubentities ? model.subentities(of: request.entityName) : []
        return .exact(([request.entityName] + below).reduce(0) { $0 + (counts.own[$1] ?? 0) })
      }
      let total = try transaction.tableCount(
        ofAll: request.entityName, includesSubentities: request.includesSubentities)
      if let total { return .exact(total) }
      var count = 0
      try transaction.forEachView(of: request.entityName, includesSubentities: request.includesSubentities) { _ in
        count += 1
        return count <= maximum
      }
      return bounded(count)
    }
    var request = request
    request.sortDescriptors = []
    request.fetchLimit = maximum + 1
    return bounded(try transaction.count(request))
  }

  private static func bounded(_ count: Int) -> MatchCount {
    count > maximum ? .moreThan(maximum) : .exact(count)
  }

  /// Such as `12 objects`.
  var html: HTML {
    switch self {
    case .exact(let count): "\(Components.number(count)) \(count == 1 ? "object" : "objects")"
    case .moreThan(let count): "more than \(Components.number(count)) objects"
    case .unknown: "objects"
    }
  }

  func write(to json: inout JSONWriter) {
    switch self {
    case .exact(let count): json.member("count", count)
    case .moreThan(let count): json.member("moreThan", count)
    case .unknown: json.nullable("count", String?.none)
    }
  }
}

extension ReadTransaction {
  /// Returns the number of objects of an entity, if that is the size of its table, which the engine knows.
  borrowing func tableCount(ofAll entity: String, includesSubentities: Bool) throws -> Int? {
    try _withSession { session in
      let entity = try session.schema.entity(entity)
      let wanted = entity.wantedCodes(includesSubentities: includesSubentities)
      guard session.storage.space() != nil, let root = session.schema.entity(code: entity.rootCode),
        root.concreteCodes.isSubset(of: wanted)
      else { return nil }
      return Int(clamping: try session.storage.entryCount(entity.table))
    }
  }
}
