import KVCloneCore
import KVCloneModel
import KVCloneRecords

/// A request for the objects with given values, which are adjacent in an index with these values as its first columns.
/// This is the most frequent request. It runs without compiling a condition or comparing plans, as long as few objects
/// match.
package struct KeyLookup: Sendable {
  /// The source of a column's value.
  enum Source: Sendable {
    case constant(AttributeValue)
    case variable(String)
  }

  let index: RequestIndex
  /// The sources of the columns, from the first column on.
  let sources: [Source]
  /// Whether all matches are of the request's entity.
  let isExact: Bool

  /// Returns nil if the predicate has another form, or if no index covers it.
  init?(
    _ predicate: QueryPredicate, _ entity: CompiledEntity, includesSubentities: Bool
  ) {
    guard let parts = Self.parts(predicate, entity), !parts.isEmpty else { return nil }
    for index in entity.requestIndexes.all where index.columns.count >= parts.count {
      if index.isConstraint, index.columns.count > parts.count { continue }
      guard let sources = Self.sources(index, parts) else { continue }
      self.index = index
      self.sources = sources
      isExact =
        index.entityCode == entity.code
        && (includesSubentities || entity.concreteCodes.count == 1 && !entity.isAbstract)
      return
    }
    return nil
  }

  private typealias Part = (code: UInt16, source: Source)

  private static func parts(_ predicate: QueryPredicate, _ entity: CompiledEntity) -> [Part]? {
    switch predicate {
    case .comparison(let comparison): return part(comparison, entity).map { [$0] }
    case .and(let predicates):
      var parts: [Part] = []
      for predicate in predicates {
        guard case .comparison(let comparison) = predicate, let part = part(comparison, entity),
          !parts.contains(where: { $0.code == part.code })
        else { return nil }
        parts.append(part)
      }
      return parts
    default: return nil
    }
  }

  private static func part(_ comparison: QueryComparison, _ entity: CompiledEntity) -> Part? {
    guard comparison.operator == .equal, comparison.modifier == .direct, comparison.options.isEmpty else { return nil }
    return part(comparison.left, comparison.right, entity) ?? part(comparison.right, comparison.left, entity)
  }

  private static func part(_ stored: QueryExpression, _ value: QueryExpression, _ entity: CompiledEntity) -> Part? {
    guard case .keyPath(.self, let names) = stored, names.count == 1, let attribute = entity.storedAttribute(names[0])
    else { return nil }
    switch value {
    case .variable(let name): return (attribute.code, .variable(name))
    case .constant(.value(let value)): return (attribute.code, .constant(value))
    default: return nil
    }
  }

  private static func sources(_ index: RequestIndex, _ parts: [Part]) -> [Source]? {
    let columns = index.columns.prefix(parts.count)
    // An index may name an attribute twice, and then lacks one of the others.
    guard parts.allSatisfy({ part in columns.contains { $0.code == part.code } }) else { return nil }
    var sources: [Source] = []
    for column in columns {
      guard !column.isFolded, let part = parts.first(where: { $0.code == column.code }) else { return nil }
      sources.append(part.source)
    }
    return sources
  }

  /// Returns the common prefix of the keys of all matches; nil if a value has another type than its column, or does not
  /// fit into a key, so that the key alone is not enough.
  func prefix(_ values: QueryVariables) -> [UInt8]? {
    var builder = index.builder
    for (place, source) in sources.enumerated() {
      let column = index.columns[place]
      let value: AttributeValue
      switch source {
      case .constant(let constant): value = constant
      case .variable(let name):
        guard case .value(let given)? = values[name] else { return nil }
        value = given
      }
      guard value.isStored(as: column.type), (try? builder.append(value, descending: !column.isAscending)) != nil else {
        return nil
      }
    }
    return builder.isTruncated ? nil : builder.bytes
  }
}

extension AttributeValue {
  /// Whether attributes of a type store the value unchanged, so that equal values have the same bytes in an index.
  fileprivate func isStored(as type: AttributeType?) -> Bool {
    switch (type, self) {
    case (.integer16, .integer), (.integer32, .integer), (.integer64, .integer), (.boolean, .boolean), (.uuid, .uuid),
      (.string, .string), (.uri, .uri), (.uri, .string):
      true
    case (.double, .double(let value)): !value.isNaN
    case (.date, .date(let date)): !date.timeIntervalSinceReferenceDate.isNaN
    default: false
    }
  }
}

enum RequestResolver {
  /// Returns the lookup's result for a request if possible, else the result of `compile(_:)`.
  static func resolve(_ request: FetchRequest, isCount: Bool = false, in session: borrowing Session) throws(StoreError)
    -> CompiledRequest
  {
    if let found = try lookUp(request, in: session)?.found { return found }
    return try FetchExecutor.compile(request, isCount: isCount, in: session)
  }

  /// Resolves a prepared request in the same way.
  static func resolve(
    _ prepared: PreparedRequest, _ values: QueryVariables, isCount: Bool = false, in session: borrowing Session
  ) throws(StoreError) -> CompiledRequest {
    if let found = try lookUp(prepared, values, isCount: isCount, in: session)?.found { return found }
    return try FetchExecutor.compile(prepared, values, isCount: isCount, in: session)
  }

  /// Returns the lookup for a request with its matches; nil if a lookup is not enough.
  @inline(__always)
  static func lookUp(
    _ request: FetchRequest, in session: borrowing Session
  ) throws(StoreError) -> (lookup: KeyLookup, found: CompiledRequest)? {
    guard let predicate = request.predicate, request.sortDescriptors.isEmpty, request.fetchLimit >= 0,
      request.fetchOffset >= 0
    else { return nil }
    let entity = try session.schema.entity(request.entityName)
    guard let lookup = KeyLookup(predicate, entity, includesSubentities: request.includesSubentities),
      let found = try find(lookup, QueryVariables(), RequestFrame(request, entity, order: []), in: session)
    else { return nil }
    return (lookup, found)
  }

  /// Runs the lookup for a prepared request in the same way.
  @inline(__always)
  static func lookUp(
    _ prepared: PreparedRequest, _ values: QueryVariables, isCount: Bool = false, in session: borrowing Session
  ) throws(StoreError) -> (lookup: KeyLookup, found: CompiledRequest)? {
    let template = try prepared.template(for: session)
    guard let lookup = template.lookup, template.frame.order.isEmpty || isCount,
      let found = try find(lookup, values, template.frame, in: session)
    else { return nil }
    return (lookup, found)
  }

  /// Returns nil if the keys alone are not enough, or if there are many.
  private static func find(
    _ lookup: KeyLookup, _ values: QueryVariables, _ frame: RequestFrame, in session: borrowing Session
  ) throws(StoreError) -> CompiledRequest? {
    guard let prefix = lookup.prefix(values) else { return nil }
    if !lookup.index.isConstraint {
      guard try session.hasCurrentFetchIndexes(), !session.lacksFetchIndex(lookup.index.id) else { return nil }
    }
    // Among equal keys, ids ascend, so the first entries are enough.
    let isInOrder = lookup.isExact && lookup.sources.count == lookup.index.columns.count
    let enough = isInOrder ? frame.wanted ?? .max : .max
    guard let found = try IndexReader.fewEntries(beginningWith: prefix, enough: enough, in: session) else { return nil }
    return CompiledRequest(
      frame: frame, source: .entity, estimate: found.count, found: found, condition: nil,
      isSourceExact: lookup.isExact, order: [])
  }
}
