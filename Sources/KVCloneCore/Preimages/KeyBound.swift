package import KVCloneRecords

/// Comparison and neighbours of keys.
package enum KeyBound {
  /// Compares bytewise.
  @inline(__always)
  package static func compare(_ left: UnsafeRawBufferPointer, _ right: UnsafeRawBufferPointer) -> Int {
    let count = min(left.count, right.count)
    var offset = 0
    // Most keys are short, and differ early.
    while offset + 8 <= count {
      let (one, other) = (SnapshotHorizon.number(left, at: offset), SnapshotHorizon.number(right, at: offset))
      if one != other { return one < other ? -1 : 1 }
      offset += 8
    }
    while offset < count {
      if left[offset] != right[offset] { return left[offset] < right[offset] ? -1 : 1 }
      offset += 1
    }
    return left.count - right.count
  }

  /// Moves `bound` to the first key after another.
  package static func moveAfter(_ key: UnsafeRawBufferPointer, _ bound: ReusedBytes) {
    bound.removeAll()
    bound.append(key)
    bound.append(0)
  }

  /// Moves `bound` to a key before another that is at or after all earlier keys of a store; returns false if no key
  /// precedes it.
  package static func moveBefore(_ key: UnsafeRawBufferPointer, _ bound: ReusedBytes) -> Bool {
    guard let last = key.last else { return false }
    bound.removeAll()
    bound.append(UnsafeRawBufferPointer(rebasing: key.dropLast()))
    if last > 0 {
      bound.append(last - 1)
      while bound.count < FormatLimits.maximumKeyLength { bound.append(0xFF) }
    }
    return bound.count > 0
  }
}
