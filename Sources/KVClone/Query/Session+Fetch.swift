import KVCloneModel
import KVCloneRecords

/// Answers fetch requests.
extension Session {
  /// - Throws: `unknownEntity`, `unknownProperty`, `wrongType`, `invalidPredicate`.
  borrowing func compile(
    _ request: FetchRequest, objects: [String: (id: ObjectID, entity: CompiledEntity)] = [:]
  ) throws(StoreError) -> CompiledRequest {
    let entity = try schema.entity(request.entityName)
    guard request.fetchLimit >= 0, request.fetchOffset >= 0 else {
      throw StoreError(
        .invalidPredicate, "the limit and the offset of a request are numbers from 0", entity: entity.name)
    }
    if request.predicate?.isTooDeep ?? false || request.sortDescriptors.contains(where: { $0.key.isTooDeep }) {
      throw StoreError(
        .invalidPredicate, "the predicate or a sort key has more levels than can be followed; write it flatter",
        entity: entity.name)
    }
    var compiler = queryCompiler(entity)
    compiler.objects = objects
    var condition: QueryCondition?
    if let predicate = request.predicate { condition = try compiler.condition(predicate) }
    var order: [CompiledRequest.Order] = []
    for sort in request.sortDescriptors { order.append(try compiler.order(sort)) }
    return CompiledRequest(
      entity: entity, includesSubentities: request.includesSubentities,
      source: .choose(condition, entity, schema), condition: condition, order: order, offset: request.fetchOffset,
      limit: request.fetchLimit == 0 ? nil : request.fetchLimit)
  }

  /// Calls `body` with each result in the request's order, until it answers false.
  borrowing func forEachResult(
    _ request: CompiledRequest, _ body: (ObjectID, borrowing RecordView) throws(StoreError) -> Bool
  ) throws(StoreError) {
    if !request.order.isEmpty {
      for id in try sortedResults(request) where try !body(id, try existingRecord(id)) { return }
      return
    }
    var passed = 0
    try forEachMatch(request) { (id, view) throws(StoreError) in
      passed += 1
      if passed <= request.offset { return true }
      if let wanted = request.wanted, passed > wanted { return false }
      let goesOn = try body(id, view)
      return goesOn && passed != request.wanted
    }
  }

  /// How many results there are.
  borrowing func count(_ request: CompiledRequest) throws(StoreError) -> Int {
    var count = 0
    if request.condition == nil {
      count = try self.count(of: request.entity, includesSubentities: request.includesSubentities)
    } else {
      try forEachMatch(request) { (_, _) throws(StoreError) in
        count += 1
        return count != request.wanted
      }
    }
    let rest = max(0, count - request.offset)
    return request.limit.map { min($0, rest) } ?? rest
  }

  /// The ids of the results in their order.
  private borrowing func sortedResults(_ request: CompiledRequest) throws(StoreError) -> ArraySlice<ObjectID> {
    let evaluator = QueryEvaluator(schema)
    var results = SortedResults(request.order.map { $0.ascending }, limit: request.wanted)
    try forEachMatch(request) { (id, view) throws(StoreError) in
      let first = request.order[0].key(try evaluator.value(request.order[0].term, id, view, self))
      if results.isBehindAll(first) { return true }
      var keys = [first]
      for order in request.order.dropFirst() { keys.append(order.key(try evaluator.value(order.term, id, view, self))) }
      results.insert(keys, id)
      return true
    }
    return results.ids.dropFirst(request.offset)
  }

  /// Calls `body` with every object for which the request's condition holds, by ascending id.
  private borrowing func forEachMatch(
    _ request: CompiledRequest, _ body: (ObjectID, borrowing RecordView) throws(StoreError) -> Bool
  ) throws(StoreError) {
    let evaluator = QueryEvaluator(schema)
    switch request.source {
    case .entity:
      try forEachRecord(of: request.entity, includesSubentities: request.includesSubentities) {
        (id, view) throws(StoreError) in
        if let condition = request.condition, try !evaluator.holds(condition, id, view, self) { return true }
        return try body(id, view)
      }
    case .objects(let ids): try forEachMatch(request, Set(ids).sorted(), evaluator, body)
    case .members(let owners, let link):
      var members: Set<ObjectID> = []
      for owner in owners { members.formUnion(try self.members(owner, link)) }
      try forEachMatch(request, members.sorted(), evaluator, body)
    }
  }

  private borrowing func forEachMatch(
    _ request: CompiledRequest, _ ids: [ObjectID], _ evaluator: QueryEvaluator,
    _ body: (ObjectID, borrowing RecordView) throws(StoreError) -> Bool
  ) throws(StoreError) {
    let wanted = request.includesSubentities ? request.entity.concreteCodes : [request.entity.code]
    for id in ids {
      guard let view = try record(id), wanted.contains(try schema.entity(of: view, id: id).code) else { continue }
      if let condition = request.condition, try !evaluator.holds(condition, id, view, self) { continue }
      if try !body(id, view) { return }
    }
  }

  /// The members of a relationship of an object that may be gone.
  private borrowing func members(_ owner: ObjectID, _ link: QueryLink) throws(StoreError) -> [ObjectID] {
    guard let view = try record(owner) else { return [] }
    let entity = try schema.entity(of: view, id: owner)
    guard let index = entity.relationshipIndexByCode[link.code] else { return [] }
    return try members(owner, entity.relationships[index])
  }
}

/// Results by their keys, with their ids to tell equal ones apart; only as many as are wanted are kept.
struct SortedResults {
  private struct Entry {
    let keys: [QueryValue]
    let id: ObjectID
  }

  private let directions: [Bool]
  private let limit: Int?
  /// Without a limit, in the order they came. With one, a heap: the last of those that are kept is the first.
  private var entries: [Entry] = []

  init(_ directions: [Bool], limit: Int?) {
    self.directions = directions
    self.limit = limit
  }

  /// Whether a result with this first key comes behind all that are kept, and nothing else of it has to be known.
  func isBehindAll(_ key: QueryValue) -> Bool {
    guard let limit, entries.count >= limit, let last = entries.first else { return false }
    switch key.sortOrder(against: last.keys[0]) {
    case .same: return false
    case .less: return !directions[0]
    case .greater: return directions[0]
    }
  }

  mutating func insert(_ keys: [QueryValue], _ id: ObjectID) {
    let entry = Entry(keys: keys, id: id)
    guard let limit, entries.count >= limit else {
      entries.append(entry)
      if limit != nil { moveUp(entries.count - 1) }
      return
    }
    guard let last = entries.first, precedes(entry, last) else { return }
    entries[0] = entry
    moveDown(0)
  }

  /// The ids in order.
  var ids: [ObjectID] { entries.sorted { precedes($0, $1) }.map(\.id) }

  private func precedes(_ left: Entry, _ right: Entry) -> Bool {
    for (index, ascending) in directions.enumerated() {
      switch left.keys[index].sortOrder(against: right.keys[index]) {
      case .same: continue
      case .less: return ascending
      case .greater: return !ascending
      }
    }
    return left.id < right.id
  }

  private mutating func moveUp(_ index: Int) {
    var index = index
    while index > 0 {
      let parent = (index - 1) / 2
      guard precedes(entries[parent], entries[index]) else { return }
      entries.swapAt(parent, index)
      index = parent
    }
  }

  private mutating func moveDown(_ index: Int) {
    var index = index
    while true {
      var last = index
      for child in [2 * index + 1, 2 * index + 2] where child < entries.count && precedes(entries[last], entries[child])
      {
        last = child
      }
      if last == index { return }
      entries.swapAt(index, last)
      index = last
    }
  }
}
