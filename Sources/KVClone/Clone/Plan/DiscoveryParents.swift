import KVCloneCore
import KVCloneModel
import KVCloneRecords

/// The objects that sources were discovered from, for sources with attributes that follow a parent (R17).
///
/// If the relationship has a to-one inverse, the child itself references its parent, and one bit marks the discovery
/// (R26). Otherwise, the parent is stored: 16 bytes a child.
struct DiscoveryParents {
  /// Children by the relationship that discovered them, and the code of its inverse.
  private var discovered: [(relationship: UInt16, inverse: UInt16, children: ObjectSet)] = []
  private var others: [(child: ObjectID, parent: ObjectID)] = []

  /// Records that a source was discovered from `parent`.
  mutating func note(_ child: ObjectID, parent: ObjectID, _ relationship: CompiledRelationship) {
    guard relationship.hasInverse, !relationship.inverseIsToMany else {
      others.append((child, parent))
      return
    }
    if let index = discovered.firstIndex(where: { $0.relationship == relationship.code }) {
      _ = discovered[index].children.insert(child)
      return
    }
    var children = ObjectSet()
    _ = children.insert(child)
    discovered.append((relationship.code, relationship.inverseCode, children))
  }

  /// Ends the recording.
  mutating func finish() {
    others.sort { $0.child < $1.child }
  }

  /// The object that a source was discovered from; nil for roots.
  func parent(of child: ObjectID, _ session: borrowing Session) throws(StoreError) -> ObjectID? {
    for list in discovered where list.children.contains(child) {
      let view = try session.existingRecord(child)
      let entity = try session.schema.entity(of: view, id: child)
      let inverse = try entity.relationship(code: list.inverse, child, session.schema)
      return entity.field(inverse.field, code: inverse.code, in: view).flatMap { view.toOne($0) }
    }
    var low = 0
    var high = others.count
    while low < high {
      let middle = (low + high) / 2
      if others[middle].child < child { low = middle + 1 } else { high = middle }
    }
    return low < others.count && others[low].child == child ? others[low].parent : nil
  }
}
