import KVCloneCore
import KVCloneModel
import KVCloneRecords

/// One relationship of a clone.
struct ClonedRelationship {
  let step: CloneRuleBook.RelationshipPlan
  /// The clone's relationship.
  let relationship: CompiledRelationship
  /// The source.
  let id: ObjectID
  /// The clone.
  let newID: ObjectID
}

/// A list of a clone in progress: a part in memory, the rest in chunks.
private struct ListInProgress {
  static let limit = 1 << 13

  /// Ordered: members in their order. Unordered: clones, ascending.
  var members: [ObjectID] = []
  /// Outside objects in an unordered list: their ids are less than any clone's, and unordered in another store.
  var originals: [ObjectID] = []
  /// In another store, the outside objects in the list: two of the source's may correspond to one there.
  var matches: Set<ObjectID> = []
  var head = ListHead(count: 0, isChunked: true)
}

/// Links that are processed one by one.
extension CloneStream {
  /// Links a clone as its source is linked (R9): to clones, to outside objects, or not at all.
  mutating func cloneLinks(
    _ link: ClonedRelationship, _ view: borrowing RecordView, _ entity: CompiledEntity
  ) throws(StoreError) {
    let (mine, other) = (link.step.relationship, link.relationship)
    guard let field = entity.field(mine.field, code: mine.code, in: view) else { return }
    guard mine.isToMany else {
      var target: ObjectID?
      if let original = view.toOne(field) { target = try resolve(original, link, known: [])?.id }
      return session.scratch.setToOne(other.field, target)
    }
    let count = view.head(field).count
    if count == 0 { return }
    var list = ListInProgress()
    if view.head(field).isChunked {
      var position: UInt64? = 0
      var seen = 0
      let address = source.address(link.id, mine.code)
      while let from = position, let batch = try source.storage.memberBatch(address, from: from) {
        try add(batch.members, to: &list, link)
        seen += batch.members.count
        position = batch.next
        if list.members.count >= ListInProgress.limit { try flush(&list, link) }
      }
      guard seen == count else { throw address.wrongCount(seen, head: count) }
    } else {
      try add(view.inlineIDs(field).array, to: &list, link)
    }
    try finish(&list, link)
    let length = list.head.count
    if length > FormatLimits.inlineIDLimit { tally.bytesWritten += context.listByteCount(length) }
  }

  private mutating func add(
    _ members: [ObjectID], to list: inout ListInProgress, _ link: ClonedRelationship
  ) throws(StoreError) {
    for member in members {
      // With R10 a source's list gains clones, possibly before it is processed: they are not links of the source.
      if context.bridge == nil, context.isClone(member) { continue }
      guard let (id, isClone) = try resolve(member, link, known: list.matches) else { continue }
      if isClone || link.relationship.isOrdered { list.members.append(id) } else { list.originals.append(id) }
      if !isClone, matcher != nil { list.matches.insert(id) }
    }
  }

  /// Returns the target of a link in the destination; nil for none. Records that an outside object gains the clone.
  ///
  /// - Parameter known: outside objects that are already targets of the relationship.
  private mutating func resolve(_ target: ObjectID, _ link: ClonedRelationship, known: Set<ObjectID>)
    throws(StoreError) -> (id: ObjectID, isClone: Bool)?
  {
    switch try context.linkTarget(link.step, link.id, target, source) {
    case .none: return nil
    case .clone(let clone): return (clone, true)
    case .original:
      let match = matcher == nil ? target : try matcher?.match(target, link.relationship, source, session)
      guard let match, !known.contains(match) else { return nil }
      noteOutside(link, target, match)
      return (match, false)
    }
  }

  private mutating func noteOutside(_ link: ClonedRelationship, _ target: ObjectID, _ match: ObjectID) {
    let code = link.relationship.inverseCode
    guard link.relationship.hasInverse, link.relationship.inverseIsOrdered else {
      return outside.append(match, code, link.newID)
    }
    let origin = OrderedList(owner: target, code: link.step.relationship.inverseCode)
    noteOrdered(OrderedList(owner: match, code: code), clone: link.newID, origin: matcher == nil ? nil : origin)
  }

  /// Writes the buffered members of a long list, as far as they fill chunks.
  private func flush(_ list: inout ListInProgress, _ link: ClonedRelationship, isLast: Bool = false)
    throws(StoreError)
  {
    let place = session.address(link.newID, link.relationship.code)
    let kept = isLast ? 0 : list.members.count % FormatLimits.chunkCapacity
    let part = Array(list.members.dropLast(kept))
    if link.relationship.isOrdered {
      try session.storage.appendFresh(place, part, head: &list.head)
    } else {
      try session.storage.appendUnordered(place, part)
      list.head = ListHead(count: list.head.count + part.count, isChunked: true)
    }
    list.members.removeFirst(part.count)
  }

  private func finish(_ list: inout ListInProgress, _ link: ClonedRelationship) throws(StoreError) {
    let place = session.address(link.newID, link.relationship.code)
    list.originals.sort()
    if list.head.count == 0 {
      let all = list.originals + list.members
      try session.writeList(place, all, link.relationship, link.relationship.field)
      list.head = ListHead(count: all.count, isChunked: true)
      return
    }
    try flush(&list, link, isLast: true)
    if link.relationship.isOrdered { try session.storage.finishFresh(place, head: &list.head) }
    for original in list.originals where try session.storage.insertUnordered(place, original) {
      list.head = ListHead(count: list.head.count + 1, isChunked: true)
    }
    session.scratch.setHead(link.relationship.field, list.head)
  }

  /// Writes the hidden referrer list of a clone.
  mutating func cloneReferrers(_ code: UInt16, to other: UInt16, _ id: ObjectID, _ newID: ObjectID) throws(StoreError) {
    var count = 0
    var position: UInt64? = 0
    while let from = position, let batch = try context.clonedReferrers(code, id, from: from, source) {
      if !batch.clones.isEmpty {
        try session.storage.appendUnordered(session.address(newID, other), batch.clones)
        count += batch.clones.count
      }
      position = batch.next
    }
    if count > 0 { tally.bytesWritten += context.listByteCount(count) }
  }
}
