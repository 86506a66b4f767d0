package import KVCloneModel

/// Objects that wait to be visited, in no particular order, in memory that stays flat: so many in an array, the rest in
/// bits.
package struct ObjectQueue {
  /// 2 MiB.
  private static let limit = 1 << 18

  private var near: [ObjectID] = []
  private var far = ObjectSet()

  package init() {}

  /// - Precondition: `id` does not wait already.
  package mutating func add(_ id: ObjectID) {
    if near.count < Self.limit { near.append(id) } else { _ = far.insert(id) }
  }

  /// Moves at most `count` objects into `next`, replacing its contents; false if none waits.
  package mutating func take(_ count: Int, into next: inout [ObjectID]) -> Bool {
    next.removeAll(keepingCapacity: true)
    if near.isEmpty, !far.isEmpty { refill() }
    next.append(contentsOf: near.suffix(count))
    near.removeLast(next.count)
    return !next.isEmpty
  }

  /// Looking through all bits is paid for by the many objects that were visited since the last time.
  private mutating func refill() {
    far.forEach { id in
      near.append(id)
      return near.count < Self.limit
    }
    for id in near { _ = far.remove(id) }
  }
}
