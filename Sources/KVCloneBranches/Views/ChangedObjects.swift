import KVCloneCore
import KVCloneModel
import KVCloneRecords

/// A cache of the objects of a table that have preimages, or entries of a layer, for transactions with many lookups:
/// most objects have none, so the cache avoids a seek for each.
///
/// Transactions with few reads never pay for it. The set is built once enough lookups justify it, and postponed while
/// the table has too many entries for the lookups so far.
final class ChangedObjects {
  private var serials: SerialSet?
  private var lookupCount = 0
  /// The number of lookups at which the set is built.
  private var threshold = 1024
  /// The maximum number of entries to scan per lookup: about the cost of one lookup.
  private static let entriesPerLookup = 8

  /// Whether the object has no entry, if that is known already.
  ///
  /// - Parameter forEachKey: calls a function with the key of each entry until it returns false.
  @inline(__always)
  func isUnchanged(
    _ key: UnsafeRawBufferPointer,
    _ forEachKey: ((UnsafeRawBufferPointer) -> Bool) throws(StoreError) -> Void
  ) throws(StoreError) -> Bool {
    if let serials { return !serials.contains(Self.serial(key)) }
    lookupCount += 1
    if lookupCount == threshold { try gather(forEachKey) }
    return false
  }

  @inline(__always)
  private static func serial(_ key: UnsafeRawBufferPointer) -> UInt64 {
    SnapshotHorizon.number(key, at: 0) & ObjectID.maximumSerial
  }

  @inline(never)
  private func gather(
    _ forEachKey: ((UnsafeRawBufferPointer) -> Bool) throws(StoreError) -> Void
  ) throws(StoreError) {
    let found = SerialSet()
    let limit = lookupCount * Self.entriesPerLookup
    var count = 0
    try forEachKey { key in
      count += 1
      if key.count == 8 { _ = found.insert(Self.serial(key)) }
      return count <= limit
    }
    if count <= limit { serials = found } else { threshold *= 4 }
  }
}
