import KVCloneCore
import KVCloneModel
import KVCloneRecords

/// One relationship of a clone that is being made in another store.
struct LinkToClone {
  let step: CloneRuleBook.RelationshipPlan
  /// The destination's relationship.
  let relationship: CompiledRelationship
  /// The source, by the source's store.
  let id: ObjectID
  /// The clone, by the destination.
  let newID: ObjectID
  let copy: Int
  let attributes: CloneContext
}

/// A list of a clone while it is written: so much in memory, the rest in chunks.
private struct ListInProgress {
  static let limit = 1 << 13

  /// Ordered: members in their order. Unordered: clones, which ascend.
  var members: [ObjectID] = []
  /// Members of before, in an unordered list: their ids are lower than any clone's, and in no order.
  var originals: [ObjectID] = []
  var matches: Set<ObjectID> = []
  var head = ListHead(count: 0, isChunked: true)
}

extension Session {
  /// Links a clone as its source is linked (R9): to clones, to what stands for outside objects, or not at all.
  mutating func takeOver(
    _ link: LinkToClone, _ view: borrowing RecordView, _ entity: CompiledEntity, _ source: borrowing Session,
    _ state: inout CloneIntoStream
  ) throws(StoreError) {
    let (mine, other) = (link.step.relationship, link.relationship)
    guard let field = entity.field(mine.field, code: mine.code, in: view) else { return }
    guard mine.isToMany else {
      let target = view.toOne(field)
      var new: ObjectID?
      if let target { new = try resolve(target, link, source, &state).id }
      return scratch.setToOne(other.field, new)
    }
    let count = view.head(field).count
    if count == 0 { return }
    var list = ListInProgress()
    var position: UInt64? = 0
    var seen = 0
    while let from = position, let batch = try source.memberBatch(link.id, mine, in: view, entity, from: from) {
      for member in batch.members { try add(member, to: &list, link, source, &state) }
      seen += batch.members.count
      position = batch.next
      if list.members.count >= ListInProgress.limit { try flush(&list, link) }
    }
    guard seen == count else { throw source.address(link.id, mine.code).wrongCount(seen, head: count) }
    try finish(&list, link)
    let length = list.head.count
    if length > FormatLimits.inlineIDLimit { state.tally.bytesWritten += UInt64(length) * 8 }
  }

  private mutating func add(
    _ member: ObjectID, to list: inout ListInProgress, _ link: LinkToClone, _ source: borrowing Session,
    _ state: inout CloneIntoStream
  ) throws(StoreError) {
    let (id, isClone) = try resolve(member, link, source, &state, known: list.matches)
    guard let id else { return }
    if isClone || link.relationship.isOrdered { list.members.append(id) } else { list.originals.append(id) }
    if !isClone { list.matches.insert(id) }
  }

  /// Where a link leads in the destination. What the clone is linked to besides clones learns of it.
  ///
  /// - Parameter known: objects that the relationship leads to already: two outside objects may be one there.
  private func resolve(
    _ target: ObjectID, _ link: LinkToClone, _ source: borrowing Session, _ state: inout CloneIntoStream,
    known: Set<ObjectID> = []
  ) throws(StoreError) -> (id: ObjectID?, isClone: Bool) {
    switch try state.context.link(link.step, link.id, target, link.attributes, source) {
    case .none: return (nil, false)
    case .clone:
      guard let clone = state.context.cloneID(of: target, copy: link.copy) else { throw source.schema.notFound(target) }
      return (clone, true)
    case .outside:
      guard let match = try state.matcher.match(target, link.relationship, source, self), !known.contains(match) else {
        return (nil, false)
      }
      state.noteOutside(link.step, link.relationship, source: target, target: match, clone: link.newID)
      return (match, false)
    }
  }

  /// Writes what a long list has in memory, as far as it fills chunks.
  private mutating func flush(_ list: inout ListInProgress, _ link: LinkToClone, isLast: Bool = false)
    throws(StoreError)
  {
    let place = address(link.newID, link.relationship.code)
    let kept = isLast ? 0 : list.members.count % FormatLimits.chunkCapacity
    let part = Array(list.members.dropLast(kept))
    if link.relationship.isOrdered {
      try storage.appendFresh(place, part, head: &list.head)
    } else {
      try storage.appendUnordered(place, part)
      list.head = ListHead(count: list.head.count + part.count, isChunked: true)
    }
    list.members.removeFirst(part.count)
  }

  private mutating func finish(_ list: inout ListInProgress, _ link: LinkToClone) throws(StoreError) {
    let place = address(link.newID, link.relationship.code)
    list.originals.sort()
    if list.head.count == 0 {
      let all = list.originals + list.members
      try writeList(place, all, link.relationship, link.relationship.field)
      list.head = ListHead(count: all.count, isChunked: true)
      return
    }
    try flush(&list, link, isLast: true)
    if link.relationship.isOrdered { try storage.finishFresh(place, head: &list.head) }
    for original in list.originals where try storage.insertUnordered(place, original) {
      list.head = ListHead(count: list.head.count + 1, isChunked: true)
    }
    scratch.setHead(link.relationship.field, list.head)
  }

  /// The hidden list of those who refer to a clone: clones of those who refer to its source.
  mutating func takeOverReferrers(
    _ code: UInt16, _ other: UInt16, _ id: ObjectID, _ newID: ObjectID, _ copy: Int, _ attributes: CloneContext,
    _ source: borrowing Session, _ state: inout CloneIntoStream
  ) throws(StoreError) {
    try source.forEachClonedReferrers(code, id, copy, attributes, state.context) { (clones) throws(StoreError) in
      try storage.appendUnordered(address(newID, other), clones)
      state.tally.bytesWritten += UInt64(clones.count) * 8
    }
  }

  /// Of those who refer to an object of the source, the clones that will refer to its clone, so many at a time that memory
  /// stays flat, and never none.
  borrowing func forEachClonedReferrers(
    _ code: UInt16, _ id: ObjectID, _ copy: Int, _ attributes: CloneContext, _ context: CloneIntoContext,
    _ body: ([ObjectID]) throws(StoreError) -> Void
  ) throws(StoreError) {
    var position: UInt64? = 0
    while let from = position, let batch = try storage.memberBatch(address(id, code), from: from) {
      var clones: [ObjectID] = []
      for referrer in batch.members {
        guard let clone = context.cloneID(of: referrer, copy: copy) else { continue }
        guard let plan = context.book.plan(try entity(of: referrer).code),
          let step = plan.relationships.first(where: {
            !$0.relationship.hasInverse && $0.relationship.inverseCode == code
          })
        else { throw schema.corrupted(referrer, .wrongLayout) }
        if case .clone = try context.link(step, referrer, id, attributes, self) { clones.append(clone) }
      }
      if !clones.isEmpty { try body(clones) }
      position = batch.next
    }
  }
}
