package import KVCloneCore
package import KVCloneModel
import KVCloneRecords

/// A compiled request for dictionaries: the objects to read, and the values to compute of each object or group.
struct CompiledDictionaries {
  /// The objects. For groups and distinct dictionaries, all objects are read, regardless of the limit.
  let objects: CompiledRequest
  let names: [String]
  let values: [QueryTerm]
  /// The grouping; nil for a dictionary per object.
  let grouping: QueryGrouping?
  let having: QueryCondition?
  /// The order of groups.
  let order: [CompiledRequest.Order]
  let isDistinct: Bool
  let offset: Int
  let limit: Int?
}

/// Runs fetch requests that return values by name.
enum DictionaryFetch {
  /// - Throws: the errors of `compile(_:)`; `invalidPredicate` also for a property that is neither grouped by nor in a
  ///   function of the group.
  static func compile(_ request: FetchRequest, in session: borrowing Session) throws(StoreError) -> CompiledDictionaries
  {
    let entity = try session.schema.entity(request.entityName)
    var compiler = QueryCompiler(entity, in: session)
    let columns = request.propertiesToFetch.isEmpty ? entity.fetchedByDefault : request.propertiesToFetch
    let expressions = columns.map(\.expression) + request.propertiesToGroupBy.map(\.expression)
    if expressions.contains(where: \.isTooDeep) || request.havingPredicate?.isTooDeep ?? false {
      throw compiler.invalid("an expression is nested too deeply; reduce its nesting")
    }
    var keys: [(expression: QueryExpression, term: QueryTerm)] = []
    for property in request.propertiesToGroupBy {
      keys.append((property.expression, try compiler.single(property.expression)))
    }
    var grouping: QueryGrouping? = QueryGrouping(keys: keys)
    if keys.isEmpty, request.havingPredicate == nil, !columns.contains(where: { $0.expression.isOfGroup }) {
      grouping = nil
    }
    compiler.grouping = grouping
    var values: [QueryTerm] = []
    for column in columns {
      let value = try compiler.single(column.expression)
      values.append(value)
      grouping?.named[column.name] = value
    }
    var having: QueryCondition?
    if let predicate = request.havingPredicate { having = try compiler.condition(predicate) }
    var order: [CompiledRequest.Order] = []
    var plain = request
    if grouping != nil {
      for sort in request.sortDescriptors { order.append(try compiler.order(sort)) }
      plain.sortDescriptors = []
    }
    if grouping != nil || request.returnsDistinctResults { (plain.fetchLimit, plain.fetchOffset) = (0, 0) }
    return CompiledDictionaries(
      objects: try FetchExecutor.compile(plain, in: session), names: columns.map(\.name), values: values,
      grouping: grouping, having: having,
      order: order, isDistinct: request.returnsDistinctResults, offset: request.fetchOffset,
      limit: request.fetchLimit == 0 ? nil : request.fetchLimit)
  }

  /// Calls `body` with each dictionary, in the order of the request, until it returns false.
  ///
  /// Dictionaries of objects are streamed. The values of groups are in memory; for distinct dictionaries, those
  /// returned so far.
  static func forEach(
    _ request: CompiledDictionaries, in session: borrowing Session,
    _ body: (FetchedDictionary) throws(StoreError) -> Bool
  ) throws(StoreError) {
    let span = request.objects.span(in: session)
    try span.run { () throws(StoreError) in
      guard span.isRecording else { return try run(request, in: session, body) }
      var count = 0
      try run(request, in: session) { (dictionary) throws(StoreError) in
        count += 1
        return try body(dictionary)
      }
      span.noteResults(count)
    }
  }

  private static func run(
    _ request: CompiledDictionaries, in session: borrowing Session,
    _ body: (FetchedDictionary) throws(StoreError) -> Bool
  ) throws(StoreError) {
    let evaluator = QueryEvaluator(session.schema)
    if let grouping = request.grouping { return try forEachGroup(request, grouping, evaluator, in: session, body) }
    var window = ResultWindow(request, skips: request.isDistinct)
    try FetchExecutor.forEachResult(request.objects, in: session) { (id, view) throws(StoreError) in
      try window.pass(try values(request, id, view, evaluator, in: session), body)
    }
  }

  private static func values(
    _ request: CompiledDictionaries, _ id: ObjectID, _ view: borrowing RecordView, _ evaluator: QueryEvaluator,
    in session: borrowing Session
  ) throws(StoreError) -> [QueryConstant] {
    var values: [QueryConstant] = []
    for term in request.values { values.append(QueryConstant(try evaluator.value(term, id, view, session), term)) }
    return values
  }

  // MARK: Groups

