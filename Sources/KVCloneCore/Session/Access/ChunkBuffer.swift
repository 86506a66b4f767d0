package import KVCloneLMDB
package import KVCloneModel
import KVCloneRecords

/// A reused buffer for one chunk of a list.
package final class ChunkBuffer {
  package let ids = UnsafeMutableBufferPointer<ObjectID>.allocate(capacity: FormatLimits.chunkCapacity)
  private let bytes = UnsafeMutableRawBufferPointer.allocate(
    byteCount: ListChunk.length(count: FormatLimits.chunkCapacity), alignment: 8)

  package init() {}

  /// Copies ids behind the first `count`, as many as fit; returns the new number of ids.
  func take<IDs: Collection<ObjectID>>(from rest: inout IDs, after count: Int) -> Int where IDs.SubSequence == IDs {
    var count = count
    var next = rest.startIndex
    while count < ids.count, next != rest.endIndex {
      ids[count] = rest[next]
      rest.formIndex(after: &next)
      count += 1
    }
    rest = rest[next...]
    return count
  }

  /// Encodes the first ids as a chunk; valid until the next call.
  func encode(count: Int, seed: UInt64) -> UnsafeRawBufferPointer {
    let bytes = UnsafeMutableRawBufferPointer(rebasing: bytes[..<ListChunk.length(count: count)])
    ListChunk.write(Span(_unsafeElements: UnsafeBufferPointer(rebasing: ids[..<count])), seed: seed, to: bytes)
    return UnsafeRawBufferPointer(bytes)
  }

  deinit {
    ids.deallocate()
    bytes.deallocate()
  }
}

extension StorageTransaction {
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

  /// Stores the first ids of the buffer as a chunk.
  package mutating func write(_ list: ListAddress, at position: UInt64, _ chunk: ChunkBuffer, count: Int)
    throws(StoreError)
  {
    let key = list.key(.chunk, position)
    let bytes = chunk.encode(count: count, seed: list.seed(key))
    try put(list.links, key.bytes, RawSpan(_unsafeBytes: bytes))
  }
}
