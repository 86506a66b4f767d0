public import KVCloneModel

/// Borrowed ids in the format of a record or a chunk (8 bytes each, little-endian), without copying them.
@usableFromInline
package struct ObjectIDList: ~Escapable {
  @usableFromInline let base: UnsafeRawPointer
  @usableFromInline package let count: Int

  @inlinable
  @_lifetime(immortal)
  init(base: UnsafeRawPointer, count: Int) {
    self.base = base
    self.count = count
  }

  @inlinable
  package subscript(index: Int) -> ObjectID {
    precondition(UInt(bitPattern: index) < UInt(bitPattern: count), "no such member")
    return self[unchecked: index]
  }

  @inlinable @inline(__always)
  subscript(unchecked index: Int) -> ObjectID {
    ObjectID(rawValue: UInt64(littleEndian: (base + 8 &* index).loadUnaligned(as: UInt64.self)))
  }

  /// The index of `id` in a list in any order.
  @inlinable
  package func firstIndex(of id: ObjectID) -> Int? {
    for index in 0..<count where self[unchecked: index] == id { return index }
    return nil
  }

  /// The first index with an id not below `id`, in a list of ascending ids.
  @inlinable
  package func lowerBound(of id: ObjectID) -> Int {
    var low = 0
    var high = count
    while low < high {
      let middle = (low &+ high) &>> 1
      if self[unchecked: middle] < id { low = middle &+ 1 } else { high = middle }
    }
    return low
  }

  /// Whether every id is greater than the one before.
  @inlinable
  package var isStrictlyAscending: Bool {
    var index = 1
    while index < count {
      guard self[unchecked: index &- 1] < self[unchecked: index] else { return false }
      index &+= 1
    }
    return true
  }

  /// Copies all ids to the beginning of `ids`, which is large enough.
  package func copy(to ids: UnsafeMutableBufferPointer<ObjectID>) {
    precondition(ids.count >= count, "there is room for every id")
    #if _endian(little)
      // The stored format is that of memory.
      UnsafeMutableRawBufferPointer(ids).copyMemory(from: UnsafeRawBufferPointer(start: base, count: 8 &* count))
    #else
      for index in 0..<count { ids[index] = self[unchecked: index] }
    #endif
  }

  package var array: [ObjectID] {
    var ids: [ObjectID] = []
    ids.reserveCapacity(count)
    for index in 0..<count { ids.append(self[unchecked: index]) }
    return ids
  }
}