  private static func forEachGroup(
    _ request: CompiledDictionaries, _ grouping: QueryGrouping, _ evaluator: QueryEvaluator,
    in session: borrowing Session,
    _ body: (FetchedDictionary) throws(StoreError) -> Bool
  ) throws(StoreError) {
    let groups = try groups(request.objects, grouping, evaluator, in: session)
    // Only positions are read here, no values of an object.
    var nobody = RecordBuffer()
    nobody.reset(request.objects.entity.layout)
    let id = ObjectID(rawValue: 0)
    var results: [(keys: [QueryValue], values: [QueryConstant])] = []
    for group in groups {
      evaluator.places = group.places
      if let having = request.having, try !evaluator.holds(having, id, nobody.view, session) { continue }
      var keys: [QueryValue] = []
      for order in request.order {
        keys.append(order.key(try evaluator.value(order.term, id, nobody.view, session)))
      }
      results.append((keys, try values(request, id, nobody.view, evaluator, in: session)))
    }
    // Groups with equal sort keys keep the order of their first objects.
    let sorted = results.indices.sorted { left, right in
      for (place, order) in request.order.enumerated() {
        switch results[left].keys[place].sortOrder(against: results[right].keys[place]) {
        case .same: continue
        case .less: return order.ascending
        case .greater: return !order.ascending
        }
      }
      return left < right
    }
    var window = ResultWindow(request, skips: true)
    for index in sorted where try !window.pass(results[index].values, body) { return }
  }

  /// Returns the groups in the order of their first objects. Without grouping properties, there is exactly one group,
  /// even without objects.
  private static func groups(
    _ objects: CompiledRequest, _ grouping: QueryGrouping, _ evaluator: QueryEvaluator, in session: borrowing Session
  ) throws(StoreError) -> [QueryGroup] {
    let functions = grouping.functions
    var groups: [QueryGroup] = grouping.keys.isEmpty ? [QueryGroup([], functions)] : []
    var places = QueryValueSet()
    try FetchExecutor.forEachResult(objects, in: session) { (id, view) throws(StoreError) in
      var keys: [QueryValue] = []
      for key in grouping.keys { keys.append(try evaluator.value(key.term, id, view, session)) }
      var place = 0
      if !grouping.keys.isEmpty {
        place = places.place(of: .list(keys))
        if place == groups.count { groups.append(QueryGroup(keys, functions)) }
      }
      for (index, function) in functions.enumerated() {
        groups[place].add(try evaluator.value(function.argument, id, view, session), function: index)
      }
      return true
    }
    return groups
  }
}

/// A filter that passes distinct dictionaries, after the offset and within the limit.
private struct ResultWindow {
  private let names: [String]
  private let isDistinct: Bool
  private let skips: Bool
  private let offset: Int
  private let limit: Int?
  private var seen: Set<[QueryConstant]> = []
  private var count = 0

  /// - Parameter skips: whether it applies offset and limit, because the fetch has not.
  init(_ request: CompiledDictionaries, skips: Bool) {
    names = request.names
    isDistinct = request.isDistinct
    self.skips = skips
    offset = request.offset
    limit = request.limit
  }

  /// Returns whether more dictionaries may follow.
  mutating func pass(
    _ values: [QueryConstant], _ body: (FetchedDictionary) throws(StoreError) -> Bool
  ) throws(StoreError) -> Bool {
    if isDistinct, !seen.insert(values).inserted { return true }
    count += 1
    if skips {
      if count <= offset { return true }
      if let limit, count - offset > limit { return false }
    }
    let goesOn = try body(FetchedDictionary(names: names, values: values))
    return goesOn && !(skips && limit == count - offset)
  }
}

extension CompiledEntity {
  /// The default properties of a dictionary: every stored attribute and to-one relationship.
  fileprivate var fetchedByDefault: [ExpressionDescription] {
    attributeNames.filter { composites[$0] != nil || attributeIndex[$0].map { attributes[$0].field != nil } ?? false }
      .map { ExpressionDescription(keyPath: $0) }
      + relationships.filter { !$0.isToMany }.map { ExpressionDescription(keyPath: $0.name) }
  }
}

extension QueryExpression {
  /// Whether one dictionary represents many objects, because it contains an aggregate: `max:(price)`, but not
  /// `max:({price, cost})`.
  fileprivate var isOfGroup: Bool {
    switch self {
    case .function(let function, let arguments):
      if function.ofGroup != nil, arguments.count == 1 {
        if case .aggregate = arguments[0] { return false }
        return true
      }
      return arguments.contains(where: \.isOfGroup)
    case .aggregate(let parts): return parts.contains(where: \.isOfGroup)
    case .cast(let base, _): return base.isOfGroup
    case .conditional(_, let yes, let no): return yes.isOfGroup || no.isOfGroup
    default: return false
    }
  }
}

extension QueryConstant {
  /// Converts a value to that of a result: the value of an attribute has the attribute's own type.
  package init(_ value: QueryValue, _ term: QueryTerm) {
    var type: AttributeType?
    if case .attribute(_, let column) = term.node { type = column.type }
    self.init(value, type)
  }

  private init(_ value: QueryValue, _ type: AttributeType?) {
    switch value {
    case .null: self = .null
    case .boolean(let value): self = .value(.boolean(value))
    case .integer(let number): self = .value(.integer(number))
    case .double(let number): self = .value(type == .float ? .float(Float(number)) : .double(number))
    case .decimal(let number): self = .value(.decimal(number))
    case .string(let text): self = .value(type == .uri ? .uri(text) : .string(text))
    case .date(let seconds): self = .value(.date(.init(timeIntervalSinceReferenceDate: seconds)))
    case .uuid(let uuid): self = .value(.uuid(uuid))
    case .binary(let data): self = .value(.binary(data))
    case .object(let id): self = .object(id)
    case .other(let value): self = .value(value)
    case .list(let values): self = .list(values.map { QueryConstant($0, type) })
    }
  }
}
