import KVCloneCore
import KVCloneModel
import KVCloneRecords

/// A cache of the objects of a table that have preimages, for transactions with many lookups: most objects have none,
/// so the cache avoids a seek for each.
///
/// Transactions with few reads never pay for it. The set is built once enough lookups justify it, and postponed while
/// the table has too many preimages for the lookups so far.
final class ChangedObjects {
  private var serials: SerialSet?
  private var lookupCount = 0
  /// The number of lookups at which the set is built.
  private var threshold = 1024
  /// The maximum number of preimages to scan per lookup: about the cost of one lookup.
  private static let statesPerLookup = 8

  /// Whether the object has no preimage, if that is known already.
  @inline(__always)
  func isUnchanged(_ serial: UInt64, _ table: TableCode, _ states: PreimageReader) throws(StoreError) -> Bool {
    if let serials { return !serials.contains(serial) }
    lookupCount += 1
    if lookupCount == threshold { try gather(table, states) }
    return false
  }

  @inline(never)
  private func gather(_ table: TableCode, _ states: PreimageReader) throws(StoreError) {
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
