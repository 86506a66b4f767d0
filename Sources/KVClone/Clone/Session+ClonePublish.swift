import KVCloneModel
import KVCloneRecords

/// The last part of a clone: outside objects learn of the clones that link to them (R9, R12), and shared blobs are
/// counted (R25).
extension Session {
  /// Adds clones to the lists of outside objects, one object at a time whatever the number of clones.
  mutating func publishOutside(_ state: inout CloneStream) throws(StoreError) {
    state.outside.sort()
    var start = 0
    while start < state.outside.count {
      let first = state.outside[start]
      var end = start
      while end < state.outside.count, state.outside[end].target == first.target, state.outside[end].code == first.code
      {
        end += 1
      }
      try addClones(first.target, first.code, state.outside[start..<end].map(\.clone))
      state.tally.bytesWritten += UInt64(end - start) * 8
      start = end
    }
    state.outside.removeAll(keepingCapacity: true)
  }

  /// The same for ordered lists: clones come at the end, in the order that their sources have in the list.
  mutating func publishOrderedOutside(_ state: inout CloneStream) throws(StoreError) {
    state.orderedOutside.sort { ($0.target, $0.code) < ($1.target, $1.code) }
    var start = 0
    while start < state.orderedOutside.count {
      let first = state.orderedOutside[start]
      var clones: [ObjectID: ObjectID] = [:]
      var end = start
      while end < state.orderedOutside.count, state.orderedOutside[end].target == first.target,
        state.orderedOutside[end].code == first.code
      {
        clones[state.orderedOutside[end].source] = state.orderedOutside[end].clone
        end += 1
      }
      let entity = try entity(of: first.target)
      let relationship = try entity.relationship(code: first.code, first.target, schema)
      let members = try members(first.target, relationship)
      try addClones(first.target, first.code, members.compactMap { clones[$0] })
      state.tally.bytesWritten += UInt64(end - start) * 8
      start = end
    }
    state.orderedOutside.removeAll()
  }

  /// Adds clones at the end of one side's list: their ids are above all others, and they are in the list's order.
  private mutating func addClones(_ id: ObjectID, _ code: UInt16, _ clones: [ObjectID]) throws(StoreError) {
    let entity = try load(id)
    guard let index = entity.relationshipIndexByCode[code] else {
      // Not a relationship of the object's own: the hidden list of those who refer to it.
      try storage.appendUnordered(address(id, code), clones)
      return
    }
    let relationship = entity.relationships[index]
    guard relationship.isToMany else { throw schema.damaged(id, .wrongLayout) }
    let list = address(id, code)
    var head = scratch.view.head(relationship.field)
    if !head.isChunked {
      try writeList(list, inlineMembers(relationship.field) + clones, relationship, relationship.field)
    } else if relationship.isOrdered {
      for clone in clones { try storage.insertOrdered(list, clone, head: &head) }
      scratch.setHead(relationship.field, head)
    } else {
      try storage.appendUnordered(list, clones)
      scratch.setHead(relationship.field, ListHead(count: head.count + clones.count, isChunked: true))
    }
    try store(id, entity)
    changes.noteUpdate(id)
  }

  /// Counts the new referrers of shared blobs.
  mutating func publishBlobs(_ state: inout CloneStream) throws(StoreError) {
    state.blobs.sort()
    var counts: [(serial: UInt64, count: UInt64)] = []
    for serial in state.blobs {
      if counts.last?.serial == serial {
        counts[counts.count - 1].count += 1
      } else {
        counts.append((serial, 1))
      }
    }
    try storage.addReferences(blobTables, counts)
    state.blobs.removeAll(keepingCapacity: true)
  }
}

extension StorageTransaction {
  /// Adds ids that ascend and are above all of the list's: the last chunk is filled, then full ones follow.
  mutating func appendUnordered(_ list: ListAddress, _ ids: [ObjectID]) throws(StoreError) {
    var rest = ids[...]
    if let first = rest.first, var last = try chunk(list, .atOrBefore, .max, isOrdered: false) {
      guard let end = last.ids.last, end < first else {
        // Not above all others after all: a clone that somebody linked by hand in the same transaction.
        for id in rest { _ = try insertUnordered(list, id) }
        return
      }
      let room = FormatLimits.chunkCapacity - last.ids.count
      if room > 0 {
        last.ids += rest.prefix(room)
        rest = rest.dropFirst(room)
        try store(list, last)
      }
    }
    if !rest.isEmpty { try writeUnordered(list, Array(rest)) }
  }
}
