package import KVCloneCore
import KVCloneModel
package import KVCloneRecords

/// Deleting snapshots, with the previous states that nobody needs any more.
extension Session {
  /// Deletes snapshots; what the youngest one saved from then on goes on for the youngest that is left.
  ///
  /// - Throws: `snapshotNotFound`, `snapshotHeld`, with nothing deleted.
  mutating func deleteSnapshots(_ names: [String]) throws(StoreError) {
    let all = try Snapshots.all(storage, schema.tables)
    var doomed: Set<UInt64> = []
    for name in names {
      guard let found = all.first(where: { $0.name == name }) else { throw Snapshots.notFound(name) }
      if !found.value.holds.isEmpty {
        throw StoreError(
          .snapshotHeld,
          "the snapshot \(name) has the holds \(found.value.holds.joined(separator: ", ")); release them first")
      }
      doomed.insert(found.value.epoch)
    }
    if doomed.isEmpty { return }
    changes.isEmpty = false
    try storage.recorder?.flush()
    for name in Set(names) {
      let key = Array(name.utf8)
      try storage.delete(schema.tables.snapshots, key.span.bytes)
    }
    try sweepPreviousStates(of: doomed, among: all.map(\.value))
    try nameYoungest(all.last { !doomed.contains($0.value.epoch) })
    try purgeRetired(shownBy: all.filter { !doomed.contains($0.value.epoch) }.map(\.value.modelNumber))
  }

  /// Drops the previous states that no snapshot needs any more once some of them are gone.
  ///
  /// - Parameters:
  ///   - doomed: the epochs of those that go.
  ///   - snapshots: all, those that go included, in the order of their epochs.
  package mutating func sweepPreviousStates(of doomed: Set<UInt64>, among snapshots: [SnapshotValue]) throws(StoreError)
  {
    // What comes between two that stay was needed by the older one of them, or by those that go.
    var older: SnapshotHorizon?
    var first: UInt64?
    for snapshot in snapshots {
      let epoch = snapshot.epoch
      if doomed.contains(epoch) {
        if first == nil { first = epoch }
        continue
      }
      if let start = first { try sweep(start..<epoch, neededSince: older) }
      first = nil
      older = SnapshotHorizon(snapshot, schema.orderedLists)
    }
    if let start = first { try sweep(start..<UInt64.max, neededSince: older) }
  }

  private mutating func nameYoungest(_ youngest: (name: String, value: SnapshotValue)?) throws(StoreError) {
    let table = schema.tables.metadata
    if let youngest {
      try Metadata.put(&storage, table, MetadataKey.youngestSnapshot, BytesValue(Array(youngest.name.utf8)))
    } else {
      try storage.delete(table, MetadataKey.youngestSnapshotKey.bytes)
    }
    try beginEpoch(youngest?.value)
  }

  /// Drops the previous states of some epochs that no snapshot needs any more.
  ///
  /// - Parameter older: the youngest snapshot before them, which is the only one that may need them still; nil where there is
  ///   none.
  private mutating func sweep(_ epochs: Range<UInt64>, neededSince older: SnapshotHorizon?) throws(StoreError) {
    var next: SavedKeysKey? = SavedKeysKey(epoch: epochs.lowerBound, commit: 0, part: 0)
    while let start = next, let list = try savedKeys(from: start, before: epochs.upperBound) {
      var kept = SavedKeys()
      var keptCount = 0
      for (table, key) in list.keys {
        if let older, try isNeeded(table, key, epoch: list.place.epoch, since: older) {
          keptCount += 1
          let byteCount = try retainedByteCount(table, key, epoch: list.place.epoch)
          key.withUnsafeBytes { kept.append(table, $0, byteCount: byteCount) }
        } else {
          try dropPreimage(table, key, epoch: list.place.epoch)
        }
      }
      let place = list.place.bytes
      if keptCount == 0 {
        try storage.delete(schema.tables.preimages, place.bytes)
      } else if keptCount < list.keys.count {
        let preimages = schema.tables.preimages
        try kept.take(seed: ValueEnvelope.seed(tableCode: .preimages, key: place)) { (bytes) throws(StoreError) in
          try Self.put(&storage, preimages, place, bytes)
        }
      }
      next = list.place.following
    }
  }

  private static func put(
    _ storage: inout StorageTransaction, _ table: StorageTable, _ key: ShortKey, _ value: RawSpan
  ) throws(StoreError) {
    try storage.put(table, key.bytes, value)
  }

  /// Drops a previous state, and the bytes of a blob that nothing else keeps.
  private mutating func dropPreimage(_ table: TableCode, _ key: [UInt8], epoch: UInt64) throws(StoreError) {
    let preimages = schema.tables.preimages
    let preimage = PreimageKey.encode(table: table, key: key.span.bytes, epoch: epoch)
    try storage.delete(preimages, preimage.span.bytes)
    guard table == .blobInfo, let serial = try? NumberKey.blobSerial(key.span.bytes) else { return }
    if try storage.get(schema.tables.blobinfo, key.span.bytes) != nil { return }
    // A snapshot of a time when it was an upload yet does not keep it.
    let states = SavedStates(storage.backend, preimages, epoch: 0)
    if try states.hasValue(of: table, unsafePointers(key.span.bytes)) { return }
    try storage.deleteBlobChunks(blobTables, serial)
  }
}

