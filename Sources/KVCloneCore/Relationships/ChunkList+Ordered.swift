package import KVCloneModel
package import KVCloneRecords

/// Reading ordered lists.
extension StorageTransaction {
  /// Where a member of an ordered list is.
  struct OrderedPlace {
    var chunk: LoadedChunk
    /// The member's index in its chunk.
    var offset: Int
    /// The members before the chunk; nil where finding the chunk did not pass over them.
    var rank: Int?
  }

  /// Whether `member` is in the list.
  package borrowing func containsOrdered(_ list: ListAddress, _ member: ObjectID, head: ListHead) throws(StoreError)
    -> Bool
  {
    if head.hasMemberIndex { return try memberLabel(list, member) != nil }
    var isFound = false
    try forEachChunk(list) { (ids) throws(StoreError) in
      isFound = ids.firstIndex(of: member) != nil
      return !isFound
    }
    return isFound
  }

  /// The position of `member`, or nil if it is not in the list.
  borrowing func position(_ list: ListAddress, of member: ObjectID, head: ListHead) throws(StoreError) -> Int? {
    guard let place = try place(list, of: member, head: head) else { return nil }
    if let rank = place.rank { return rank + place.offset }
    if head.hasDirectory { return try directoryRank(list, of: place.chunk.position) + place.offset }
    var before = 0
    let start = list.key(.chunk, 0)
    let end = list.key(.chunk, place.chunk.position)
    try scan(list.links, from: start.bytes, before: end.bytes) { (key, value) throws(StoreError) in
      guard let position = try list.position(in: key, .chunk), position < place.chunk.position else { return false }
      before += try list.chunk(value, at: position, isOrdered: true).count
      return true
    }
    return before + place.offset
  }

  /// The member at `index`.
  ///
  /// - Throws: `invalidIndex` outside of `0..<head.count`.
  borrowing func member(_ list: ListAddress, at index: Int, head: ListHead) throws(StoreError) -> ObjectID {
    guard index >= 0, index < head.count else { throw list.invalidIndex(index, count: head.count) }
    // The place of an insertion behind the member is the end of, or inside, the chunk that has it.
    let place = try insertionPlace(list, at: index + 1, head: head)
    return place.chunk.ids[place.offset - 1]
  }

  /// The chunk that has `member`, copied.
  borrowing func place(_ list: ListAddress, of member: ObjectID, head: ListHead) throws(StoreError) -> OrderedPlace? {
    if head.hasMemberIndex {
      guard let label = try memberLabel(list, member) else { return nil }
      guard let chunk = try chunk(list, .atOrAfter, label, isOrdered: true), chunk.position == label,
        let offset = chunk.ids.firstIndex(of: member)
      else { throw list.corrupted("Its member index refers to a chunk without the member.") }
      return OrderedPlace(chunk: chunk, offset: offset)
    }
    var rank = 0
    var next = try chunk(list, .atOrAfter, 0, isOrdered: true)
    while let chunk = next {
      if let offset = chunk.ids.firstIndex(of: member) { return OrderedPlace(chunk: chunk, offset: offset, rank: rank) }
      rank += chunk.ids.count
      next = try self.chunk(list, after: chunk.position, isOrdered: true)
    }
    return nil
  }

  /// The chunk that a member inserted at `index` belongs to: the first one that reaches up to `index`.
  ///
  /// - Precondition: `index` is in `0...head.count`, and the list has members.
  borrowing func insertionPlace(_ list: ListAddress, at index: Int, head: ListHead) throws(StoreError) -> OrderedPlace {
    if index == head.count {
      guard let last = try chunk(list, .atOrBefore, .max, isOrdered: true) else {
        throw list.corrupted("It has no members, and its head has the count \(head.count).")
      }
      return OrderedPlace(chunk: last, offset: last.ids.count)
    }
    let found =
      head.hasDirectory
      ? try directoryLookup(list, insertingAt: index) : try chunkLookup(list, insertingAt: index)
    guard let found, let chunk = try chunk(list, .atOrAfter, found.label, isOrdered: true),
      chunk.position == found.label, found.offset <= chunk.ids.count, found.offset > 0 || index == 0
    else { throw list.corrupted("It has fewer members than its head or its directory counts.") }
    return OrderedPlace(chunk: chunk, offset: found.offset)
  }

  private borrowing func chunkLookup(_ list: ListAddress, insertingAt index: Int) throws(StoreError)
    -> (label: UInt64, offset: Int)?
  {
    var before = 0
    var found: (label: UInt64, offset: Int)?
    let prefix = list.prefix(.chunk)
    try scan(list.links, within: prefix.bytes) { (key, value) throws(StoreError) in
      guard let position = try list.position(in: key, .chunk) else { return false }
      let count = try list.chunk(value, at: position, isOrdered: true).count
      if index <= before + count { found = (position, index - before) }
      before += count
      return found == nil
    }
    return found
  }

  /// The label of the chunk that has `member`, by the member index.
  borrowing func memberLabel(_ list: ListAddress, _ member: ObjectID) throws(StoreError) -> UInt64? {
    let key = list.key(.memberIndex, member.rawValue)
    guard let value = try get(list.links, key.bytes) else { return nil }
    do throws(RecordError) {
      return try MemberIndexValue(stored: value, seed: list.seed(key)).label
    } catch {
      throw list.corrupted(error.description)
    }
  }
}
