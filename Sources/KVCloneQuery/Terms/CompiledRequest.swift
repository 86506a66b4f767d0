import KVCloneCore
import KVCloneModel

/// A request made ready: what is looked at, what has to hold, and in which order the results come.
package struct CompiledRequest: Sendable {
  let frame: RequestFrame
  let source: Source
  /// About how many objects the source has, where that was found out.
  let estimate: Int?
  /// The objects of all entries of an index's part, where they are so few that they were remembered when they were counted.
  let found: [ObjectID]?
  /// What has to hold for each object of the source; what the source itself vouches for is in it too.
  let condition: QueryCondition?
  /// Whether the source has the objects for which the condition holds, and no others: then nothing is asked of them.
  let isSourceExact: Bool
  /// None where results are only counted.
  let order: [Order]

  /// Where the objects come from that are looked at.
  indirect enum Source: Sendable {
    /// All objects of the entity, by ascending id.
    case entity
    /// Objects that the condition names.
    case objects([ObjectID])
    /// The members of other objects' relationships, whose inverses the condition asks for.
    case members([ObjectID], QueryLink)
    /// The same of objects of another entity that an index tells.
    case linked(LinkedSearch)
    /// Objects that have entries in a part of an index.
    case index(IndexScan)
    /// The same in the order of the index, which is the request's.
    case ordered(OrderedScan)
    /// The objects of several sources, for the branches of an OR.
    case union([Branch])
  }

  /// What one branch of an OR is looked for in.
  struct Branch: Sendable {
    let source: Source
    /// About how many objects there are; nil where nobody counted.
    let estimate: Int?
  }

  struct Order: Sendable {
    let term: QueryTerm
    let ascending: Bool
    let options: QueryComparison.Options
  }

  var entity: CompiledEntity { frame.entity }
  var includesSubentities: Bool { frame.includesSubentities }
  var offset: Int { frame.offset }
  var limit: Int? { frame.limit }
  var wanted: Int? { frame.wanted }

  /// Whether results are sorted after they were found, and not found in their order.
  var sortsResults: Bool {
    if case .ordered = source { return false }
    return !order.isEmpty
  }
}

/// What a request asks for besides its condition.
struct RequestFrame: Sendable {
  let entity: CompiledEntity
  let includesSubentities: Bool
  /// By entity code: whose objects are wanted.
  let wantedCodes: Set<UInt16>
  let order: [CompiledRequest.Order]
  let offset: Int
  /// nil is no limit.
  let limit: Int?

  init(_ request: FetchRequest, _ entity: CompiledEntity, order: [CompiledRequest.Order]) {
    self.entity = entity
    self.order = order
    includesSubentities = request.includesSubentities
    wantedCodes = entity.wantedCodes(includesSubentities: request.includesSubentities)
    offset = request.fetchOffset
    limit = request.fetchLimit == 0 ? nil : request.fetchLimit
  }

  /// How many results there may be before the limit is reached, those that are left out included.
  var wanted: Int? {
    guard let (sum, overflows) = limit?.addingReportingOverflow(offset), !overflows else { return nil }
    return sum
  }
}
