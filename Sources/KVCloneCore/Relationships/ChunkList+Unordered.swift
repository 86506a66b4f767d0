package import KVCloneModel
import KVCloneRecords

/// Unordered lists: a sorted set of ids. They need no head, so that lists outside of records (referrers) work alike.
extension StorageTransaction {
  /// Whether `member` is in the list.
  package borrowing func containsUnordered(_ list: ListAddress, _ member: ObjectID) throws(StoreError) -> Bool {
    let key = list.key(.chunk, member.rawValue)
    guard let entry = try seek(list.links, key.bytes, .atOrBefore),
      let position = try list.position(in: entry.key, .chunk)
    else { return false }
    let ids = try list.chunk(entry.value, at: position, isOrdered: false)
    let index = ids.lowerBound(of: member)
    return index < ids.count && ids[index] == member
  }

  /// Adds ascending ids if they are above all others of the list: fills the last chunk, then adds full ones. Returns
  /// false, without changes, if they are not.
  mutating func appendsUnordered(
    _ list: ListAddress, _ ids: some RandomAccessCollection<ObjectID>, _ chunk: ChunkBuffer
  ) throws(StoreError) -> Bool {
    guard let first = ids.first else { return true }
    var rest = ids[...]
    if let last = try copyChunk(list, .atOrBefore, .max, isOrdered: false, chunk) {
      guard chunk.ids[last.count - 1] < first else { return false }
      if last.count < FormatLimits.chunkCapacity {
        let count = chunk.take(from: &rest, after: last.count)
        try write(list, at: last.position, chunk, count: count)
      }
    }
    while !rest.isEmpty {
      let count = chunk.take(from: &rest, after: 0)
      try write(list, at: chunk.ids[0].rawValue, chunk, count: count)
    }
    return true
  }

  /// Adds ascending ids, which usually belong at the end; returns the number of new ones.
  @_specialize(where IDs == [ObjectID])
  @discardableResult
  package mutating func appendUnordered<IDs: RandomAccessCollection<ObjectID>>(
    _ list: ListAddress, _ ids: IDs, _ chunk: ChunkBuffer = ChunkBuffer()
  ) throws(StoreError) -> Int {
    if try appendsUnordered(list, ids, chunk) { return ids.count }
    var count = 0
    for id in ids where try insertUnordered(list, id) { count += 1 }
    return count
  }

  /// Adds `member`; returns false if it was present.
  ///
  /// A full chunk at either end of the list is left full, and a new one begun: ids that are added in order fill every
  /// chunk.
  package mutating func insertUnordered(_ list: ListAddress, _ member: ObjectID) throws(StoreError) -> Bool {
    guard var chunk = try chunk(list, .atOrBefore, member.rawValue, isOrdered: false) else {
      try insertFirst(list, member)
      return true
    }
    let index = chunk.lowerBound(of: member)
    if index < chunk.ids.count, chunk.ids[index] == member { return false }
    if !chunk.isFull {
      chunk.ids.insert(member, at: index)
      try store(list, chunk)
    } else if index == chunk.ids.count {
      try insertAfterFull(list, chunk, member)
    } else {
      try splitUnordered(list, chunk, member, at: index)
    }
    return true
  }

  /// Adds a member less than all others.
  private mutating func insertFirst(_ list: ListAddress, _ member: ObjectID) throws(StoreError) {
    let first = try chunk(list, .atOrAfter, 0, isOrdered: false)
    if let first, !first.isFull {
      try replace(list, first.position, [member] + first.ids)
    } else {
      try store(list, LoadedChunk(position: member.rawValue, ids: [member]))
    }
  }

  /// Adds a member above all of a full chunk and below the next one.
  private mutating func insertAfterFull(_ list: ListAddress, _ full: LoadedChunk, _ member: ObjectID) throws(StoreError)
  {
    guard let next = try chunk(list, after: full.position, isOrdered: false) else {
      return try store(list, LoadedChunk(position: member.rawValue, ids: [member]))
    }
    if next.isFull {
      try splitUnordered(list, full, member, at: full.ids.count)
    } else {
      try replace(list, next.position, [member] + next.ids)
    }
  }

