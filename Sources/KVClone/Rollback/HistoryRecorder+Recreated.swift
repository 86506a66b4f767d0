import KVCloneCore
import KVCloneRecords

extension HistoryRecorder {
  /// Records restored objects, in the order of their ids.
  mutating func noteRecreated(_ objects: ObjectSet) {
    objects.forEach { id in
      noteInserts(from: id, count: 1)
      return true
    }
  }
}
