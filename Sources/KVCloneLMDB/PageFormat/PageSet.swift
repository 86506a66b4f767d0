import Glibc

/// A set of page numbers: one bit each, in memory that the kernel allocates only where it is written to.
@safe
final class PageSet {
  private let words: UnsafeMutablePointer<UInt64>
  /// The owner counts numbers from here on without storing them.
  let limit: UInt64
  private(set) var count: UInt64 = 0

  /// Nil if the memory cannot be allocated.
  init?(limit: UInt64) {
    guard let memory = unsafe calloc(Int(limit / 64) + 1, 8) else { return nil }
    unsafe words = memory.assumingMemoryBound(to: UInt64.self)
    self.limit = limit
  }

  /// Adds a number below `limit`; returns false if it was present.
  @inline(__always)
  func insert(_ page: UInt64) -> Bool {
    guard page < limit else { return true }
    let (index, bit) = (Int(page >> 6), UInt64(1) << (page & 63))
    if unsafe words[index] & bit != 0 { return false }
    unsafe words[index] |= bit
    count += 1
    return true
  }

  @inline(__always)
  func contains(_ page: UInt64) -> Bool {
    guard page < limit else { return false }
    return unsafe words[Int(page >> 6)] & (1 << (page & 63)) != 0
  }

  /// The first number from `start` on that is in neither set.
  func firstMissing(from start: UInt64, alsoIn other: PageSet) -> UInt64? {
    (start..<max(start, min(limit, other.limit))).first { !contains($0) && !other.contains($0) }
  }

  deinit {
    unsafe free(words)
  }
}
