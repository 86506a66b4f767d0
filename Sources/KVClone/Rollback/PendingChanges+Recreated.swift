import KVCloneCore
import KVCloneRecords

extension PendingChanges {
  /// Records restored objects in the history, in the order of their ids.
  mutating func noteRecreated(_ objects: ObjectSet) {
    objects.forEach { id in
      history?.noteInserts(from: id, count: 1)
      return true
    }
  }
}