  private mutating func splitUnordered(_ list: ListAddress, _ chunk: LoadedChunk, _ member: ObjectID, at index: Int)
    throws(StoreError)
  {
    var ids = chunk.ids
    ids.insert(member, at: index)
    let middle = ids.count / 2
    try store(list, LoadedChunk(position: ids[middle].rawValue, ids: Array(ids[middle...])))
    try replace(list, chunk.position, Array(ids[..<middle]))
  }

  /// Removes `member`; returns false if it was not present.
  package mutating func removeUnordered(_ list: ListAddress, _ member: ObjectID) throws(StoreError) -> Bool {
    guard var chunk = try chunk(list, .atOrBefore, member.rawValue, isOrdered: false) else { return false }
    let index = chunk.lowerBound(of: member)
    guard index < chunk.ids.count, chunk.ids[index] == member else { return false }
    chunk.ids.remove(at: index)
    if chunk.ids.count < FormatLimits.mergeAtMost, !chunk.ids.isEmpty {
      let room = FormatLimits.mergeAtMost - chunk.ids.count
      if let next = try self.chunk(list, after: chunk.position, isOrdered: false), next.ids.count <= room {
        try deleteChunk(list, at: next.position)
        chunk.ids += next.ids
      } else if let previous = try self.chunk(list, before: chunk.position, isOrdered: false),
        previous.ids.count <= room
      {
        try deleteChunk(list, at: chunk.position)
        chunk = LoadedChunk(position: previous.position, ids: previous.ids + chunk.ids)
      }
    }
    try replace(list, chunk.position, chunk.ids)
    return true
  }

  /// Stores the changed chunk at `position`: under another key if its first id changed, not at all if it is empty.
  private mutating func replace(_ list: ListAddress, _ position: UInt64, _ ids: [ObjectID]) throws(StoreError) {
    guard let first = ids.first else { return try deleteChunk(list, at: position) }
    if first.rawValue != position { try deleteChunk(list, at: position) }
    try store(list, LoadedChunk(position: first.rawValue, ids: ids))
  }

  /// Writes a new list of ascending ids.
  package mutating func writeUnordered(_ list: ListAddress, _ ids: [ObjectID]) throws(StoreError) {
    var index = 0
    try writeUnordered(list, count: ids.count) { () throws(StoreError) in
      defer { index += 1 }
      return index < ids.count ? ids[index] : nil
    }
  }

  /// Writes a new list of `count` ascending ids, in full chunks, with one chunk in memory at a time.
  ///
  /// - Parameters:
  ///   - appending: Whether the list's keys are above all others of the table, so that chunks can be appended.
  ///   - next: Returns the next id, or nil at the end; it has to end after `count` ids.
  /// - Throws: `corrupted` if the ids do not ascend or their number is not `count`: their source does not match its
  ///   head.
  mutating func writeUnordered(
    _ list: ListAddress, count: Int, appending: Bool = false, next: () throws(StoreError) -> ObjectID?
  ) throws(StoreError) {
    var written = 0
    var last: ObjectID?
    var chunk = LoadedChunk(position: 0, ids: [])
    chunk.ids.reserveCapacity(min(count, FormatLimits.chunkCapacity))
    while let id = try next() {
      if let last, last >= id { throw list.corrupted("The ids to write are not in ascending order.") }
      last = id
      if chunk.ids.isEmpty { chunk.position = id.rawValue }
      chunk.ids.append(id)
      written += 1
      if chunk.isFull {
        try store(list, chunk, appending: appending)
        chunk.ids.removeAll(keepingCapacity: true)
      }
    }
    if !chunk.ids.isEmpty { try store(list, chunk, appending: appending) }
    guard written == count else { throw list.wrongCount(written, head: count) }
  }
}
