package import KVCloneModel
import KVCloneRecords

/// The addition of many new objects to a list at once.
extension RelationshipLinks {
  /// Adds new objects at the end of one side's list: their ids are above all others, and they are in the list's order.
  ///
  /// - Parameter validates: whether the commit validates the object. The plan of a clone has already validated
  ///   everything that more members can break (R13).
  /// - Returns: whether the object itself changed: a hidden list of referrers does not belong to it.
  // Other modules call the function for each list, and would otherwise get its unspecialized form.
  @_specialize(where Members == DeferredLinks.Group)
  @_specialize(where Members == [ObjectID])
  @discardableResult
  package static func addMembers<Members: RandomAccessCollection<ObjectID>>(
    _ id: ObjectID, _ code: UInt16, _ members: Members, _ chunk: ChunkBuffer,
    validates: Bool = false, in session: inout Session
  ) throws(StoreError) -> Bool {
    let entity = try session.load(id)
    guard let index = entity.relationshipIndexByCode[code] else {
      // Not a relationship of the object itself, but the hidden list of its referrers.
      try session.storage.appendUnordered(session.address(id, code), members, chunk)
      return false
    }
    let relationship = entity.relationships[index]
    guard relationship.isToMany else { throw session.schema.corrupted(id, .wrongLayout, entity.layout) }
    let list = session.address(id, code)
    var head = session.scratch.view.head(relationship.field)
    if !head.isChunked, head.count + members.count <= FormatLimits.inlineIDLimit {
      for member in members {
        guard let position = Session.place(of: member, in: session.scratch, relationship, at: nil) else { continue }
        try session.edit(id) { (record) throws(RecordError) in
          try record.insertInlineID(relationship.field, at: position, member)
        }
      }
    } else if !head.isChunked {
      try session.writeList(list, session.inlineMembers(relationship.field) + members, relationship, relationship.field)
    } else if relationship.isOrdered {
      for member in members { try session.storage.insertOrdered(list, member, head: &head) }
      session.scratch.setHead(relationship.field, head)
    } else {
      let count = try session.storage.appendUnordered(list, members, chunk)
      session.scratch.setHead(relationship.field, ListHead(count: head.count + count, isChunked: true))
    }
    try session.store(id, entity)
    session.noteUpdate(id, property: code, validates: validates)
    try DerivedChanges.newObjectsLinked(id, entity, relationship, members, in: &session)
    return true
  }
}

extension Session {
  /// Announces that these lists gain members next: their last chunks, and the records of their owners, are read.
  package borrowing func prefetch(_ lists: [DeferredLinks.List]) {
    if lists.count < 2 { return }
    prefetch(lists.map(\.owner)[...])
    storage.prefetch(
      schema.tables.links,
      atOrBefore: lists.map { Array(unsafePointers(address($0.owner, $0.code).key(.chunk, .max).bytes)) })
  }
}
