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
