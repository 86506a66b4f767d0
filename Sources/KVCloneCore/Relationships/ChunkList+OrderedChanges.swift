package import KVCloneModel
package import KVCloneRecords

/// The lengths at which an ordered list gets and loses its indexes: far enough apart that a list at the border does not
/// build and drop them with every change.
private enum IndexLimits {
  /// Up to here, scanning all chunks for a member (8 when full) costs little more than the index would.
  static let memberIndexAbove = 1024
  static let noMemberIndexBelow = 512
  /// Up to here, counting the chunks before a position (32 when full) costs little more than the directory would.
  static let directoryAbove = 4096
  static let noDirectoryBelow = 2048
}

/// Changes ordered lists. `head` is the list's head in its owner's record, which the caller stores afterwards.
extension StorageTransaction {
  /// Writes a new list in full chunks.
  ///
  /// - Precondition: the list has no entries, and no id occurs twice.
  mutating func writeOrdered(_ list: ListAddress, _ ids: [ObjectID], head: inout ListHead) throws(StoreError) {
    head = ListHead(count: 0, isChunked: true)
    try appendFresh(list, ids, head: &head)
    try finishFresh(list, head: &head)
  }

  /// Writes the next part of a new list with too many members for memory; call `finishFresh` after the last.
  ///
  /// - Precondition: all parts but the last one fill their chunks.
  package mutating func appendFresh(_ list: ListAddress, _ ids: [ObjectID], head: inout ListHead) throws(StoreError) {
    precondition(head.count % FormatLimits.chunkCapacity == 0, "the last chunk of the previous part must be full")
    var label = ListLabel.first + UInt64(head.count / FormatLimits.chunkCapacity) * ListLabel.gap
    for start in stride(from: 0, to: ids.count, by: FormatLimits.chunkCapacity) {
      let end = min(start + FormatLimits.chunkCapacity, ids.count)
      try store(list, LoadedChunk(position: label, ids: Array(ids[start..<end])))
      label += ListLabel.gap
    }
    head = ListHead(count: head.count + ids.count, isChunked: true)
  }

  /// Builds the indexes of a new list according to its length.
  package mutating func finishFresh(_ list: ListAddress, head: inout ListHead) throws(StoreError) {
    try adjustIndexes(list, head: &head)
  }

  /// Inserts a member that the list does not have, at `index` or at the end.
  ///
  /// - Throws: `invalidIndex` outside of `0...head.count`; the list is unchanged then.
  mutating func insertOrdered(_ list: ListAddress, _ member: ObjectID, at index: Int? = nil, head: inout ListHead)
    throws(StoreError)
  {
    let index = index ?? head.count
    guard index >= 0, index <= head.count else { throw list.invalidIndex(index, count: head.count) }
    if head.count == 0 {
      try storeIndexed(list, LoadedChunk(position: ListLabel.first, ids: [member]), newMembers: 0..<1, head: head)
    } else {
      let place = try insertionPlace(list, at: index, head: head)
      try insert(list, member, place, head: head)
    }
    head = head.with(count: head.count + 1)
    try adjustIndexes(list, head: &head)
  }

  /// Removes `member`; returns false if it was not present.
  mutating func removeOrdered(_ list: ListAddress, _ member: ObjectID, head: inout ListHead) throws(StoreError) -> Bool
  {
    guard let place = try place(list, of: member, head: head) else { return false }
    guard head.count > 0 else { throw list.corrupted("It has members, and its head has the count 0.") }
    var chunk = place.chunk
    chunk.ids.remove(at: place.offset)
    if head.hasMemberIndex {
      let key = list.key(.memberIndex, member.rawValue)
      try delete(list.links, key.bytes)
    }
    try storeMerging(list, chunk, head: head)
    head = head.with(count: head.count - 1)
    try adjustIndexes(list, head: &head)
    return true
  }

  /// Inserts into the chunk at `place`, or next to it if it is full.
  private mutating func insert(_ list: ListAddress, _ member: ObjectID, _ place: OrderedPlace, head: ListHead)
    throws(StoreError)
  {
    var chunk = place.chunk
    guard chunk.isFull else {
      chunk.ids.insert(member, at: place.offset)
      return try storeIndexed(list, chunk, newMembers: place.offset..<place.offset + 1, head: head)
    }
    // Members that are added in order, at the end or at the start, leave full chunks.
    let next = try self.chunk(list, after: chunk.position, isOrdered: true)
    if place.offset == chunk.ids.count {
      if var next, !next.isFull {
        next.ids.insert(member, at: 0)
        return try storeIndexed(list, next, newMembers: 0..<1, head: head)
      }
      if next == nil {
        let label = try newLabel(list, after: chunk.position, head: head)
        return try storeIndexed(list, LoadedChunk(position: label, ids: [member]), newMembers: 0..<1, head: head)
      }
    }
    if place.offset == 0, try self.chunk(list, before: chunk.position, isOrdered: true) == nil {
      let label = try newLabel(list, before: chunk.position, head: head)
      return try storeIndexed(list, LoadedChunk(position: label, ids: [member]), newMembers: 0..<1, head: head)
    }
    try split(list, chunk, member, at: place.offset, head: head)
  }

