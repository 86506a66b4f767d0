import KVCloneCore
import KVCloneModel
import KVCloneRecords

/// A request for the objects that have these values: an index has them side by side, in its first columns. It is what is asked
/// most often, and answered without compiling a condition or comparing plans, as long as few objects are found.
package struct KeyLookup: Sendable {
  /// Where the value of a column comes from.
  enum Source: Sendable {
    case constant(AttributeValue)
    case variable(String)
  }

  let index: RequestIndex
  /// For columns from the first.
  let sources: [Source]
  /// Whether all that is found is of the request's entity.
  let isExact: Bool

  /// nil where the predicate says something else, or where no index tells.
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

  /// What all keys of what is found begin with; nil where a value is of another type than its column's, or does not fit
  /// into a key, so that more has to be asked.
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
  /// Whether attributes of a type hold the value as it is, so that equal ones have the same bytes in an index.
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
  /// What `compile(_:)` gives for a request, or sooner what it finds.
  static func resolve(_ request: FetchRequest, isCount: Bool = false, in session: borrowing Session) throws(StoreError)
    -> CompiledRequest
  {
    if let found = try lookUp(request, in: session)?.found { return found }
    return try FetchExecutor.compile(request, isCount: isCount, in: session)
  }

  /// The same for a prepared request.
  static func resolve(
    _ prepared: PreparedRequest, _ values: QueryVariables, isCount: Bool = false, in session: borrowing Session
  ) throws(StoreError) -> CompiledRequest {
    if let found = try lookUp(prepared, values, isCount: isCount, in: session)?.found { return found }
    return try FetchExecutor.compile(prepared, values, isCount: isCount, in: session)
  }

  /// The lookup that answers a request, and what it finds; nil where it takes more than that.
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

  /// The same for a prepared request.
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

  /// nil where more than the keys have to be asked, or where there are many of them.
  private static func find(
    _ lookup: KeyLookup, _ values: QueryVariables, _ frame: RequestFrame, in session: borrowing Session
  ) throws(StoreError) -> CompiledRequest? {
    guard let prefix = lookup.prefix(values) else { return nil }
    if !lookup.index.isConstraint, try !session.hasCurrentFetchIndexes() { return nil }
    // Of equal keys, ids ascend, so that the first are enough.
    let isInOrder = lookup.isExact && lookup.sources.count == lookup.index.columns.count
    let enough = isInOrder ? frame.wanted ?? .max : .max
    guard let found = try IndexReader.fewEntries(beginningWith: prefix, enough: enough, in: session) else { return nil }
    return CompiledRequest(
      frame: frame, source: .entity, estimate: found.count, found: found, condition: nil,
      isSourceExact: lookup.isExact, order: [])
  }
}
