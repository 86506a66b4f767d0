package import KVCloneModel
package import KVCloneRecords

package enum ObjectDeletion {
  /// Deletes objects by the delete rules; returns the number of deleted objects.
  ///
  /// The rules are evaluated for all objects first, without recursion and with bitmaps: cascade, then deny. The rule
  /// deny does not apply to members that the same call deletes.
  package static func delete(_ ids: ObjectSet, sparing kept: ObjectID? = nil, in session: inout Session)
    throws(StoreError) -> Int
  {
    try deleteAll(try doomed(by: ids, sparing: kept, in: session), in: &session)
  }

  /// Deletes exactly these objects; returns their number.
  ///
  /// - Parameter validatesAll: whether objects that lose links are recorded for validation regardless of delete rules.
  package static func deleteAll(
    _ doomed: ObjectSet, validatesAll: Bool = false, in session: inout Session
  ) throws(StoreError) -> Int {
    session.deferred?.forgetTargets()
    let hasProvenance = try session.hasProvenance()
    for (rootCode, set) in doomed.sets.enumerated() {
      guard let set else { continue }
      var next = set.next(from: 0)
      while let serial = next {
        let id = ObjectID(rootCode: UInt16(rootCode), serial: serial)
        try deleteOne(id, doomed, validatesAll, in: &session)
        if hasProvenance { try session.forgetProvenance(of: id) }
        next = set.next(from: serial + 1)
      }
    }
    return doomed.count
  }

  /// Returns the objects to delete along with the given ones.
  ///
  /// - Throws: `objectNotFound`, `deleteDenied`.
  static func doomed(by ids: ObjectSet, sparing kept: ObjectID? = nil, in session: borrowing Session) throws(StoreError)
    -> ObjectSet
  {
    let doomed = try cascade(from: ids, sparing: kept, in: session)
    try checkDenied(doomed, in: session)
    return doomed
  }

  /// Returns the given objects and all that the rule cascade reaches, or only the new ones among them; never `kept`,
  /// nor objects that are only reachable through it.
  static func cascade(
    from ids: ObjectSet, onlyNew: Bool = false, sparing kept: ObjectID? = nil, in session: borrowing Session
  )
    throws(StoreError) -> ObjectSet
  {
    var doomed = ObjectSet()
    var queue = ObjectQueue()
    try session.forEachAnnounced(ids) { (id) throws(StoreError) in
      guard try session.exists(id) else { throw session.schema.notFound(id) }
      if doomed.insert(id) { queue.add(id) }
      return true
    }
    var next: [ObjectID] = []
    while queue.take(max(session.prefetchWindow(), 1), into: &next) {
      try session.readScope { () throws(StoreError) in
        session.prefetch(next[...])
        for id in next {
          let view = try session.existingRecord(id)
          let entity = try session.schema.entity(of: view, id: id)
          for relationship in entity.relationships where relationship.description.deleteRule == .cascade {
            try session.forEachMember(id, relationship, in: view, entity) { (member) throws(StoreError) in
              if member == kept { return true }
              if onlyNew, try !session.isNew(member) { return true }
              if doomed.insert(member) { queue.add(member) }
              return true
            }
          }
        }
      }
    }
    return doomed
  }

  private static func checkDenied(_ doomed: ObjectSet, in session: borrowing Session) throws(StoreError) {
    try session.forEachAnnounced(doomed) { (id) throws(StoreError) in
      let view = try session.existingRecord(id)
      let entity = try session.schema.entity(of: view, id: id)
      for relationship in entity.relationships where relationship.description.deleteRule == .deny {
        var denied = false
        try session.forEachMember(id, relationship, in: view, entity) { (member) throws(StoreError) in
          denied = !doomed.contains(member)
          return !denied
        }
        if denied {
          throw StoreError(
            .deleteDenied,
            "\(entity.name)/\(id.serial) cannot be deleted: \(relationship.name) still has members, and its delete rule "
              + "is deny; delete or unlink them first", entity: entity.name, property: relationship.name,
            object: "\(entity.name)/\(id.serial)")
        }
      }
      return true
    }
  }

  /// Deletes one object: its links to remaining partners, its lists, blobs, index entries and record.
  private static func deleteOne(
    _ id: ObjectID, _ doomed: ObjectSet, _ validatesAll: Bool, in session: inout Session
  ) throws(StoreError) {
    let entity = try session.load(id)
    if session.state.history != nil { try HistoryWriter.noteDeletion(id, entity, in: &session) }
    try IndexEntries.remove(id, entity, in: &session)
    var blobs: [BlobReference] = []
    for attribute in entity.attributes {
      guard let field = attribute.field else { continue }
      guard session.scratch.layout.kind(field).mayBeBlob, let blob = session.scratch.view.blobReference(field) else {
        continue
      }
      blobs.append(blob)
    }
    var chunked: [UInt16] = []
    for relationship in entity.relationships
    where relationship.isToMany && session.scratch.view.head(relationship.field).isChunked {
      chunked.append(relationship.code)
    }
    try session.releaseOrphanedBlobs(id)
    for blob in blobs { try session.releaseBlob(blob) }
    for relationship in entity.relationships { try unlink(id, relationship, doomed, validatesAll, in: &session) }
    for code in entity.referrerCodes { try dropReferrers(id, code, doomed, in: &session) }
    for code in chunked { try session.storage.deleteList(session.address(id, code)) }
    let key = ShortKey.object(id)
    try session.storage.delete(entity.table, key.bytes)
    session.changes.noteDelete(id)
  }

  /// Removes the link to a deleted object from the remaining members of its relationship. With the rule no action, the
  /// commit does not validate members that lack a required link as a result, unless all are validated.
  private static func unlink(
    _ id: ObjectID, _ relationship: CompiledRelationship, _ doomed: ObjectSet, _ validatesAll: Bool,
    in session: inout Session
  )
    throws(StoreError)
  {
    let validates = validatesAll || relationship.description.deleteRule != .noAction
    try session.forEachMemberBatch(id, relationship) { (session, members) throws(StoreError) in
      for member in members where !doomed.contains(member) {
        if relationship.hasInverse {
          _ = try session.detach(member, relationship.inverseCode, id, validates: validates)
        } else {
          _ = try session.storage.removeUnordered(session.address(member, relationship.inverseCode), id)
        }
      }
    }
  }

  /// Removes links to a deleted object through relationships without an inverse, so that no store contains a dangling
  /// link.
  private static func dropReferrers(_ id: ObjectID, _ code: UInt16, _ doomed: ObjectSet, in session: inout Session)
    throws(StoreError)
  {
    let list = session.address(id, code)
    var isEmpty = true
    try session.forEachBatch(list) { (session, referrers) throws(StoreError) in
      isEmpty = false
      for referrer in referrers where !doomed.contains(referrer) {
        guard let relationship = try session.entity(of: referrer).relationship(referrerCode: code) else {
          throw session.schema.corrupted(id, .wrongLayout)
        }
        _ = try session.detach(referrer, relationship.code, id)
      }
    }
    if !isEmpty { try session.storage.deleteList(list) }
  }
}