  private mutating func split(
    _ list: ListAddress, _ chunk: LoadedChunk, _ member: ObjectID, at offset: Int, head: ListHead
  ) throws(StoreError) {
    let split = try labelForSplit(list, chunk.position, head: head)
    var left = chunk
    left.position = split.left
    left.ids.insert(member, at: offset)
    let middle = left.ids.count / 2
    let right = LoadedChunk(position: split.right, ids: Array(left.ids[middle...]))
    left.ids.removeSubrange(middle...)
    try storeIndexed(list, left, newMembers: offset < middle ? offset..<offset + 1 : 0..<0, head: head)
    try storeIndexed(list, right, newMembers: 0..<right.ids.count, head: head)
  }

  /// Stores a chunk after a removal, merged with a neighbour if both are small.
  private mutating func storeMerging(_ list: ListAddress, _ chunk: LoadedChunk, head: ListHead) throws(StoreError) {
    if chunk.ids.isEmpty { return try drop(list, chunk.position, head: head) }
    let room = FormatLimits.mergeAtMost - chunk.ids.count
    if room > 0 {
      if let next = try self.chunk(list, after: chunk.position, isOrdered: true), next.ids.count <= room {
        return try merge(list, chunk, next, head: head)
      }
      if let previous = try self.chunk(list, before: chunk.position, isOrdered: true), previous.ids.count <= room {
        return try merge(list, previous, chunk, head: head)
      }
    }
    try storeIndexed(list, chunk, newMembers: 0..<0, head: head)
  }

  private mutating func merge(_ list: ListAddress, _ left: LoadedChunk, _ right: LoadedChunk, head: ListHead)
    throws(StoreError)
  {
    try drop(list, right.position, head: head)
    let joined = LoadedChunk(position: left.position, ids: left.ids + right.ids)
    try storeIndexed(list, joined, newMembers: left.ids.count..<joined.ids.count, head: head)
  }

  /// Stores a chunk, and updates the list's indexes with its length and its new members.
  mutating func storeIndexed(_ list: ListAddress, _ chunk: LoadedChunk, newMembers: Range<Int>, head: ListHead)
    throws(StoreError)
  {
    try store(list, chunk)
    if head.hasMemberIndex { for index in newMembers { try storeLabel(list, chunk.ids[index], chunk.position) } }
    if head.hasDirectory { try updateDirectory(list, label: chunk.position, memberCount: chunk.ids.count) }
  }

  /// Deletes a chunk, and updates the directory.
  mutating func drop(_ list: ListAddress, _ label: UInt64, head: ListHead) throws(StoreError) {
    try deleteChunk(list, at: label)
    if head.hasDirectory { try updateDirectory(list, label: label, memberCount: 0) }
  }

  private mutating func storeLabel(_ list: ListAddress, _ member: ObjectID, _ label: UInt64) throws(StoreError) {
    let key = list.key(.memberIndex, member.rawValue)
    let value = MemberIndexValue(label: label).encoded(seed: list.seed(key))
    try put(list.links, key.bytes, value.span.bytes)
  }

  /// Builds and drops indexes according to the list's length.
  private mutating func adjustIndexes(_ list: ListAddress, head: inout ListHead) throws(StoreError) {
    var hasMemberIndex = head.hasMemberIndex
    var hasDirectory = head.hasDirectory
    if !hasMemberIndex, head.count > IndexLimits.memberIndexAbove {
      var next = try chunk(list, .atOrAfter, 0, isOrdered: true)
      while let chunk = next {
        for id in chunk.ids { try storeLabel(list, id, chunk.position) }
        next = try self.chunk(list, after: chunk.position, isOrdered: true)
      }
      hasMemberIndex = true
    } else if hasMemberIndex, head.count < IndexLimits.noMemberIndexBelow {
      try deleteEntries(list, kind: .memberIndex)
      hasMemberIndex = false
    }
    if !hasDirectory, head.count > IndexLimits.directoryAbove {
      try buildDirectory(list)
      hasDirectory = true
    } else if hasDirectory, head.count < IndexLimits.noDirectoryBelow {
      try deleteEntries(list, kind: .positionDirectory)
      hasDirectory = false
    }
    head = ListHead(
      count: head.count, isChunked: true, hasMemberIndex: hasMemberIndex, hasDirectory: hasDirectory)
  }
}

extension ListHead {
  /// Whether a list of this length must have a member index; no shorter list may.
  package var memberIndexIsDue: Bool { count > IndexLimits.memberIndexAbove }
  package var memberIndexIsAllowed: Bool { count >= IndexLimits.noMemberIndexBelow }
  /// Whether a list of this length must have a directory; no shorter list may.
  package var directoryIsDue: Bool { count > IndexLimits.directoryAbove }
  package var directoryIsAllowed: Bool { count >= IndexLimits.noDirectoryBelow }

  fileprivate func with(count: Int) -> ListHead {
    ListHead(count: count, isChunked: true, hasMemberIndex: hasMemberIndex, hasDirectory: hasDirectory)
  }
}
