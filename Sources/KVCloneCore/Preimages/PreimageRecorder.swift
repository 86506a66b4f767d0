package import KVCloneLMDB
package import KVCloneRecords

/// Records preimages in a write transaction of a store with snapshots: before the first change of a key that the
/// youngest snapshot sees, its value is saved in `preimages`. A missing value is saved as a tombstone.
///
/// One preimage serves all snapshots since the previous preimage, so only the youngest is checked. Without snapshots
/// there is no decorator between the store and its engine.
package final class PreimageRecorder: StorageDecorator, TransactionSpace {
  package var inner: any StorageBackend
  private let preimages: StorageTable
  private let commitNumber: UInt64
  /// The horizon of the youngest snapshot; nil once the transaction has deleted the last.
  private(set) var horizon: SnapshotHorizon?
  /// Indexes that are being dropped: no snapshot uses their entries any more.
  private var droppedIndexes: Set<UInt16>
  private var saved = PreimageKeys()
  private var savedParts: UInt32 = 0
  /// The size of all preimages that the transaction has saved, and of the blobs that they keep.
  package private(set) var savedByteCount: UInt64 = 0
  // Reused, so that saving does not allocate.
  private let preimageKey = ReusedBytes()
  private let preimage = ReusedBytes()
  /// Whether the youngest snapshot was created in this transaction, so that no other has saved preimages for it.
  private var isNew: Bool
  /// The greatest key of a preimage that this transaction has saved for the youngest snapshot.
  private let greatest = ReusedBytes()

  /// - Parameter isNew: whether this transaction has just created the youngest snapshot.
  package init(
    _ inner: any StorageBackend, preimages: StorageTable, commit: UInt64, _ horizon: SnapshotHorizon?,
    droppedIndexes: Set<UInt16> = [], isNew: Bool = false
  ) {
    self.inner = inner
    self.preimages = preimages
    commitNumber = commit
    self.horizon = horizon
    self.isNew = isNew
    self.droppedIndexes = droppedIndexes
  }

  /// Changes the youngest snapshot, or ends recording without one.
  ///
  /// - Parameter isNew: whether this transaction has just created it.
  package func begin(_ horizon: SnapshotHorizon?, isNew: Bool) throws(StoreError) {
    try flush()
    if horizon?.epoch != self.horizon?.epoch {
      self.isNew = isNew
      greatest.removeAll()
    }
    self.horizon = horizon
  }

  /// Whether the preimage for `preimageKey` was saved before.
  private func isSaved() throws(StoreError) -> Bool {
    let wanted = preimageKey.bytes
    // A pass through a table in key order saves each key for the first time.
    if isNew, greatest.bytes.lexicographicallyPrecedes(wanted) { return false }
    guard let found = try inner.seek(preimages, wanted, .atOrAfter) else { return false }
    return PreimageKey.isOfSameKey(found.key, wanted)
  }

  /// Saves the preimage for `preimageKey`.
  private func putPreimage(
    _ table: TableCode, _ key: UnsafeRawBufferPointer, byteCount: UInt64
  ) throws(StoreError) {
    let wanted = preimageKey.bytes
    try inner.put(preimages, wanted, preimage.bytes)
    if isNew, greatest.bytes.lexicographicallyPrecedes(wanted) {
      greatest.removeAll()
      greatest.append(wanted)
    }
    let byteCount = byteCount &+ UInt64(preimageKey.count + preimage.count)
    saved.append(table, key, byteCount: byteCount)
    savedByteCount &+= byteCount
    if saved.isFull { try flush() }
  }

  /// Stops saving preimages of these indexes, which are being dropped.
  package func drop(indexes: Set<UInt16>) { droppedIndexes.formUnion(indexes) }

  /// Writes the list of keys saved so far.
  package func flush() throws(StoreError) {
    guard let horizon, !saved.isEmpty else { return }
    let key = SavedKeysKey(epoch: horizon.epoch, commit: commitNumber, part: savedParts).bytes
    savedParts += 1
    let seed = ValueEnvelope.seed(tableCode: .preimages, key: key)
    try saved.take(seed: seed) { (list) throws(StoreError) in
      try inner.put(preimages, unsafePointers(key.bytes), unsafePointers(list))
    }
  }

  /// Longer lists are written before a savepoint begins, instead of being copied.
  private static let copiedByteCount = 4 << 10

  package func stateRestorer() throws(StoreError) -> () -> Void {
    if saved.listByteCount > Self.copiedByteCount { try flush() }
    let (horizon, dropped, isNew) = (horizon, droppedIndexes, isNew)
    let (list, parts, byteCount) = (saved.state, savedParts, savedByteCount)
    let greatest = Array(greatest.bytes)
    return { [unowned self] in
      self.horizon = horizon
      droppedIndexes = dropped
      self.isNew = isNew
      saved.restore(list)
      (savedParts, savedByteCount) = (parts, byteCount)
      self.greatest.removeAll()
      greatest.withUnsafeBytes { self.greatest.append($0) }
    }
  }

  // MARK: Saving

  /// - Parameter isDelete: whether a missing key is left without a preimage.
  @inline(__always)
  private func save(_ table: StorageTable, _ key: UnsafeRawBufferPointer, isDelete: Bool = false) throws(StoreError) {
    guard let horizon, SnapshotHorizon.isVersioned(table.code), horizon.sees(table.code, key) else { return }
    // The reference count of a blob is not part of a snapshot.
    if table.code == .blobInfo, !isDelete { return }
    if table.code == .indexes, !droppedIndexes.isEmpty, droppedIndexes.contains(SnapshotHorizon.indexID(key)) { return }
    try saveSeen(table, key, horizon, isDelete: isDelete)
  }

  private func saveSeen(
    _ table: StorageTable, _ key: UnsafeRawBufferPointer, _ horizon: SnapshotHorizon, isDelete: Bool
  ) throws(StoreError) {
    PreimageKey.write(table: table.code, key: key, epoch: horizon.epoch, to: preimageKey)
    if try isSaved() { return }
    let old = try inner.get(table, key)
    var byteCount: UInt64 = 0
    if let old {
      if table.code == .blobInfo {
        let seed = ValueEnvelope.seed(tableCode: .blobInfo, key: key)
        // No snapshot contains an abandoned upload.
        guard let info = try? BlobInfo(stored: RawSpan(_unsafeBytes: old), seed: seed), info.state == .complete else {
          return
        }
        byteCount = info.byteCount
      }
    } else if isDelete {
      return
    }
    PreimageView.write(old, seed: ValueEnvelope.seed(tableCode: .preimages, key: preimageKey.bytes), to: preimage)
    try putPreimage(table.code, key, byteCount: byteCount)
  }

  /// Records that an upload is about to become a value that the youngest snapshot does not contain, though its serial
  /// was assigned before: searches for newer blobs use only the lists of saved keys.
  package func noteCompletion(of blob: UInt64, _ tables: BlobTables) throws(StoreError) {
    guard let horizon, horizon.sees(blob: blob) else { return }
    let key = ShortKey.blobInfo(blob)
    PreimageKey.write(table: .blobInfo, key: unsafePointers(key.bytes), epoch: horizon.epoch, to: preimageKey)
    if try isSaved() { return }
    PreimageView.write(nil, seed: ValueEnvelope.seed(tableCode: .preimages, key: preimageKey.bytes), to: preimage)
    try putPreimage(.blobInfo, unsafePointers(key.bytes), byteCount: 0)
  }

  // MARK: The transaction

  package func get(_ table: StorageTable, _ key: UnsafeRawBufferPointer) throws(StoreError) -> UnsafeRawBufferPointer? {
    try inner.get(table, key)
  }

  package func seek(_ table: StorageTable, _ key: UnsafeRawBufferPointer, _ mode: StorageSeek) throws(StoreError)
    -> StorageEntryPointers?
  {
    try inner.seek(table, key, mode)
  }

  package func scan(
    _ table: StorageTable, from key: UnsafeRawBufferPointer, before end: UnsafeRawBufferPointer,
    _ body: (borrowing RawSpan, borrowing RawSpan) throws(StoreError) -> Bool
  ) throws(StoreError) {
    try inner.scan(table, from: key, before: end, body)
  }

  package func put(_ table: StorageTable, _ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer)
    throws(StoreError)
  {
    try save(table, key)
    try inner.put(table, key, value)
  }

  package func append(_ table: StorageTable, _ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer)
    throws(StoreError)
  {
    try save(table, key)
    try inner.append(table, key, value)
  }

  package func appendRun(_ table: StorageTable, _ entries: UnsafeBufferPointer<StorageEntryPointers>) throws(StoreError)
  {
    for entry in entries {
      try save(table, entry.key)
      // The keys ascend: all others are newer, too.
      if SnapshotHorizon.isInOrderOfAge(table.code), horizon?.sees(table.code, entry.key) != true { break }
    }
    try inner.appendRun(table, entries)
  }

  package func retainCursors(in tables: [StorageTable]) { inner.retainCursors(in: tables) }

  package func prefetchWindow(isAscending: Bool) -> Int { inner.prefetchWindow(isAscending: isAscending) }

  package func beginReadScope() -> Int { inner.beginReadScope() }

  package func endReadScope(_ mark: Int) { inner.endReadScope(mark) }

  package func prefetch(_ table: StorageTable, _ keys: UnsafeRawBufferPointer, stride: Int, _ mode: StorageSeek?) {
    inner.prefetch(table, keys, stride: stride, mode)
  }

  package func delete(_ table: StorageTable, _ key: UnsafeRawBufferPointer) throws(StoreError) -> Bool {
    try save(table, key, isDelete: true)
    return try inner.delete(table, key)
  }

  package func makeTables(_ tables: [TableCode]) throws(StoreError) -> [StorageTable] { try inner.makeTables(tables) }

  /// Returns whether a snapshot may show the bytes of a blob after its last reference is removed.
  ///
  /// The youngest snapshot does not show a blob that was an upload then, or that was deleted then and is restored since.
  /// Earlier ones may show the latter.
  package func keepsBlob(_ serial: UInt64) throws(StoreError) -> Bool {
    guard let horizon, horizon.sees(blob: serial) else { return false }
    let states = PreimageReader(inner, preimages, epoch: horizon.epoch)
    let key = ShortKey.blobInfo(serial)
    do throws(StoreError) {
      if case .absent = try states.state(of: .blobInfo, unsafePointers(key.bytes)) {
        return try PreimageReader(inner, preimages, epoch: 0).hasValue(of: .blobInfo, unsafePointers(key.bytes))
      }
    } catch {
      // A corrupted preimage keeps its blob; an engine failure is passed on.
      guard error.kind == .corrupted else { throw error }
    }
    return true
  }

  package func countsReferences(toBlob serial: UInt64) throws(StoreError) -> Bool {
    try inner.countsReferences(toBlob: serial)
  }

  package var nextIndexID: UInt16 { inner.nextIndexID }

  package func entryCount(_ table: StorageTable) throws(StoreError) -> UInt64 { try inner.entryCount(table) }

  package func markDeleteOnly() { inner.markDeleteOnly() }

  package func commit() throws(StoreError) {
    do throws(StoreError) {
      try flush()
    } catch {
      inner.abort()
      throw error
    }
    try inner.commit()
  }

  package func abort() { inner.abort() }

  // MARK: Space

  package var space: (any TransactionSpace)? { inner.space == nil ? nil : self }

  package func sizes(_ tables: [StorageTable]) throws(StoreError) -> StorageSizes { try innerSpace().sizes(tables) }

  package func growth() throws(StoreError) -> StorageGrowth? { try inner.space?.growth() }

  package func refuseGrowth() { inner.space?.refuseGrowth() }

  package func facts() throws(StoreError) -> StorageFacts? { try inner.space?.facts() }

  package func makeRoom(for byteCount: UInt64) throws(StoreError) { try inner.space?.makeRoom(for: byteCount) }

  package func checkCommitRoom() throws(StoreError) {
    try flush()
    try inner.space?.checkCommitRoom()
  }

  private func innerSpace() throws(StoreError) -> any TransactionSpace {
    if let space = inner.space { return space }
    throw StorageTransaction.noPages
  }
}
