import KVCloneCore
import KVCloneModel
import KVCloneRecords

/// Which objects of a table have previous states, for a transaction that looks many of them up: mostly the answer is that an object has
/// none, and then nothing has to be looked for.
///
/// Who reads a few objects never pays for it. The set is made once as many were looked up that it is worth it, and given up
/// where there are too many states for that so far.
final class ChangedObjects {
  private var serials: SerialSet?
  private var lookupCount = 0
  /// The number of lookups at which it is tried.
  private var threshold = 1024
  /// So many states are gone through for each lookup, at most: about what one of them costs.
  private static let statesPerLookup = 8

  /// Whether the object has none, as far as that is known already.
  @inline(__always)
  func isUnchanged(_ serial: UInt64, _ table: TableCode, _ states: SavedStates) throws(StoreError) -> Bool {
    if let serials { return !serials.contains(serial) }
    lookupCount += 1
    if lookupCount == threshold { try gather(table, states) }
    return false
  }

  @inline(never)
  private func gather(_ table: TableCode, _ states: SavedStates) throws(StoreError) {
    let found = SerialSet()
    let limit = lookupCount * Self.statesPerLookup
    var count = 0
    try states.forEachKey(of: table) { key in
      count += 1
      if key.count == 8 { _ = found.insert(SnapshotHorizon.number(key, at: 0) & ObjectID.maximumSerial) }
      return count <= limit
    }
    if count <= limit { serials = found } else { threshold *= 4 }
  }
}
