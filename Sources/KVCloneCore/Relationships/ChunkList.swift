package import KVCloneLMDB
package import KVCloneModel
package import KVCloneRecords

/// A copied chunk of a list, to be changed and stored again.
struct LoadedChunk {
  var position: UInt64
  var ids: [ObjectID]

  var isFull: Bool { ids.count >= FormatLimits.chunkCapacity }

  /// The first index with an id not below `id`, in a chunk of an unordered list.
  func lowerBound(of id: ObjectID) -> Int {
    var low = 0
    var high = ids.count
    while low < high {
      let middle = (low + high) / 2
      if ids[middle] < id { low = middle + 1 } else { high = middle }
    }
    return low
  }
}

extension FormatLimits {
  /// Two neighbours with no more ids than this are merged: well below half a chunk, so that the merged one does not
  /// split again at once.
  static let mergeAtMost = 48
}

extension StorageTransaction {
  /// Calls `body` with the list's chunks from the first one at or after `position`, in the list's order, until it
  /// returns false. The ids are borrowed from the engine, and valid during the call.
  package borrowing func forEachChunk(
    _ list: ListAddress, from position: UInt64 = 0, _ body: (ObjectIDList) throws(StoreError) -> Bool
  ) throws(StoreError) {
    let key = list.key(.chunk, position)
    let end = list.key(.memberIndex, 0)
    try scan(list.links, from: key.bytes, before: end.bytes) { (key, value) throws(StoreError) in
      guard let position = try list.position(in: key, .chunk) else { return false }
      return try body(try list.chunk(value, at: position, isOrdered: true))
    }
  }

  /// Calls `body` with all chunks of a list, until it returns false.
  ///
  /// A chunk with a corrupted key belongs to another list, or to none: only the count reveals that it is missing.
  ///
  /// - Parameter count: the number of members according to the list's head; nil for a list without one (referrers).
  /// - Throws: `corrupted` if the chunks have more members, or fewer.
  borrowing func forEachChunk(
    _ list: ListAddress, count: Int?, _ body: (ObjectIDList) throws(StoreError) -> Bool
  ) throws(StoreError) {
    var seen = 0
    var isWhole = true
    try forEachChunk(list) { (ids) throws(StoreError) in
      seen += ids.count
      if let count, seen > count { throw list.wrongCount(seen, head: count) }
      isWhole = try body(ids)
      return isWhole
    }
    if let count, isWhole, seen != count { throw list.wrongCount(seen, head: count) }
  }

  /// All members of a list, in the list's order.
  ///
  /// - Parameter count: the number of members according to the list's head; nil for a list without one (referrers).
  package borrowing func members(_ list: ListAddress, count: Int? = nil) throws(StoreError) -> [ObjectID] {
    var members: [ObjectID] = []
    try forEachChunk(list, count: count) { (ids) throws(StoreError) in
      for index in 0..<ids.count { members.append(ids[index]) }
      return true
    }
    return members
  }

  /// Copies the members of the next chunks from the first one at or after `position`, and returns the position to
  /// continue from; nil at the end. For iterations that change other lists: memory stays flat, regardless of the
  /// length.
  package borrowing func memberBatch(_ list: ListAddress, from position: UInt64, chunkLimit: Int = 64)
    throws(StoreError)
    -> (members: [ObjectID], next: UInt64?)?
  {
    var members: [ObjectID] = []
    var chunkCount = 0
    var last: UInt64 = 0
    let key = list.key(.chunk, position)
    let end = list.key(.memberIndex, 0)
    try scan(list.links, from: key.bytes, before: end.bytes) { (key, value) throws(StoreError) in
      guard let position = try list.position(in: key, .chunk) else { return false }
      let ids = try list.chunk(value, at: position, isOrdered: true)
      for index in 0..<ids.count { members.append(ids[index]) }
      chunkCount += 1
      last = position
      return chunkCount < chunkLimit
    }
    if chunkCount == 0 { return nil }
    return (members, chunkCount < chunkLimit || last == .max ? nil : last + 1)
  }

