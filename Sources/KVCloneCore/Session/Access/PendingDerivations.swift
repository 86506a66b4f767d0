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
  /// Undoes changes of the sets, once there was a savepoint.
  var journal: SerialJournal?

  /// Records a change of an object behind this many relationships of a derivation; 0 is the object with the derived
  /// attribute.
  mutating func insert(_ derivation: Derivation, hop: Int, _ id: ObjectID) {
    isEmpty = false
    while sets.count <= derivation.index { sets.append([]) }
    while sets[derivation.index].count <= hop { sets[derivation.index].append(ObjectSet()) }
    sets[derivation.index][hop].insert(id, journal)
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

  /// Removes everything.
  package mutating func removeAll() {
    sets = []
    isEmpty = true
  }
}
