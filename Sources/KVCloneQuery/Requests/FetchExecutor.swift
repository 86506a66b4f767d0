package import KVCloneCore
package import KVCloneModel
package import KVCloneRecords

/// Runs fetch requests.
package enum FetchExecutor {
  /// - Parameter isCount: whether results are only counted, so their order does not matter.
  /// - Throws: `unknownEntity`, `unknownProperty`, `wrongType`, `invalidPredicate`.
  package static func compile(
    _ request: FetchRequest, isCount: Bool = false, use: RequestPlanner.IndexUse = .whereCheaper,
    objects: [String: (id: ObjectID, entity: CompiledEntity)] = [:], in session: borrowing Session
  ) throws(StoreError) -> CompiledRequest {
    var compiler = try session.schema.compiler(for: request, storeUUID: session.storeUUID)
    compiler.objects = objects
    var condition: QueryCondition?
    if let predicate = request.predicate { condition = try compiler.condition(predicate) }
    return try plan(try compiler.frame(of: request), condition, isCount: isCount, use: use, in: session)
  }

  /// Plans the access to the objects that match a condition.
  static func plan(
    _ frame: RequestFrame, _ condition: QueryCondition?, isCount: Bool, use: RequestPlanner.IndexUse,
    in session: borrowing Session
  ) throws(StoreError) -> CompiledRequest {
    let entity = frame.entity
    var condition = condition
    // No condition remains, so the objects are counted without being read.
    if case .constant(true)? = condition { condition = nil }
    let order = isCount ? [] : frame.order
    let planner = RequestPlanner(
      entity: entity, schema: session.schema, wantedCodes: frame.wantedCodes,
      indexes: try usableIndexes(of: entity, in: session), use: use,
      order: order, wanted: frame.wanted, isCount: isCount)
    let choice = try planner.choose(condition, session)
    return CompiledRequest(
      frame: frame, source: choice.source, estimate: choice.count, found: choice.found, condition: condition,
      isSourceExact: choice.isExact, order: order)
  }

  /// Returns the indexes that requests for an entity's objects can use in the session's state.
  static func usableIndexes(of entity: CompiledEntity, in session: borrowing Session) throws(StoreError)
    -> [RequestIndex]
  {
    let hasFetchIndexes = entity.fetchIndexes.isEmpty ? false : try session.hasCurrentFetchIndexes()
    if !hasFetchIndexes { return entity.requestIndexes.ofConstraints }
    let all = entity.requestIndexes.all
    if !session.lacksFetchIndex(session.schema.codes.lastIndex) { return all }
    return all.filter { $0.isConstraint || !session.lacksFetchIndex($0.id) }
  }

  /// Calls `body` with each result in the order of the request, until it returns false.
  package static func forEachResult(
    _ request: CompiledRequest, in session: borrowing Session,
    _ body: (ObjectID, borrowing RecordView) throws(StoreError) -> Bool
  ) throws(StoreError) {
    if request.sortsResults {
      let results = try sortedResults(request, limit: request.wanted, in: session).dropFirst(request.offset)
      return try readAll(results, in: session, body) { id in
        session.schema.notFound(id)
      }
    }
    var passed = 0
    try forEachMatch(request, in: session) { (id, view) throws(StoreError) in
      passed += 1
      if passed <= request.offset { return true }
      if let wanted = request.wanted, passed > wanted { return false }
      let goesOn = try body(id, view)
      return goesOn && passed != request.wanted
    }
  }

  /// Returns the number of results.
  package static func count(_ request: CompiledRequest, in session: borrowing Session) throws(StoreError) -> Int {
    try request.span(in: session).run { () throws(StoreError) in try countResults(request, in: session) }
  }

  private static func countResults(_ request: CompiledRequest, in session: borrowing Session) throws(StoreError) -> Int
  {
    var count = 0
    if request.isSourceExact, let found = request.found {
      count = min(found.count, request.wanted ?? .max)
    } else if request.condition == nil, request.found == nil {
      count = try session.count(of: request.entity, includesSubentities: request.includesSubentities)
    } else if request.isSourceExact, case .index(let scan) = request.source {
      count = try IndexReader.countEntries(scan.intervals, limit: request.wanted ?? .max, in: session)
    } else {
      try forEachMatch(request, in: session) { (_, _) throws(StoreError) in
        count += 1
        return count != request.wanted
      }
    }
    let rest = max(0, count - request.offset)
    return request.limit.map { min($0, rest) } ?? rest
  }

  /// Returns the ids of the first results in their order, or of those after a position.
  ///
  /// - Parameter isReversed: whether the results are those before the position, from the last to the first.
  static func sortedResults(
    _ request: CompiledRequest, beyond position: ResultPosition? = nil, isReversed: Bool = false, limit: Int?,
    in session: borrowing Session
  ) throws(StoreError) -> [ObjectID] {
    let evaluator = QueryEvaluator(session.schema)
    let order = isReversed ? request.order.map(\.reversed) : request.order
    var results = SortedResults(order.map { $0.ascending }, descendsByID: isReversed, limit: limit)
    let cutOff = Box(RecordTests())
    let before = position.flatMap { RecordTest(behind: $0.keys[0], order[0].reversed, isBehindEqual: false) }
    let passed = Box(RecordTests(before.map { [$0] } ?? []))
    try forEachMatch(request, behind: cutOff.place, in: session) { (id, view) throws(StoreError) in
      if cutOff.value.surelyHold(view) || passed.value.surelyHold(view) { return true }
      let first = order[0].key(try evaluator.value(order[0].term, id, view, session))
      if results.isBehindAll(first) { return true }
      let keys = try sortKeys(request.order, id, view, evaluator, in: session)
      if let position, !results.isBeyond(position, keys, id) { return true }
      if results.insert(keys, id), let last = results.lastKey {
        // Ids ascend, so with a single sort key, later objects with an equal key sort behind as well.
        let test = RecordTest(behind: last, order[0], isBehindEqual: order.count == 1 && !isReversed)
        cutOff.value.set(test.map { [$0] } ?? [])
      }
      return true
    }
    return results.ids
  }

  static func sortKeys(
    _ orders: [CompiledRequest.Order], _ id: ObjectID, _ view: borrowing RecordView, _ evaluator: QueryEvaluator,
    in session: borrowing Session
  ) throws(StoreError) -> [QueryValue] {
    var keys: [QueryValue] = []
    for order in orders { keys.append(order.key(try evaluator.value(order.term, id, view, session))) }
    return keys
  }

  /// Calls `body` with every object that matches the request's condition: by ascending id, or in the order of an index
  /// that matches the request's.
  ///
  /// - Parameter behind: tests that together exclude an object; they may change during the scan.
  private static func forEachMatch(
    _ request: CompiledRequest, behind: UnsafeMutablePointer<RecordTests>? = nil, in session: borrowing Session,
    _ body: (ObjectID, borrowing RecordView) throws(StoreError) -> Bool
  ) throws(StoreError) {
    if let found = request.found, request.isSourceExact {
      return try readAll(found[...], in: session, body) { _ in IndexReader.damagedIndex }
    }
    // Only callbacks of scans begin a window: a scan returns bytes that need no scope.
    var windows = ReadWindows(session.storage)
    var filter = RecordFilter(request, session.schema, behind: behind)
    if let found = request.found {
      var last: ObjectID?
      for id in found where id != last {
        windows.next()
        if try !passes(id, isIndexed: true, &filter, in: session, body) { return }
        last = id
      }
      return
    }
    switch request.source {
    case .entity:
      try FilteredScan.forEachRecord(
        of: request.entity, includesSubentities: request.includesSubentities, through: &filter, in: session, body)
    case .index(let scan) where scan.isInOrderOfIDs:
      for interval in scan.intervals {
        try IndexReader.forEachKey(interval, in: session) { (_, id) throws(StoreError) in
          windows.next()
          return try passes(id, isIndexed: true, &filter, in: session, body)
        }
      }
    case .ordered(let ordered):
      let evaluator = filter.evaluator
      try IndexReader.forEachID(ordered, isPartlySorted: ordered.sortedCount < request.order.count, in: session) {
        (ids) throws(StoreError) in
        if ids.isEmpty { return ids }
        var results = SortedResults(request.order.map { $0.ascending }, limit: nil)
        for id in ids {
          guard let view = try session.record(id) else { throw IndexReader.damagedIndex }
          results.insert(try sortKeys(request.order, id, view, evaluator, in: session), id)
        }
        return results.ids
      } _: { (id) throws(StoreError) in
        windows.next()
        return try passes(id, isIndexed: true, &filter, in: session, body)
      }
    case .objects, .members, .linked, .index, .union:
      var gathered = GatheredObjects()
      let isIndexed = try gather(request.source, into: &gathered, in: session)
      let window = session.readWindow()
      var next: [ObjectID] = []
      var goesOn = true
      try gathered.forEach { (id) throws(StoreError) in
        next.append(id)
        if next.count == window { goesOn = try passAll(&next, isIndexed: isIndexed, &filter, in: session, body) }
        return goesOn
      }
      if goesOn { _ = try passAll(&next, isIndexed: isIndexed, &filter, in: session, body) }
    }
  }

  /// Calls `body` with objects and their records, until it returns false.
  ///
  /// - Parameter missing: the error for an object that does not exist.
  private static func readAll(
    _ ids: ArraySlice<ObjectID>, in session: borrowing Session,
    _ body: (ObjectID, borrowing RecordView) throws(StoreError) -> Bool, missing: (ObjectID) -> StoreError
  ) throws(StoreError) {
    let window = session.readWindow()
    var rest = ids
    while !rest.isEmpty {
      let next = rest.prefix(window)
      let goesOn = try session.readScope { () throws(StoreError) in
        session.prefetch(next)
        for id in next {
          guard let view = try session.record(id) else { throw missing(id) }
          if try !body(id, view) { return false }
        }
        return true
      }
      if !goesOn { return }
      rest = rest.dropFirst(next.count)
    }
  }

  /// Adds the objects of a source; returns whether all of them are known to exist.
  @discardableResult
  static func gather(
    _ source: CompiledRequest.Source, into gathered: inout GatheredObjects, in session: borrowing Session
  ) throws(StoreError) -> Bool {
    switch source {
    case .entity, .ordered: return false
    case .objects(let ids):
      for id in ids { gathered.insert(id) }
      return false
    case .members(let owners, let link):
      try gatherMembers(owners, link, into: &gathered, in: session)
      return false
    case .linked(let search):
      try gatherMembers(search.found, search.inverse, into: &gathered, in: session)
      return false
    case .index(let scan):
      for interval in scan.intervals {
        try IndexReader.forEachKey(interval, in: session) { (_, id) throws(StoreError) in
          gathered.insert(id)
          return true
        }
      }
      return true
    case .union(let branches):
      for branch in branches { try gather(branch.source, into: &gathered, in: session) }
      return false
    }
  }

  private static func gatherMembers(
    _ owners: [ObjectID], _ link: QueryLink, into gathered: inout GatheredObjects, in session: borrowing Session
  ) throws(StoreError) {
    for owner in owners {
      for member in try members(owner, link, in: session) { gathered.insert(member) }
    }
  }

  /// Calls `body` with an object if it matches the request; returns whether to continue.
  static func passes(
    _ id: ObjectID, isIndexed: Bool, _ filter: inout RecordFilter, in session: borrowing Session,
    _ body: (ObjectID, borrowing RecordView) throws(StoreError) -> Bool
  ) throws(StoreError) -> Bool {
    guard let view = try session.record(id) else {
      if isIndexed { throw IndexReader.damagedIndex }
      return true
    }
    guard try filter.isOfWantedEntity(id, view), try filter.holds(id, view, session) else { return true }
    return try body(id, view)
  }

  /// Passes several objects in the same way, and clears the list.
  private static func passAll(
    _ ids: inout [ObjectID], isIndexed: Bool, _ filter: inout RecordFilter, in session: borrowing Session,
    _ body: (ObjectID, borrowing RecordView) throws(StoreError) -> Bool
  ) throws(StoreError) -> Bool {
    defer { ids.removeAll(keepingCapacity: true) }
    return try session.readScope { () throws(StoreError) in
      session.prefetch(ids[...])
      for id in ids where try !passes(id, isIndexed: isIndexed, &filter, in: session, body) { return false }
      return true
    }
  }

  /// Returns the members of a relationship of an object that may be deleted.
  private static func members(_ owner: ObjectID, _ link: QueryLink, in session: borrowing Session) throws(StoreError)
    -> [ObjectID]
  {
    guard let view = try session.record(owner) else { return [] }
    let entity = try session.schema.entity(of: view, id: owner)
    guard let index = entity.relationshipIndexByCode[link.code] else { return [] }
    return try session.members(owner, entity.relationships[index])
  }
}
