import KVCloneModel
import KVCloneRecords

/// The last part of a clone: outside objects learn of the clones that link to them (R9, R12), and shared blobs are
/// counted (R25).
extension Session {
  /// Adds clones to the lists of outside objects, one object at a time whatever the number of clones.
  mutating func publishOutside(_ state: inout CloneStream) throws(StoreError) {
    var touched: [ObjectID] = []
    var links = 0
    var rootCode: UInt16?
    // The session is captured by nobody else, and the closure does not escape.
    try state.outside.drain { (target, code, clones) throws(StoreError) in
      // Targets ascend, and so do their records and their lists.
      if target.rootCode != rootCode, let table = schema.objectTable(rootCode: target.rootCode) {
        rootCode = target.rootCode
        storage.keepPlaces(in: [table, address(target, code).links])
      }
      if try addClones(target, code, clones, state.chunk) { touched.append(target) }
      links += clones.count
    }
    storage.keepPlaces(in: [])
    for id in touched { _ = state.tally.touched.insert(id) }
    state.tally.bytesWritten += UInt64(links) * 8
  }

  /// The same for ordered lists: clones come at the end, in the order that their sources have in the list, copy after copy
  /// (R12).
  mutating func publishOrderedOutside(_ state: inout CloneStream) throws(StoreError) {
    let context = state.context
    for (list, gain) in state.orderedOutside.sorted(by: { ($0.key.target, $0.key.code) < ($1.key.target, $1.key.code) })
    {
      _ = state.tally.touched.insert(list.target)
      state.tally.bytesWritten += UInt64(gain.count) * 8
      if gain.count == 1 {
        _ = try addClones(list.target, list.code, [gain.first], state.chunk)
        continue
      }
      let entity = try entity(of: list.target)
      let relationship = try entity.relationship(code: list.code, list.target, schema)
      var sources: [ObjectID] = []
      for member in try members(list.target, relationship) where context.cloneID(of: member) != nil {
        if try isLinked(member, to: list.target, through: gain.relationship, context) { sources.append(member) }
      }
      for copy in 0..<context.book.options.count {
        context.select(copy: copy)
        _ = try addClones(list.target, list.code, sources.compactMap { context.cloneID(of: $0) }, state.chunk)
      }
    }
    state.orderedOutside.removeAll()
  }

  /// Whether the clone of `member` is linked to the original `target`.
  private borrowing func isLinked(
    _ member: ObjectID, to target: ObjectID, through code: UInt16, _ context: CloneContext
  ) throws(StoreError) -> Bool {
    let entity = try entity(of: member)
    guard let plan = context.book.plan(entity.code),
      let step = plan.relationships.first(where: { $0.relationship.code == code })
    else { throw schema.damaged(member, .wrongLayout) }
    if case .original = try linkTarget(step, member, target, context) { return true }
    return false
  }

  /// Adds clones at the end of one side's list: their ids are above all others, and they are in the list's order.
  ///
  /// - Returns: whether the object itself changed: a hidden list of referrers is not its own.
  @discardableResult
  mutating func addClones(
    _ id: ObjectID, _ code: UInt16, _ clones: some RandomAccessCollection<ObjectID>, _ chunk: CloneChunk
  ) throws(StoreError) -> Bool {
    let entity = try load(id)
    guard let index = entity.relationshipIndexByCode[code] else {
      // Not a relationship of the object's own: the hidden list of those who refer to it.
      try storage.appendUnordered(address(id, code), clones, chunk)
      return false
    }
    let relationship = entity.relationships[index]
    guard relationship.isToMany else { throw schema.damaged(id, .wrongLayout) }
    let list = address(id, code)
    var head = scratch.view.head(relationship.field)
    if !head.isChunked, head.count + clones.count <= FormatLimits.inlineIDLimit {
      do throws(RecordError) {
        var position = head.count
        for clone in clones {
          try scratch.insertInlineID(relationship.field, at: position, clone)
          position += 1
        }
      } catch {
        throw schema.damaged(id, error)
      }
    } else if !head.isChunked {
      try writeList(list, inlineMembers(relationship.field) + clones, relationship, relationship.field)
    } else if relationship.isOrdered {
      for clone in clones { try storage.insertOrdered(list, clone, head: &head) }
      scratch.setHead(relationship.field, head)
    } else {
      try storage.appendUnordered(list, clones, chunk)
      scratch.setHead(relationship.field, ListHead(count: head.count + clones.count, isChunked: true))
    }
    try store(id, entity)
    // Nothing for the commit to validate: what more members can break, the plan has looked at (R13).
    changes.noteUnvalidatedUpdate(id, property: code)
    try clonesLinked(id, entity, relationship, clones)
    return true
  }

  /// Adds a referrer to the blob of each serial, and forgets the serials.
  mutating func countReferrers(_ serials: inout [UInt64]) throws(StoreError) {
    serials.sort()
    var counts: [(serial: UInt64, count: UInt64)] = []
    for serial in serials {
      if counts.last?.serial == serial {
        counts[counts.count - 1].count += 1
      } else {
        counts.append((serial, 1))
      }
    }
    try storage.addReferences(blobTables, counts)
    serials.removeAll(keepingCapacity: true)
  }

  /// Counts the new referrers of shared blobs.
  mutating func publishBlobs(_ state: inout CloneStream) throws(StoreError) {
    try countReferrers(&state.blobs)
  }
}

extension StorageTransaction {
  /// Adds ids that ascend and are above all of the list's: the last chunk is filled, then full ones follow.
  mutating func appendUnordered(
    _ list: ListAddress, _ ids: some RandomAccessCollection<ObjectID>, _ chunk: CloneChunk = CloneChunk()
  ) throws(StoreError) {
    guard let first = ids.first else { return }
    var rest = ids[...]
    if let last = try copyChunk(list, .atOrBefore, .max, isOrdered: false, chunk) {
      guard chunk.ids[last.count - 1] < first else {
        // Not above all others after all: a clone that somebody linked by hand in the same transaction.
        for id in ids { _ = try insertUnordered(list, id) }
        return
      }
      if last.count < FormatLimits.chunkCapacity {
        let count = chunk.take(from: &rest, after: last.count)
        try write(list, at: last.position, chunk, count: count)
      }
    }
    while !rest.isEmpty {
      let count = chunk.take(from: &rest, after: 0)
      try write(list, at: chunk.ids[0].rawValue, chunk, count: count)
    }
  }

  /// Copies the ids of the chunk that a seek from `position` finds into the buffer; its position, and how many there are.
  borrowing func copyChunk(
    _ list: ListAddress, _ mode: StorageSeek, _ position: UInt64, isOrdered: Bool, _ chunk: CloneChunk
  ) throws(StoreError) -> (position: UInt64, count: Int)? {
    let key = list.key(.chunk, position)
    guard let entry = try seek(list.links, key.bytes, mode), let found = try list.position(in: entry.key, .chunk) else {
      return nil
    }
    let ids = try list.chunk(entry.value, at: found, isOrdered: isOrdered)
    ids.copy(to: chunk.ids)
    return (found, ids.count)
  }

  /// Stores the first ids of the buffer as a chunk.
  mutating func write(_ list: ListAddress, at position: UInt64, _ chunk: CloneChunk, count: Int) throws(StoreError) {
    let key = list.key(.chunk, position)
    let bytes = chunk.encode(count: count, seed: list.seed(key))
    try put(list.links, key.bytes, RawSpan(_unsafeBytes: bytes))
  }
}
