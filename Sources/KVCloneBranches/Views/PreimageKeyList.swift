package import KVCloneCore
import KVCloneLMDB
package import KVCloneRecords

/// A copied list of the keys that one commit has saved preimages of for a snapshot, or a part of it.
package struct PreimageKeyList {
  package let place: SavedKeysKey
  package let byteCount: UInt64
  package let keys: [(table: TableCode, key: [UInt8])]

  private init(_ entry: borrowing StorageEntry) throws(RecordError) {
    place = try SavedKeysKey(entry.key)
    let view = try SavedKeysView(entry.value, seed: ValueEnvelope.seed(tableCode: .preimages, key: entry.key))
    var keys: [(table: TableCode, key: [UInt8])] = []
    keys.reserveCapacity(view.count)
    view.forEach { table, key in keys.append((table, key.withUnsafeBytes { Array($0) })) }
    byteCount = view.byteCount
    self.keys = keys
  }

  /// Copies the next list of saved keys.
  ///
  /// - Parameter end: the epoch to stop at.
  /// - Returns: nil if there is no other list before `end`.
  package init?(_ session: borrowing Session, from start: SavedKeysKey, before end: UInt64) throws(StoreError) {
    let bound = start.bytes
    let found = try session.readScope { () throws(StoreError) -> PreimageKeyList? in
      guard let entry = try session.storage.seek(session.schema.tables.preimages, bound.bytes, .atOrAfter),
        SavedKeysKey.isOne(entry.key)
      else { return nil }
      do throws(RecordError) {
        return try SavedKeysKey(entry.key).epoch < end ? PreimageKeyList(entry) : nil
      } catch {
        throw StoreError(
          .corrupted,
          "a list of the keys changed since a snapshot is corrupted: \(error) Run `check` to see the extent")
      }
    }
    guard let found else { return nil }
    self = found
  }

  /// Calls `body` with every key that has a preimage in some epochs, once for each epoch.
  package static func forEachKey(
    in epochs: Range<UInt64>, _ session: borrowing Session, _ body: (TableCode, [UInt8]) throws(StoreError) -> Void
  ) throws(StoreError) {
    var next: SavedKeysKey? = SavedKeysKey(epoch: epochs.lowerBound, commit: 0, part: 0)
    while let start = next, let list = try PreimageKeyList(session, from: start, before: epochs.upperBound) {
      for (table, key) in list.keys { try body(table, key) }
      next = list.place.following
    }
  }
}
