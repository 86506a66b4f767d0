import KVCloneCore
import KVCloneLMDB

/// Links as pairs of 32-bit numbers, `first << 32 | second`, in scratch space: loads and imports collect them in this
/// form, because neither holds all links of a store in memory.
extension ScratchArray where Element == UInt64 {
  /// Returns every pair with its numbers swapped, sorted.
  func swapped(in space: ScratchSpace) throws(StoreError) -> ScratchArray<UInt64> {
    let result = ScratchArray<UInt64>(in: space)
    try result.reserve(count)
    for index in indices { try result.append(self[index] << 32 | self[index] >> 32) }
    try result.sort()
    return result
  }

  /// Calls `body` with each first number of sorted pairs, and the indexes of its pairs.
  func forEachFirst(_ body: (UInt32, Range<Int>) throws -> Void) rethrows {
    var start = 0
    while start < count {
      let first = UInt32(self[start] >> 32)
      var end = start + 1
      while end < count, UInt32(self[end] >> 32) == first { end += 1 }
      try body(first, start..<end)
      start = end
    }
  }

  /// Calls `body` with each pair of two sorted arrays, ascending, and with the arrays that contain it.
  static func merge(
    _ left: ScratchArray<UInt64>, _ right: ScratchArray<UInt64>,
    _ body: (UInt64, _ isLeft: Bool, _ isRight: Bool) throws -> Void
  ) rethrows {
    var (l, r) = (0, 0)
    while l < left.count || r < right.count {
      let isLeft = r == right.count || l < left.count && left[l] <= right[r]
      let isRight = l == left.count || r < right.count && right[r] <= left[l]
      try body(isLeft ? left[l] : right[r], isLeft, isRight)
      if isLeft { l += 1 }
      if isRight { r += 1 }
    }
  }
}
