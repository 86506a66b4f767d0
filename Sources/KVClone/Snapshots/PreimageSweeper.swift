import KVCloneBranches
package import KVCloneCore
package import KVCloneRecords

/// Deletes the preimages that no snapshot needs after some snapshots are deleted.
package struct PreimageSweeper: ~Copyable, SessionOwner {
  private var session: Session

  package init(_ session: consuming Session) {
    self.session = session
  }

  package consuming func finish() -> Session { session }

  /// Deletes the preimages that no snapshot needs after some snapshots are deleted.
  ///
  /// - Parameters:
  ///   - doomed: the epochs of the snapshots to delete.
  ///   - snapshots: all snapshots, including those to delete, in the order of their epochs.
  package mutating func sweep(_ doomed: Set<UInt64>, among snapshots: [SnapshotValue]) throws(StoreError) {
    for gap in gaps(doomed, among: snapshots) { try sweep(gap.epochs, neededSince: gap.older) }
  }

  /// Returns the epochs of the preimages that snapshots to delete may need, each with the youngest remaining snapshot
  /// before it.
  private borrowing func gaps(_ doomed: Set<UInt64>, among snapshots: [SnapshotValue])
    -> [(epochs: Range<UInt64>, older: SnapshotHorizon?)]
  {
    // Preimages between two remaining snapshots were needed by the older one, or by the deleted ones.
    var gaps: [(epochs: Range<UInt64>, older: SnapshotHorizon?)] = []
    var older: SnapshotHorizon?
    var first: UInt64?
    for snapshot in snapshots {
      let epoch = snapshot.epoch
      if doomed.contains(epoch) {
        if first == nil { first = epoch }
        continue
      }
      if let start = first { gaps.append((start..<epoch, older)) }
      first = nil
      older = SnapshotHorizon(snapshot, session.schema.orderedLists)
    }
    if let start = first { gaps.append((start..<UInt64.max, older)) }
    return gaps
  }

  /// Deletes the preimages of some epochs that no snapshot needs anymore.
  ///
  /// - Parameter older: the youngest snapshot before these epochs, which is the only one that may still need them; nil
  ///   if there is no earlier snapshot.
  private mutating func sweep(_ epochs: Range<UInt64>, neededSince older: SnapshotHorizon?) throws(StoreError) {
    var next: SavedKeysKey? = SavedKeysKey(epoch: epochs.lowerBound, commit: 0, part: 0)
    while let start = next, let list = try PreimageKeyList(session, from: start, before: epochs.upperBound) {
      var kept = PreimageKeys()
      var keptCount = 0
      var windows = ReadWindows(session.storage)
      for (table, key) in list.keys {
        windows.next()
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
        try session.storage.delete(session.schema.tables.preimages, place.bytes)
      } else if keptCount < list.keys.count {
        let preimages = session.schema.tables.preimages
        try kept.take(seed: ValueEnvelope.seed(tableCode: .preimages, key: place)) { (bytes) throws(StoreError) in
          try Self.put(&session.storage, preimages, place, bytes)
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

  /// Deletes a preimage, and the bytes of a blob that nothing else references.
  private mutating func dropPreimage(_ table: TableCode, _ key: [UInt8], epoch: UInt64) throws(StoreError) {
    let preimages = session.schema.tables.preimages
    let preimage = PreimageKey.encode(table: table, key: key.span.bytes, epoch: epoch)
    try session.storage.delete(preimages, preimage.span.bytes)
    guard table == .blobInfo, let serial = try? NumberKey.blobSerial(key.span.bytes) else { return }
    // A snapshot from before the upload was finished does not retain the blob.
    if try BlobDescriptions.exist(of: serial, session.schema.tables, in: session.storage) { return }
    try session.storage.deleteBlobChunks(session.blobTables, serial)
  }

  // MARK: Sizes

  /// Whether a snapshot of an earlier epoch needs a preimage: it sees the key, and the key has no preimage of that
  /// snapshot's epoch or of one between. A snapshot does not need keys that were created later; a blob that was created
  /// later would not have its bytes retained by anything.
  private borrowing func isNeeded(_ table: TableCode, _ key: [UInt8], epoch: UInt64, since older: SnapshotHorizon)
    throws(StoreError) -> Bool
  {
    let isSeen = key.withUnsafeBytes { older.sees(table, $0) }
    guard isSeen else { return false }
    let before = PreimageKey.encode(table: table, key: key.span.bytes, epoch: epoch - 1)
    guard let entry = try session.storage.seek(session.schema.tables.preimages, before.span.bytes, .atOrBefore),
      PreimageKey.isOfSameKey(unsafePointers(entry.key), unsafePointers(before.span.bytes))
    else { return true }
    do throws(RecordError) {
      return try PreimageKey.epoch(of: entry.key) < older.epoch
    } catch {
      throw PreimageReader.corrupted(error)
    }
  }

  /// Returns the size of a preimage in bytes, with the blob if only the preimage retains it.
  private borrowing func retainedByteCount(_ table: TableCode, _ key: [UInt8], epoch: UInt64) throws(StoreError)
    -> UInt64
  {
    let preimage = PreimageKey.encode(table: table, key: key.span.bytes, epoch: epoch)
    guard let value = try session.storage.get(session.schema.tables.preimages, preimage.span.bytes) else { return 0 }
    var byteCount = UInt64(preimage.count + value.byteCount)
    guard table == .blobInfo else { return byteCount }
    let seed = ValueEnvelope.seed(tableCode: .blobInfo, key: key)
    guard let view = try? PreimageView(value, seed: ValueEnvelope.seed(tableCode: .preimages, key: preimage)),
      view.isPresent, let info = try? BlobInfo(stored: view.value, seed: seed)
    else { return byteCount }
    byteCount = byteCount.addingReportingOverflow(info.byteCount).partialValue
    return byteCount
  }

  /// Returns the number of bytes that deleting snapshots would free: the preimages that only they need, and the blobs
  /// that these retain.
  ///
  /// - Parameters:
  ///   - doomed: the epochs of the snapshots.
  ///   - snapshots: all snapshots, in the order of their epochs.
  /// - Throws: `cancelled` after `isCancelled` returned true.
  borrowing func retainedByteCount(
    of doomed: Set<UInt64>, among snapshots: [SnapshotValue], isCancelled: () -> Bool
  ) throws(StoreError) -> UInt64 {
    var sum: UInt64 = 0
    var windows = ReadWindows(session.storage)
    for gap in gaps(doomed, among: snapshots) {
      var next: SavedKeysKey? = SavedKeysKey(epoch: gap.epochs.lowerBound, commit: 0, part: 0)
      while let start = next, let list = try PreimageKeyList(session, from: start, before: gap.epochs.upperBound) {
        if isCancelled() { throw StoreError(.cancelled, "counting the retained bytes was cancelled; repeat it") }
        next = list.place.following
        guard let older = gap.older else {
          sum = sum.addingReportingOverflow(list.byteCount).partialValue
          continue
        }
        for (table, key) in list.keys {
          windows.next()
          if try isNeeded(table, key, epoch: list.place.epoch, since: older) { continue }
          let byteCount = try retainedByteCount(table, key, epoch: list.place.epoch)
          sum = sum.addingReportingOverflow(byteCount).partialValue
        }
      }
    }
    return sum
  }
}
