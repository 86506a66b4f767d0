import KVCloneBranches
import KVCloneCore
import KVCloneModel
import KVCloneRecords

/// The numbers of objects by root entity. Their cost depends on the changes since a snapshot, not on the size of the
/// store.
enum SnapshotObjectCounts {
  /// The objects of the present state.
  static func present(in session: borrowing Session) throws(StoreError) -> [BranchValue.ObjectCount] {
    var counts: [BranchValue.ObjectCount] = []
    for rootCode in session.schema.rootCodes.sorted() {
      guard let table = session.schema.objectTable(rootCode: rootCode) else { continue }
      counts.append(.init(rootCode: rootCode, count: try session.storage.entryCount(table)))
    }
    return counts
  }

  /// The objects that a snapshot shows: those of the present state, without those that it does not see, and with those
  /// that have been deleted since.
  static func of(_ snapshot: SnapshotValue, in session: borrowing Session) throws(StoreError)
    -> [BranchValue.ObjectCount]
  {
    let horizon = SnapshotHorizon(snapshot, session.schema.orderedLists)
    var changes = try differences(since: snapshot, horizon, in: session)
    var counts = try present(in: session)
    for place in counts.indices {
      let rootCode = counts[place].rootCode
      guard let table = session.schema.objectTable(rootCode: rootCode) else { continue }
      let first = ShortKey.object(horizon.firstLater(rootCode: rootCode))
      try session.storage.scanToEnd(of: table, from: first.bytes) { (_, _) throws(StoreError) in
        changes[rootCode, default: 0] -= 1
        return true
      }
      counts[place].count = UInt64(max(0, Int64(clamping: counts[place].count) + (changes[rootCode] ?? 0)))
    }
    return counts
  }

  /// The differences by the objects that the snapshot sees.
  private static func differences(
    since snapshot: SnapshotValue, _ horizon: SnapshotHorizon, in session: borrowing Session
  ) throws(StoreError) -> [UInt16: Int64] {
    var changes: [UInt16: Int64] = [:]
    var seen = ObjectSet()
    let states = PreimageReader(
      session.storage.backend, session.schema.tables.preimages, epoch: snapshot.epoch)
    var windows = ReadWindows(session.storage)
    var next: SavedKeysKey? = SavedKeysKey(epoch: snapshot.epoch, commit: 0, part: 0)
    while let start = next, let list = try PreimageKeyList(session, from: start, before: .max) {
      for (table, key) in list.keys {
        windows.next()
        guard let rootCode = table.rootCode, let id = try? NumberKey.objectID(key.span.bytes), horizon.sees(id),
          seen.insert(id)
        else { continue }
        let existed: Bool
        switch try states.state(of: table, unsafePointers(key.span.bytes)) {
        case .present: existed = true
        case .absent: existed = false
        case .unchanged: continue
        }
        let exists = try session.exists(id)
        if existed != exists { changes[rootCode, default: 0] += existed ? 1 : -1 }
      }
      next = list.place.following
    }
    return changes
  }
}
