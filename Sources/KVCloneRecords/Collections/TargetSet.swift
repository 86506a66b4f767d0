package import KVCloneModel

/// A set of the objects in one call: an array for a few, a bitmap for many, because a hash table of millions of objects
/// would not be flat memory.
package struct TargetSet {
  private var few: [ObjectID] = []
  private var many: ObjectSet?

  /// - Parameter capacity: the maximum number of objects; only the representation depends on it.
  package init(capacity: Int) {
    if capacity > 64 { many = ObjectSet() }
  }

  package var count: Int { many?.count ?? few.count }

  /// Adds `id`; returns whether it is new.
  package mutating func insert(_ id: ObjectID) -> Bool {
    if many != nil { return many?.insert(id) ?? false }
    if few.contains(id) { return false }
    few.append(id)
    return true
  }

  package func contains(_ id: ObjectID) -> Bool {
    many?.contains(id) ?? few.contains(id)
  }
}