extension Session {
  /// A list of saved keys, copied.
  package struct SavedKeyList {
    package let place: SavedKeysKey
    let byteCount: UInt64
    package let keys: [(table: TableCode, key: [UInt8])]
  }

  /// The next list of saved keys, until an epoch.
  package borrowing func savedKeys(from start: SavedKeysKey, before end: UInt64) throws(StoreError) -> SavedKeyList? {
    let bound = start.bytes
    guard let entry = try storage.seek(schema.tables.preimages, bound.bytes, .atOrAfter), SavedKeysKey.isOne(entry.key)
    else { return nil }
    do throws(RecordError) {
      let place = try SavedKeysKey(entry.key)
      guard place.epoch < end else { return nil }
      let view = try SavedKeysView(entry.value, seed: ValueEnvelope.seed(tableCode: .preimages, key: entry.key))
      var keys: [(table: TableCode, key: [UInt8])] = []
      keys.reserveCapacity(view.count)
      view.forEach { table, key in keys.append((table, key.withUnsafeBytes { Array($0) })) }
      return SavedKeyList(place: place, byteCount: view.byteCount, keys: keys)
    } catch {
      throw StoreError(
        .corrupted, "a list of the keys changed since a snapshot is corrupted: \(error) Run `check` to see the extent")
    }
  }

  /// Calls `body` with every key whose previous state was saved in some epochs, once for each epoch.
  borrowing func forEachSavedKey(
    in epochs: Range<UInt64>, _ body: (TableCode, [UInt8], UInt64) throws(StoreError) -> Void
  ) throws(StoreError) {
    var next: SavedKeysKey? = SavedKeysKey(epoch: epochs.lowerBound, commit: 0, part: 0)
    while let start = next, let list = try savedKeys(from: start, before: epochs.upperBound) {
      for (table, key) in list.keys { try body(table, key, list.place.epoch) }
      next = list.place.following
    }
  }

  /// Whether a snapshot of an epoch before needs a previous state: it sees the key, which has no state of that snapshot's epoch
  /// or one between. A key that came later is nothing to it; of a large value that did, nobody would keep the bytes.
  borrowing func isNeeded(_ table: TableCode, _ key: [UInt8], epoch: UInt64, since older: SnapshotHorizon)
    throws(StoreError) -> Bool
  {
    let isSeen = key.withUnsafeBytes { older.sees(table, $0) }
    guard isSeen else { return false }
    let before = PreimageKey.encode(table: table, key: key.span.bytes, epoch: epoch - 1)
    guard let entry = try storage.seek(schema.tables.preimages, before.span.bytes, .atOrBefore),
      PreimageKey.isOfSameKey(unsafePointers(entry.key), unsafePointers(before.span.bytes))
    else { return true }
    do throws(RecordError) {
      return try PreimageKey.epoch(of: entry.key) < older.epoch
    } catch {
      throw SavedStates.corrupted(error)
    }
  }

  /// What a previous state takes, in bytes, with the blob that it may be all that keeps.
  private borrowing func retainedByteCount(_ table: TableCode, _ key: [UInt8], epoch: UInt64) throws(StoreError)
    -> UInt64
  {
    let preimage = PreimageKey.encode(table: table, key: key.span.bytes, epoch: epoch)
    guard let value = try storage.get(schema.tables.preimages, preimage.span.bytes) else { return 0 }
    var byteCount = UInt64(preimage.count + value.byteCount)
    guard table == .blobInfo else { return byteCount }
    let seed = ValueEnvelope.seed(tableCode: .blobInfo, key: key)
    guard let view = try? PreimageView(value, seed: ValueEnvelope.seed(tableCode: .preimages, key: preimage)),
      view.isPresent, let info = try? BlobInfo(stored: view.value, seed: seed)
    else { return byteCount }
    byteCount = byteCount.addingReportingOverflow(info.byteCount).partialValue
    return byteCount
  }

  /// What deleting a snapshot would give back, in bytes: previous states that it alone needs, and the blobs that they keep.
  borrowing func retainedByteCount(of snapshot: SnapshotValue, among all: [SnapshotValue]) throws(StoreError) -> UInt64
  {
    let older = all.last { $0.epoch < snapshot.epoch }.map { SnapshotHorizon($0, schema.orderedLists) }
    let end = all.first { $0.epoch > snapshot.epoch }?.epoch ?? .max
    var sum: UInt64 = 0
    var next: SavedKeysKey? = SavedKeysKey(epoch: snapshot.epoch, commit: 0, part: 0)
    while let start = next, let list = try savedKeys(from: start, before: end) {
      next = list.place.following
      guard let older else {
        sum = sum.addingReportingOverflow(list.byteCount).partialValue
        continue
      }
      for (table, key) in list.keys where try !isNeeded(table, key, epoch: list.place.epoch, since: older) {
        let byteCount = try retainedByteCount(table, key, epoch: list.place.epoch)
        sum = sum.addingReportingOverflow(byteCount).partialValue
      }
    }
    return sum
  }
}
