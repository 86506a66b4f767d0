import KVCloneModel

/// A request made ready: what is looked at, what has to hold, and in which order the results come.
struct CompiledRequest: Sendable {
  let entity: CompiledEntity
  let includesSubentities: Bool
  let source: Source
  /// What has to hold for each object of the source; what the source itself vouches for is in it too.
  let condition: QueryCondition?
  let order: [Order]
  let offset: Int
  /// nil is no limit.
  let limit: Int?

  /// Where the objects come from that are looked at.
  enum Source: Sendable {
    /// All objects of the entity, by ascending id.
    case entity
    /// Objects that the condition names.
    case objects([ObjectID])
    /// The members of other objects' relationships, whose inverses the condition asks for.
    case members([ObjectID], QueryLink)
  }

  struct Order: Sendable {
    let term: QueryTerm
    let ascending: Bool
    let options: QueryComparison.Options
  }

  /// How many results there may be before the limit is reached, those that are left out included.
  var wanted: Int? { limit.map { $0.addingReportingOverflow(offset) }.flatMap { $0.overflow ? nil : $0.partialValue } }
}

extension CompiledRequest.Source {
  /// The narrowest source that a condition allows: one part of an AND is enough.
  static func choose(_ condition: QueryCondition?, _ entity: CompiledEntity, _ schema: Schema) -> Self {
    guard let condition else { return .entity }
    let parts: [QueryCondition]
    if case .all(let all) = condition { parts = all } else { parts = [condition] }
    var best = Self.entity
    for part in parts {
      guard case .comparison(let test) = part, test.modifier == .direct, let targets = test.namedObjects else {
        continue
      }
      switch test.left.node {
      case .current: return .objects(targets)
      case .relationship(let owner, let link):
        guard case .current = owner.node, !link.isToMany, let inverse = entity.inverseLink(of: link, schema) else {
          continue
        }
        best = .members(targets, inverse)
      default: continue
      }
    }
    return best
  }
}

extension QueryTest {
  /// The objects that the left side has to be one of; nil where that is not what the comparison says.
  fileprivate var namedObjects: [ObjectID]? {
    let values: [QueryValue]
    switch (self.operator, right.constant) {
    case (.equal, let value?): values = [value]
    case (.in, .list(let list)?): values = list
    default: return nil
    }
    var objects: [ObjectID] = []
    for value in values {
      // nil is a value too, and names no object.
      guard case .object(let id) = value else { return nil }
      objects.append(id)
    }
    return objects
  }
}

extension CompiledEntity {
  /// The relationship on the other side of one of this entity's, where the model has it.
  fileprivate func inverseLink(of link: QueryLink, _ schema: Schema) -> QueryLink? {
    guard let index = relationshipIndexByCode[link.code] else { return nil }
    let relationship = relationships[index]
    guard relationship.hasInverse, let target = schema.entity(code: relationship.destinationCode),
      let inverse = target.inverse(of: relationship)
    else { return nil }
    return QueryLink(inverse)
  }
}

extension CompiledRequest {
  /// What is done for the request, a line for each step.
  func explanation(_ predicate: QueryPredicate?, _ sort: [QuerySortDescriptor]) -> [String] {
    var lines: [String] = []
    switch source {
    case .entity:
      lines.append("look at every object of \(entity.name)" + (includesSubentities ? " and its sub-entities" : ""))
    case .objects(let ids): lines.append("look up \(Self.objects(ids.count)) by id")
    case .members(let owners, let link):
      lines.append("look at the members of \(link.name) of \(Self.objects(owners.count))")
    }
    if let predicate { lines.append("keep those for which \(predicate.predicateFormat)") }
    if !order.isEmpty {
      let keys = sort.map { "\($0.key.expressionFormat) \($0.ascending ? "ascending" : "descending")" }
      let kept = wanted.map { "the first \($0)" } ?? "all"
      lines.append("sort by \(keys.joined(separator: ", ")), then by id, keeping \(kept) of them in memory")
    } else {
      lines.append("in the order of ids")
    }
    if offset > 0 { lines.append("leave out the first \(offset)") }
    if let limit { lines.append("stop after \(limit)") }
    return lines
  }

  private static func objects(_ count: Int) -> String { count == 1 ? "1 object" : "\(count) objects" }
}
