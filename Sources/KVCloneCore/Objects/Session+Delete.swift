package import KVCloneModel
package import KVCloneRecords

extension Session {
  /// Deletes objects by the delete rules; how many went.
  ///
  /// The rules are worked out for all of them first, without recursion and in bits: what cascades, then what denies. A
  /// relationship with the rule deny does not stand in the way when its members go in the same call.
  package mutating func delete(_ ids: ObjectSet, sparing kept: ObjectID? = nil) throws(StoreError) -> Int {
    try deleteAll(try doomed(by: ids, sparing: kept))
  }

  /// Deletes these objects and no others; how many they are.
  package mutating func deleteAll(_ doomed: ObjectSet) throws(StoreError) -> Int {
    waiting?.forgetTargets()
    let hasProvenance = try hasProvenance()
    for (rootCode, set) in doomed.sets.enumerated() {
      guard let set else { continue }
      var next = set.next(from: 0)
      while let serial = next {
        let id = ObjectID(rootCode: UInt16(rootCode), serial: serial)
        try deleteOne(id, doomed)
        if hasProvenance { try forgetProvenance(of: id) }
        next = set.next(from: serial + 1)
      }
    }
    return doomed.count
  }

  /// The objects that go when those given are deleted.
  ///
  /// - Throws: `objectNotFound`, `deleteDenied`.
  borrowing func doomed(by ids: ObjectSet, sparing kept: ObjectID? = nil) throws(StoreError) -> ObjectSet {
    let doomed = try cascade(from: ids, sparing: kept)
    try checkDenied(doomed)
    return doomed
  }

  /// The objects given and all that cascade from them, or those alone that are new; never `kept`, nor what cascades by way
  /// of it alone.
  borrowing func cascade(from ids: ObjectSet, onlyNew: Bool = false, sparing kept: ObjectID? = nil)
    throws(StoreError) -> ObjectSet
  {
    var doomed = ObjectSet()
    var queue = ObjectQueue()
    try ids.forEach { (id) throws(StoreError) in
      guard try exists(id) else { throw schema.notFound(id) }
      if doomed.insert(id) { queue.add(id) }
      return true
    }
    var next: [ObjectID] = []
    while queue.take(max(prefetchWindow(), 1), into: &next) {
      prefetch(next[...])
      for id in next {
        let view = try existingRecord(id)
        let entity = try schema.entity(of: view, id: id)
        for relationship in entity.relationships where relationship.description.deleteRule == .cascade {
          try forEachMember(id, relationship, in: view, entity) { (member) throws(StoreError) in
            if member == kept { return true }
            if onlyNew, try !isNew(member) { return true }
            if doomed.insert(member) { queue.add(member) }
            return true
          }
        }
      }
    }
    return doomed
  }

  private borrowing func checkDenied(_ doomed: ObjectSet) throws(StoreError) {
    try forEachAnnounced(doomed) { (id) throws(StoreError) in
      let view = try existingRecord(id)
      let entity = try schema.entity(of: view, id: id)
      for relationship in entity.relationships where relationship.description.deleteRule == .deny {
        var denied = false
        try forEachMember(id, relationship, in: view, entity) { (member) throws(StoreError) in
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

  /// Deletes one object: partners that stay let go of it, its lists, blobs, index entries and record go.
  private mutating func deleteOne(_ id: ObjectID, _ doomed: ObjectSet) throws(StoreError) {
    let entity = try load(id)
    if changes.history != nil { try noteDeletion(id, entity) }
    try removeIndexEntries(id, entity)
    var blobs: [BlobReference] = []
    for attribute in entity.attributes {
      guard let field = attribute.field else { continue }
      guard scratch.layout.kind(field).mayBeBlob, let blob = scratch.view.blobReference(field) else { continue }
      blobs.append(blob)
    }
    var chunked: [UInt16] = []
    for relationship in entity.relationships
    where relationship.isToMany && scratch.view.head(relationship.field).isChunked {
      chunked.append(relationship.code)
    }
    try releaseOutlived(id)
    for blob in blobs { try releaseBlob(blob) }
    for relationship in entity.relationships { try letGo(id, relationship, doomed) }
    for code in entity.referrerCodes { try dropReferrers(id, code, doomed) }
    for code in chunked { try storage.deleteList(address(id, code)) }
    let key = ShortKey.object(id)
    try storage.delete(entity.table, key.bytes)
    changes.noteDelete(id)
  }

  /// The members of a deleted object's relationship that stay lose their link to it. The rule no action differs in one
  /// thing: they are not checked at commit for what they lack now.
  private mutating func letGo(_ id: ObjectID, _ relationship: CompiledRelationship, _ doomed: ObjectSet)
    throws(StoreError)
  {
    let validates = relationship.description.deleteRule != .noAction
    try forEachMemberBatch(id, relationship) { (session, members) throws(StoreError) in
      for member in members where !doomed.contains(member) {
        if relationship.hasInverse {
          _ = try session.detach(member, relationship.inverseCode, id, validates: validates)
        } else {
          _ = try session.storage.removeUnordered(session.address(member, relationship.inverseCode), id)
        }
      }
    }
  }

  /// Objects that refer to a deleted one through a relationship without an inverse lose the link: no store of ours ever
  /// holds a dangling one.
  private mutating func dropReferrers(_ id: ObjectID, _ code: UInt16, _ doomed: ObjectSet) throws(StoreError) {
    let list = address(id, code)
    var isEmpty = true
    try forEachBatch(list) { (session, referrers) throws(StoreError) in
      isEmpty = false
      for referrer in referrers where !doomed.contains(referrer) {
        guard let relationship = try session.entity(of: referrer).relationship(referrerCode: code) else {
          throw session.schema.corrupted(id, .wrongLayout)
        }
        _ = try session.detach(referrer, relationship.code, id)
      }
    }
    if !isEmpty { try storage.deleteList(list) }
  }
}
