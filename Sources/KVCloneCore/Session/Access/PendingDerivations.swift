package import KVCloneModel
import KVCloneRecords

/// The objects with derived attributes that may be outdated: a bit per object, derivation and hop.
///
/// Changes behind a derivation's relationships are recorded at the changed object. The commit follows the path back
/// from them once, however often they have changed.
package struct PendingDerivations {
  /// By derivation, then by hop.
  private var sets: [[ObjectSet]] = []
  package private(set) var isEmpty = true

  /// Records a change of an object behind this many relationships of a derivation; 0 is the object with the derived
  /// attribute.
  mutating func insert(_ derivation: Derivation, hop: Int, _ id: ObjectID) {
    isEmpty = false
    while sets.count <= derivation.index { sets.append([]) }
    while sets[derivation.index].count <= hop { sets[derivation.index].append(ObjectSet()) }
    _ = sets[derivation.index][hop].insert(id)
  }

  /// Whether a change was recorded.
  package func contains(_ derivation: Derivation, hop: Int, _ id: ObjectID) -> Bool {
    guard derivation.index < sets.count, hop < sets[derivation.index].count else { return false }
    return sets[derivation.index][hop].contains(id)
  }

  /// Returns and removes the recorded objects.
  mutating func take(_ derivation: Derivation, hop: Int) -> ObjectSet? {
    guard derivation.index < sets.count, hop < sets[derivation.index].count else { return nil }
    let set = sets[derivation.index][hop]
    sets[derivation.index][hop] = ObjectSet()
    return set
  }

  /// Returns a copy that does not change with this one.
  func copy() -> PendingDerivations {
    var copy = self
    copy.sets = sets.map { $0.map { $0.copy() } }
    return copy
  }

  /// Removes everything.
  package mutating func removeAll() {
    sets = []
    isEmpty = true
  }
}
