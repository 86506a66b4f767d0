package import KVCloneCore
package import KVCloneModel
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

extension HistoryWriter {
  /// Records the deletion of an object that another state still has.
  package static func noteDeletion(_ id: ObjectID, of past: borrowing Session, in session: inout Session)
    throws(StoreError)
  {
    if session.state.history == nil { return }
    let view = try past.existingRecord(id)
    let entity = try session.schema.entity(of: view, id: id)
    try Session.load(&session.scratch, view, entity, id)
    try noteDeletion(id, entity, in: &session)
  }
}
