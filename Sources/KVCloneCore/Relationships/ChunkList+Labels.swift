import KVCloneModel
import KVCloneRecords

/// Labels of an ordered list's chunks: 64-bit numbers whose order is the list's, sparse, so that a new chunk finds a number
/// between two others.
enum ListLabel {
  /// The first chunk of a fresh list: in the middle, so that a list can grow by 2^31 chunks at its start as well as at its end.
  static let first: UInt64 = 1 << 63
  /// Between the chunks of a fresh list: room for 32 splits in one place.
  static let gap: UInt64 = 1 << 32
  /// Spreading labels anew leaves at least this much between two, unless the whole list has not so much.
  static let wideEnough: UInt64 = 1 << 20
}

/// Finding labels for new chunks, and making room where there is none.
extension StorageTransaction {
  /// A label behind the last chunk's.
  mutating func newLabel(_ list: ListAddress, after last: UInt64, head: ListHead) throws(StoreError) -> UInt64 {
    if last <= .max - ListLabel.gap { return last + ListLabel.gap }
    if last < .max - 1 { return last + (.max - last) / 2 }
    return try newLabel(list, after: try spread(list, around: last, head: head), head: head)
  }

  /// A label before the first chunk's.
  mutating func newLabel(_ list: ListAddress, before first: UInt64, head: ListHead) throws(StoreError) -> UInt64 {
    if first > ListLabel.gap { return first - ListLabel.gap }
    if first > 1 { return first / 2 }
    return try newLabel(list, before: try spread(list, around: first, head: head), head: head)
  }

  /// A label between the chunk's and the next one's; the chunk's own may change on the way.
  mutating func labelForSplit(_ list: ListAddress, _ label: UInt64, head: ListHead) throws(StoreError)
    -> (left: UInt64, right: UInt64)
  {
    guard label < .max, let next = try chunk(list, after: label, isOrdered: true)?.position else {
      let right = try newLabel(list, after: label, head: head)
      // Making room may have moved the chunk itself: it is the last one.
      let left = try chunk(list, .atOrBefore, .max, isOrdered: true)?.position ?? label
      return (left, right)
    }
    if next - label >= 2 { return (label, label + (next - label) / 2) }
    return try labelForSplit(list, try spread(list, around: label, head: head), head: head)
  }

  /// Gives the chunks around one with `label` new labels at equal distances, and answers that chunk's new one.
  ///
  /// The narrowest neighbourhood that has room is taken: a hot spot costs the relabelling of tens of chunks, once in
  /// thousands of inserts, however long the list.
  private mutating func spread(_ list: ListAddress, around label: UInt64, head: ListHead) throws(StoreError) -> UInt64 {
    var reach = 16
    while true {
      var chunks: [LoadedChunk] = []
      var start = label
      for _ in 0..<reach {
        guard let previous = try chunk(list, before: start, isOrdered: true) else { break }
        start = previous.position
      }
      let low = try chunk(list, before: start, isOrdered: true)?.position
      var next = try chunk(list, .atOrAfter, start, isOrdered: true)
      while let chunk = next, chunks.count <= 2 * reach {
        chunks.append(chunk)
        next = try self.chunk(list, after: chunk.position, isOrdered: true)
      }
      let high = next?.position
      let step = ((high ?? .max) - (low ?? 0)) / UInt64(chunks.count + 1)
      let isWhole = low == nil && high == nil
      if step >= ListLabel.wideEnough || isWhole {
        guard step >= 2, let center = chunks.firstIndex(where: { $0.position == label }) else {
          throw list.corrupted("Its chunks have no unused labels between them.")
        }
        try relabel(list, chunks, from: low ?? 0, step: step, head: head)
        return (low ?? 0) + step * UInt64(center + 1)
      }
      reach *= 2
    }
  }

  private mutating func relabel(
    _ list: ListAddress, _ chunks: [LoadedChunk], from low: UInt64, step: UInt64, head: ListHead
  ) throws(StoreError) {
    for chunk in chunks { try drop(list, chunk.position, head: head) }
    for (index, chunk) in chunks.enumerated() {
      let moved = LoadedChunk(position: low + step * UInt64(index + 1), ids: chunk.ids)
      try storeIndexed(list, moved, newMembers: 0..<moved.ids.count, head: head)
    }
  }
}
