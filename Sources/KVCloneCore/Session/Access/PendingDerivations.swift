package import KVCloneModel
import KVCloneRecords

/// The objects whose derived attributes a transaction has made untrue, or perhaps so: a bit an object, derivation and hop.
///
/// Objects behind a derivation's relationships are noted where they are. The commit finds the way back from them, once,
/// however often they have changed.
package struct PendingDerivations {
  /// By derivation, then by hop.
  private var sets: [[ObjectSet]] = []
  package private(set) var isEmpty = true

  /// Notes that something changed on an object that stands behind so many relationships of a derivation; 0 is the object
  /// that has the derived attribute.
  mutating func insert(_ derivation: Derivation, hop: Int, _ id: ObjectID) {
    isEmpty = false
    while sets.count <= derivation.index { sets.append([]) }
    while sets[derivation.index].count <= hop { sets[derivation.index].append(ObjectSet()) }
    _ = sets[derivation.index][hop].insert(id)
  }

  /// Whether that was noted.
  package func contains(_ derivation: Derivation, hop: Int, _ id: ObjectID) -> Bool {
    guard derivation.index < sets.count, hop < sets[derivation.index].count else { return false }
    return sets[derivation.index][hop].contains(id)
  }

  /// The objects that were noted, which are forgotten.
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

  /// Forgets everything.
  package mutating func removeAll() {
    sets = []
    isEmpty = true
  }
}
