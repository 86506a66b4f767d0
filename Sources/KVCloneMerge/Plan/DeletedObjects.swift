import KVCloneModel
import KVCloneRecords

/// The objects that the result does not have and one side has, with the side that deleted them.
struct DeletedObjects {
  private var ours = ObjectSet()
  private var theirs = ObjectSet()

  subscript(id: ObjectID) -> MergeSide? {
    get { ours.contains(id) ? .ours : theirs.contains(id) ? .theirs : nil }
    set {
      _ = ours.remove(id)
      _ = theirs.remove(id)
      switch newValue {
      case .ours: _ = ours.insert(id)
      case .theirs: _ = theirs.insert(id)
      case nil: break
      }
    }
  }

  func contains(_ id: ObjectID) -> Bool { self[id] != nil }

  /// The present objects, which later changes do not affect.
  var all: ObjectSet {
    var all = ours.copy()
    all.formUnion(theirs)
    return all
  }
}

extension ObjectSet {
  /// Adds the objects of another set.
  mutating func formUnion(_ other: ObjectSet) {
    other.forEach { id in
      _ = insert(id)
      return true
    }
  }
}
