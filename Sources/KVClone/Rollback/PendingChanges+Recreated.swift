import KVCloneCore
import KVCloneRecords

extension PendingChanges {
  /// Tells the history of objects that are there again, in the order of their ids.
  mutating func noteRecreated(_ objects: ObjectSet) {
    objects.forEach { id in
      history?.noteInserts(from: id, count: 1)
      return true
    }
  }
}