  /// Deletes every entry of the list: chunks, member index and directory.
  package mutating func deleteList(_ list: ListAddress) throws(StoreError) {
    try deleteEntries(list, kind: nil)
  }

  /// Deletes the list's entries of one kind, or all. In batches, so that memory stays flat, regardless of the list's
  /// length.
  mutating func deleteEntries(_ list: ListAddress, kind: LinkKey.Kind?) throws(StoreError) {
    let batch = 1024
    let prefix = list.prefix(kind)
    var found: [ShortKey] = []
    repeat {
      found.removeAll(keepingCapacity: true)
      try scan(list.links, within: prefix.bytes) { (key, _) throws(StoreError) in
        let link: LinkKey
        do throws(RecordError) { link = try LinkKey(key) } catch { throw list.corrupted(error.description) }
        guard link.owner == list.owner, link.relationship == list.relationship, kind == nil || link.kind == kind else {
          return false
        }
        found.append(.link(link))
        return found.count < batch
      }
      for key in found { try delete(list.links, key.bytes) }
    } while found.count == batch
  }

  /// A copy of the chunk that a seek from `position` finds; nil if the list has none there.
  borrowing func chunk(_ list: ListAddress, _ mode: StorageSeek, _ position: UInt64, isOrdered: Bool) throws(StoreError)
    -> LoadedChunk?
  {
    let key = list.key(.chunk, position)
    guard let entry = try seek(list.links, key.bytes, mode),
      let found = try list.position(in: entry.key, .chunk)
    else { return nil }
    return LoadedChunk(
      position: found, ids: try list.chunk(entry.value, at: found, isOrdered: isOrdered).array)
  }

  /// Copies the ids of the chunk that a seek from `position` finds into the buffer; returns its position and the number
  /// of ids.
  package borrowing func copyChunk(
    _ list: ListAddress, _ mode: StorageSeek, _ position: UInt64, isOrdered: Bool, _ chunk: ChunkBuffer
  ) throws(StoreError) -> (position: UInt64, count: Int)? {
    let key = list.key(.chunk, position)
    guard let entry = try seek(list.links, key.bytes, mode), let found = try list.position(in: entry.key, .chunk) else {
      return nil
    }
    let ids = try list.chunk(entry.value, at: found, isOrdered: isOrdered)
    ids.copy(to: chunk.ids)
    return (found, ids.count)
  }

  /// The chunk after `position`.
  borrowing func chunk(_ list: ListAddress, after position: UInt64, isOrdered: Bool) throws(StoreError) -> LoadedChunk?
  {
    guard position < .max else { return nil }
    return try chunk(list, .atOrAfter, position + 1, isOrdered: isOrdered)
  }

  /// The chunk before `position`.
  borrowing func chunk(_ list: ListAddress, before position: UInt64, isOrdered: Bool) throws(StoreError) -> LoadedChunk?
  {
    guard position > 0 else { return nil }
    return try chunk(list, .atOrBefore, position - 1, isOrdered: isOrdered)
  }

  /// Stores a chunk under its position.
  mutating func store(_ list: ListAddress, _ chunk: LoadedChunk, appending: Bool = false) throws(StoreError) {
    let key = list.key(.chunk, chunk.position)
    let value = ListChunk.encode(chunk.ids, seed: list.seed(key))
    if appending {
      try append(list.links, key.bytes, value.span.bytes)
    } else {
      try put(list.links, key.bytes, value.span.bytes)
    }
  }

  /// Stores the first ids of the buffer as a chunk.
  package mutating func write(_ list: ListAddress, at position: UInt64, _ chunk: ChunkBuffer, count: Int)
    throws(StoreError)
  {
    let key = list.key(.chunk, position)
    let bytes = chunk.encode(count: count, seed: list.seed(key))
    try put(list.links, key.bytes, RawSpan(_unsafeBytes: bytes))
  }

  /// Deletes the chunk at `position`.
  mutating func deleteChunk(_ list: ListAddress, at position: UInt64) throws(StoreError) {
    let key = list.key(.chunk, position)
    try delete(list.links, key.bytes)
  }
}
