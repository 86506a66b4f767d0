package import KVCloneModel

/// An unordered queue of objects to visit, in flat memory: a limited number in an array, the rest in a bitmap.
package struct ObjectQueue {
  /// 2 MiB.
  private static let limit = 1 << 18

  private var near: [ObjectID] = []
  private var far = ObjectSet()

  package init() {}

  /// - Precondition: `id` is not in the queue.
  package mutating func add(_ id: ObjectID) {
    if near.count < Self.limit { near.append(id) } else { _ = far.insert(id) }
  }

  /// Moves at most `count` objects into `next`, replacing its contents; returns false if the queue is empty.
  package mutating func take(_ count: Int, into next: inout [ObjectID]) -> Bool {
    next.removeAll(keepingCapacity: true)
    if near.isEmpty, !far.isEmpty { refill() }
    next.append(contentsOf: near.suffix(count))
    near.removeLast(next.count)
    return !next.isEmpty
  }

  /// The scan of all bits is amortized over the many objects that were visited since the last one.
  private mutating func refill() {
    far.forEach { id in
      near.append(id)
      return near.count < Self.limit
    }
    for id in near { _ = far.remove(id) }
  }
}
