import KVCloneCore
import KVCloneModel
import KVCloneRecords

/// Checks both sides of every relationship. Memory stays flat.
extension StoreChecker {
  borrowing func checkLinks(_ run: CheckRun) throws(StoreError) {
    if try linksAreEven(run) { return }
    try run.reading("the lists of referrers") { () throws(StoreError) in try lookUpReferrers(run) }
    for rootCode in session.schema.rootCodes {
      guard let table = session.schema.objectTable(rootCode: rootCode) else { continue }
      try run.reading("the links of \(session.schema.entity(code: rootCode)?.name ?? "")") { () throws(StoreError) in
        try session.forEachEntry(table) { (key, value) throws(StoreError) in
          guard let id = Self.objectID(key), id.rootCode == rootCode, id.serial > 0, !run.isUnreadable(id)
          else { return true }
          let view = try session.schema.view(of: copy value, id: id)
          let entity = try session.schema.entity(of: view, id: id)
          for relationship in entity.relationships { try checkLinks(id, relationship, view, entity, run) }
          return !run.isFull
        }
      }
    }
  }

  /// Whether every link has its inverse side, by sums (``Balance``). After earlier findings, all links are looked up:
  /// one issue may hide another.
  borrowing func linksAreEven(_ run: CheckRun) throws(StoreError) -> Bool {
    guard run.isClean else { return false }
    var balance = Balance()
    do throws(StoreError) {
      for rootCode in session.schema.rootCodes {
        guard let table = session.schema.objectTable(rootCode: rootCode) else { continue }
        try session.forEachEntry(table) { (key, value) throws(StoreError) in
          guard let id = Self.objectID(key), id.rootCode == rootCode, id.serial > 0 else { return true }
          let view = try session.schema.view(of: copy value, id: id)
          let entity = try session.schema.entity(of: view, id: id)
          for relationship in entity.relationships {
            try session.forEachMember(id, relationship, in: view, entity) { (member) throws(StoreError) in
              balance.expectLink(relationship.inverseCode, member, id)
              // Hidden referrer lists require nothing: they are what is required.
              if relationship.hasInverse { balance.findLink(relationship.code, id, member) }
              return true
            }
          }
          return true
        }
      }
      try forEachStoredList { (list) throws(StoreError) in
        guard run.isReferrers(list.relationship), !session.schema.isFormer(property: list.relationship) else {
          return true
        }
        try session.storage.forEachChunk(list) { (ids) throws(StoreError) in
          for index in 0..<ids.count { balance.findLink(list.relationship, list.owner, ids[index]) }
          return true
        }
        return true
      }
    } catch {
      guard error.kind == .corrupted else { throw error }
      return false
    }
    return balance.isEven
  }

  private borrowing func checkLinks(
    _ id: ObjectID, _ relationship: CompiledRelationship, _ view: borrowing RecordView, _ entity: CompiledEntity,
    _ run: CheckRun
  ) throws(StoreError) {
    do throws(StoreError) {
      // Members are scanned, and the view was read before.
      var windows = ReadWindows(session.storage)
      try session.forEachMember(id, relationship, in: view, entity) { (member) throws(StoreError) in
        windows.next()
        try checkLink(id, relationship, entity, member, run)
        return !run.isFull
      }
    } catch {
      // The members before the corruption were checked; the corruption was reported with the record.
      guard error.kind == .corrupted, run.isBroken(session.address(id, relationship.code)) else { throw error }
    }
  }

  private borrowing func checkLink(
    _ id: ObjectID, _ relationship: CompiledRelationship, _ entity: CompiledEntity, _ member: ObjectID, _ run: CheckRun
  ) throws(StoreError) {
    if run.isUnreadable(member) { return }
    guard let view = try session.record(member) else {
      return run.report(
        .danglingLink, id, entity, property: relationship.name,
        "its member \(session.schema.rootName(of: member)) does not exist")
    }
    let other = try session.schema.entity(of: view, id: member)
    guard other.isKind(of: relationship.destinationCode) else {
      return run.report(
        .wrongDestination, id, entity, property: relationship.name,
        "its member \(other.name)/\(member.serial) is not of the entity "
          + "\(relationship.description.destinationEntityName)")
    }
    if relationship.hasInverse {
      guard let inverse = other.inverse(of: relationship) else { return }
      if try has(id, member, inverse, view, other, run) { return }
      run.report(
        .oneSidedLink, id, entity, property: relationship.name,
        "\(other.name)/\(member.serial) is a member, but its \(inverse.name) does not contain it")
    } else {
      if try contains(id, session.address(member, relationship.inverseCode), run) { return }
      run.report(
        .oneSidedLink, id, entity, property: relationship.name, isDerived: true,
        "\(other.name)/\(member.serial) is a member, but has no back reference to it")
    }
  }

  /// Whether `owner` has `member`; true for a corrupted list, which is unknown.
  borrowing func has(
    _ member: ObjectID, _ owner: ObjectID, _ relationship: CompiledRelationship, _ view: borrowing RecordView,
    _ entity: CompiledEntity, _ run: CheckRun
  ) throws(StoreError) -> Bool {
    guard let field = entity.field(relationship.field, code: relationship.code, in: view) else { return false }
    guard relationship.isToMany else { return view.toOne(field) == member }
    let head = view.head(field)
    guard head.isChunked else { return view.inlineIDs(field).firstIndex(of: member) != nil }
    return try contains(
      member, session.address(owner, relationship.code), run, orderedHead: relationship.isOrdered ? head : nil)
  }

  /// Whether a list in chunks contains `member`; true for a corrupted list, which is unknown.
  private borrowing func contains(
    _ member: ObjectID, _ list: ListAddress, _ run: CheckRun, orderedHead: ListHead? = nil
  ) throws(StoreError) -> Bool {
    if run.isBroken(list) { return true }
    do throws(StoreError) {
      if let orderedHead { return try session.storage.containsOrdered(list, member, head: orderedHead) }
      return try session.storage.containsUnordered(list, member)
    } catch {
      // The list itself is sound: the unreadable entry is in the member's place.
      guard error.kind == .corrupted else { throw error }
      return false
    }
  }
}
