import KVCloneCore
import KVCloneModel

/// A compiled request: the source of objects, the condition, and the order of results.
package struct CompiledRequest: Sendable {
  let frame: RequestFrame
  let source: Source
  /// The approximate number of objects in the source, if known.
  let estimate: Int?
  /// The objects of an index range, if they are few enough to be stored while counting.
  let found: [ObjectID]?
  /// The condition on each object of the source, including what the source itself ensures.
  let condition: QueryCondition?
  /// Whether the condition holds for exactly the objects of the source: then it is not evaluated.
  let isSourceExact: Bool
  /// Empty if results are only counted.
  let order: [Order]

  /// The source of objects to examine.
  indirect enum Source: Sendable {
    /// All objects of the entity, by ascending id.
    case entity
    /// Objects named by the condition.
    case objects([ObjectID])
    /// The members of other objects' relationships, for conditions on their inverses.
    case members([ObjectID], QueryLink)
    /// Members of relationships of objects that an index of another entity yields.
    case linked(LinkedSearch)
    /// Objects with entries in a range of an index.
    case index(IndexScan)
    /// Objects in the order of an index, which is the request's.
    case ordered(OrderedScan)
    /// The union of several sources, for the branches of an OR.
    case union([Branch])
  }

  /// The source of one branch of an OR.
  struct Branch: Sendable {
    let source: Source
    /// The approximate number of objects; nil if it was not counted.
    let estimate: Int?
  }

  struct Order: Sendable {
    let term: QueryTerm
    let ascending: Bool
    let options: QueryComparison.Options

    var reversed: Order { Order(term: term, ascending: !ascending, options: options) }
  }

  var entity: CompiledEntity { frame.entity }
  var includesSubentities: Bool { frame.includesSubentities }
  var offset: Int { frame.offset }
  var limit: Int? { frame.limit }
  var wanted: Int? { frame.wanted }

  /// Whether results are sorted after the search, instead of being found in order.
  var sortsResults: Bool {
    if case .ordered = source { return false }
    return !order.isEmpty
  }
}

/// The parts of a request other than its condition.
struct RequestFrame: Sendable {
  let entity: CompiledEntity
  let includesSubentities: Bool
  /// The entity codes of the wanted objects.
  let wantedCodes: Set<UInt16>
  let order: [CompiledRequest.Order]
  let offset: Int
  /// Nil means no limit.
  let limit: Int?

  init(_ request: FetchRequest, _ entity: CompiledEntity, order: [CompiledRequest.Order]) {
    self.entity = entity
    self.order = order
    includesSubentities = request.includesSubentities
    wantedCodes = entity.wantedCodes(includesSubentities: request.includesSubentities)
    offset = request.fetchOffset
    limit = request.fetchLimit == 0 ? nil : request.fetchLimit
  }

  /// The number of results until the limit, including the skipped ones.
  var wanted: Int? {
    guard let (sum, overflows) = limit?.addingReportingOverflow(offset), !overflows else { return nil }
    return sum
  }
}
