package import KVCloneModel
package import KVCloneRecords

/// Reading ordered lists.
extension StorageTransaction {
  /// The position of a member in an ordered list.
  struct OrderedPlace {
    var chunk: LoadedChunk
    /// The member's index in its chunk.
    var offset: Int
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

  /// A copy of the chunk with `member`.
  borrowing func place(_ list: ListAddress, of member: ObjectID, head: ListHead) throws(StoreError) -> OrderedPlace? {
    if head.hasMemberIndex {
      guard let label = try memberLabel(list, member) else { return nil }
      guard let chunk = try chunk(list, .atOrAfter, label, isOrdered: true), chunk.position == label,
        let offset = chunk.ids.firstIndex(of: member)
      else { throw list.corrupted("Its member index refers to a chunk without the member.") }
      return OrderedPlace(chunk: chunk, offset: offset)
    }
    var next = try chunk(list, .atOrAfter, 0, isOrdered: true)
    while let chunk = next {
      if let offset = chunk.ids.firstIndex(of: member) { return OrderedPlace(chunk: chunk, offset: offset) }
      next = try self.chunk(list, after: chunk.position, isOrdered: true)
    }
    return nil
  }

  /// The chunk for a member inserted at `index`: the first one that reaches up to `index`.
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

  /// The label of the chunk with `member`, by the member index.
  package borrowing func memberLabel(_ list: ListAddress, _ member: ObjectID) throws(StoreError) -> UInt64? {
    let key = list.key(.memberIndex, member.rawValue)
    guard let value = try get(list.links, key.bytes) else { return nil }
    do throws(RecordError) {
      return try MemberIndexValue(stored: value, seed: list.seed(key)).label
    } catch {
      throw list.corrupted(error.description)
    }
  }
}
