import KVCloneCore
import KVCloneModel
import KVCloneRecords

/// Checks the `links` table itself: the owners of lists, and hidden referrer lists.
extension StoreChecker {
  borrowing func checkLists(_ run: CheckRun) throws(StoreError) {
    try forEachStoredList(malformed: { (key) throws(StoreError) in
      run.report(
        .malformedKey, page: run.page(session.schema.tables.links, key), "the table of lists has a malformed key")
    }) { (list) throws(StoreError) in
      try checkStoredList(list, run)
      return !run.isFull
    }
  }

  /// Calls `body` with each list that has at least one chunk, once, in the order of their owners, until it returns
  /// false.
  ///
  /// - Parameter malformed: called with invalid keys.
  borrowing func forEachStoredList(
    malformed: (borrowing RawSpan) throws(StoreError) -> Void = { _ throws(StoreError) in },
    _ body: (ListAddress) throws(StoreError) -> Bool
  ) throws(StoreError) {
    var current: ListAddress?
    try session.forEachEntry(session.schema.tables.links) { (key, _) throws(StoreError) in
      guard let link = try? LinkKey(copy key) else {
        try malformed(key)
        return true
      }
      if let current, current.owner == link.owner, current.relationship == link.relationship { return true }
      let list = session.address(link.owner, link.relationship)
      current = list
      return try body(list)
    }
  }

  /// Checks a list with at least one chunk.
  private borrowing func checkStoredList(_ list: ListAddress, _ run: CheckRun) throws(StoreError) {
    let owner = list.owner
    if session.schema.isFormer(property: list.relationship) { return try checkFormerList(list, run) }
    if run.isUnreadable(owner) { return }
    guard let view = try session.record(owner) else {
      return run.report(
        .orphanList, object: session.schema.rootName(of: owner), property: run.propertyNames[list.relationship],
        isDerived: run.isReferrers(list.relationship), "a list of it exists, but the object does not")
    }
    let entity = try session.schema.entity(of: view, id: owner)
    if let index = entity.relationshipIndexByCode[list.relationship] {
      let relationship = entity.relationships[index]
      let field = entity.field(relationship.field, code: relationship.code, in: view)
      // Lists that the record refers to were checked with it.
      if relationship.isToMany, let field, view.head(field).isChunked { return }
    } else if entity.referrerCodes.contains(list.relationship) {
      return try checkReferrers(list, entity, run)
    }
    run.report(
      .orphanList, owner, entity, property: run.propertyNames[list.relationship],
      isDerived: run.isReferrers(list.relationship), "chunks of a list exist that its record does not reference")
  }

  /// Checks a list of a removed relationship, of an object that only snapshots need. The snapshots have a record with
  /// its head; here, only its chunks are checked, which they read.
  private borrowing func checkFormerList(_ list: ListAddress, _ run: CheckRun) throws(StoreError) {
    if run.isLost(list) { return }
    let isOrdered = session.schema.orderedLists.contains(list.relationship)
    for problem in try session.storage.findProblems(list, head: nil, isOrdered: isOrdered) {
      guard let key = problem.key else { continue }
      run.report(
        .list, object: session.schema.rootName(of: list.owner), property: run.propertyNames[list.relationship],
        page: run.pages?.page(list.links, key.array), problem.message)
    }
  }

  /// Checks a hidden list itself. Whether its members refer to the owner is checked with the links.
  private borrowing func checkReferrers(_ list: ListAddress, _ entity: CompiledEntity, _ run: CheckRun)
    throws(StoreError)
  {
    if run.isLost(list) { return }
    for problem in try session.storage.findProblems(list, head: nil, isOrdered: false) {
      run.reportList(list, entity, problem)
    }
  }

  /// Looks up the owner in the relationships of the objects in hidden lists.
  borrowing func lookUpReferrers(_ run: CheckRun) throws(StoreError) {
    try forEachStoredList { (list) throws(StoreError) in
      guard run.isReferrers(list.relationship), !session.schema.isFormer(property: list.relationship),
        !run.isUnreadable(list.owner), let view = try session.record(list.owner)
      else { return true }
      let entity = try session.schema.entity(of: view, id: list.owner)
      guard entity.referrerCodes.contains(list.relationship) else { return true }
      do throws(StoreError) {
        var windows = ReadWindows(session.storage)
        try session.storage.forEachChunk(list) { (ids) throws(StoreError) in
          windows.renew()
          for index in 0..<ids.count { try checkReferrer(ids[index], list, entity, run) }
          return !run.isFull
        }
      } catch {
        guard error.kind == .corrupted, run.isBroken(list) else { throw error }
      }
      return !run.isFull
    }
  }

  private borrowing func checkReferrer(
    _ referrer: ObjectID, _ list: ListAddress, _ entity: CompiledEntity, _ run: CheckRun
  ) throws(StoreError) {
    if run.isUnreadable(referrer) { return }
    let property = run.propertyNames[list.relationship]
    guard let view = try session.record(referrer) else {
      return run.report(
        .danglingLink, list.owner, entity, property: property, isDerived: true,
        "it has a back reference to \(session.schema.rootName(of: referrer)), which does not exist")
    }
    let other = try session.schema.entity(of: view, id: referrer)
    if let relationship = other.relationship(referrerCode: list.relationship),
      try has(list.owner, referrer, relationship, view, other, run)
    {
      return
    }
    run.report(
      .oneSidedLink, list.owner, entity, property: property, isDerived: true,
      "it has a back reference to \(other.name)/\(referrer.serial), which does not reference it")
  }
}
