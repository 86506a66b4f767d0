#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
import KVCloneModel
import KVCloneRecords

/// Reading the table of snapshots.
enum Snapshots {
  /// The snapshot with a name; nil where there is none.
  static func find(_ storage: borrowing StorageTransaction, _ tables: SchemaTables, _ name: String)
    throws(StoreError) -> SnapshotValue?
  {
    let key = Array(name.utf8)
    guard !key.isEmpty, key.count <= FormatLimits.maximumKeyLength,
      let value = try storage.get(tables.snapshots, key.span.bytes)
    else { return nil }
    return try decode(key, value)
  }

  private static func decode(_ key: [UInt8], _ value: RawSpan) throws(StoreError) -> SnapshotValue {
    do throws(RecordError) {
      return try SnapshotValue(stored: value, seed: ValueEnvelope.seed(tableCode: .snapshots, key: key))
    } catch {
      throw StoreError(
        .corrupted,
        "the snapshot \(String(decoding: key, as: UTF8.self)) is corrupted: \(error) Run `check` to see the extent")
    }
  }

  /// All snapshots, in the order in which they were made.
  static func all(_ storage: borrowing StorageTransaction, _ tables: SchemaTables) throws(StoreError)
    -> [(name: String, value: SnapshotValue)]
  {
    var found: [(name: String, value: SnapshotValue)] = []
    let first: [UInt8] = [0]
    try storage.scan(tables.snapshots, from: first.span.bytes) { (key, value) throws(StoreError) in
      let key = key.withUnsafeBytes { Array($0) }
      guard let name = String(validating: key, as: UTF8.self) else {
        throw StoreError(.corrupted, "the name of a snapshot is corrupted; run `check` to see the extent")
      }
      found.append((name, try decode(key, copy value)))
      return true
    }
    return found.sorted { $0.value.epoch < $1.value.epoch }
  }

  /// The youngest snapshot, for which a write transaction saves previous states; nil where there is none.
  static func youngest(_ storage: borrowing StorageTransaction, _ tables: SchemaTables) throws(StoreError)
    -> SnapshotValue?
  {
    guard let value = try storage.get(tables.metadata, MetadataKey.youngestSnapshotKey.bytes) else { return nil }
    let name: [UInt8]
    do throws(RecordError) {
      let seed = ValueEnvelope.seed(tableCode: .metadata, key: MetadataKey.youngestSnapshotKey)
      name = try BytesValue(stored: value, seed: seed).bytes
    } catch {
      throw Metadata.corrupted(MetadataKey.youngestSnapshot, error)
    }
    guard let snapshot = try find(storage, tables, String(decoding: name, as: UTF8.self)) else {
      throw Metadata.corrupted(MetadataKey.youngestSnapshot, .badKey)
    }
    return snapshot
  }

  static func notFound(_ name: String) -> StoreError {
    StoreError(.snapshotNotFound, "the snapshot \(name) does not exist; `snapshot list` shows all snapshots")
  }
}

extension StorageTransaction {
  /// Has previous states saved from now on, where the store has snapshots.
  mutating func record(
    _ schema: Schema, commit: UInt64, droppedIndexes: Set<UInt16> = []
  ) throws(StoreError) {
    guard let youngest = try Snapshots.youngest(self, schema.tables) else { return }
    let horizon = SnapshotHorizon(youngest, schema.orderedLists)
    interpose {
      SnapshotRecorder(
        $0, preimages: schema.tables.preimages, commit: commit, horizon, droppedIndexes: droppedIndexes)
    }
  }
}

extension Session {
  /// Makes a snapshot of what this transaction sees now, and ends an epoch: what is changed from here on, in this
  /// transaction too, is saved before.
  mutating func createSnapshot(
    _ name: String, expires: Date?, userInfo: [String: String], isAutomatic: Bool
  ) throws(StoreError) -> SnapshotValue {
    try SnapshotName.check(name, isAutomatic: isAutomatic)
    guard try Snapshots.find(storage, schema.tables, name) == nil else {
      throw StoreError(
        .snapshotExists, "the snapshot \(name) already exists; delete it, or choose another name")
    }
    let hasChanges = !changes.isEmpty
    try refreshDerived()
    try settle()
    let table = schema.tables.metadata
    var value = SnapshotValue(
      epoch: try counter(MetadataKey.epoch) + 1, commit: hasChanges ? commit : commit - 1,
      created: Date().timeIntervalSinceReferenceDate, expires: expires?.timeIntervalSinceReferenceDate,
      objectCount: 0, nextBlobSerial: try coming(changes.nextBlobSerial, MetadataKey.blobSerial),
      modelNumber: UInt16(truncatingIfNeeded: try counter(MetadataKey.catalog)),
      nextLayoutID: schema.codes.lastLayout &+ 1, nextIndexID: schema.codes.lastIndex &+ 1,
      nextEntityCode: schema.codes.lastEntity &+ 1, watermarks: [])
    value.isAutomatic = isAutomatic
    value.isUnfinished = hasChanges
    for rootCode in schema.rootCodes {
      let next = try coming(changes.nextSerials[rootCode], MetadataKey.serial(rootCode: rootCode))
      value.watermarks.append(.init(rootCode: rootCode, nextSerial: next))
      if let table = schema.objectTable(rootCode: rootCode) { value.objectCount += try storage.entryCount(table) }
    }
    if !userInfo.isEmpty { value.userInfo = try Self.encode(userInfo) }
    try put(value, name)
    try Metadata.put(&storage, table, MetadataKey.epoch, CounterValue(value.epoch))
    try Metadata.put(&storage, table, MetadataKey.youngestSnapshot, BytesValue(Array(name.utf8)))
    try raiseFormat(to: FormatLimits.snapshotFormatVersion)
    try beginEpoch(value, isNew: true)
    changes.isEmpty = false
    return value
  }

  /// The next number that a counter gives, whether it was asked in this transaction or not.
  private borrowing func coming(_ known: UInt64?, _ name: String) throws(StoreError) -> UInt64 {
    if let known { return known }
    return max(1, try counter(name))
  }

  /// Has previous states saved for a snapshot from now on; for none where it is nil.
  ///
  /// - Parameter isNew: whether this transaction has made it, just now.
  mutating func beginEpoch(_ snapshot: SnapshotValue?, isNew: Bool = false) throws(StoreError) {
    let horizon = snapshot.map { SnapshotHorizon($0, schema.orderedLists) }
    if let recorder = storage.recorder { return try recorder.begin(horizon, isNew: isNew) }
    let (preimages, commit) = (schema.tables.preimages, commit)
    storage.interpose { SnapshotRecorder($0, preimages: preimages, commit: commit, horizon, isNew: isNew) }
  }

  private static func encode(_ userInfo: [String: String]) throws(StoreError) -> [UInt8] {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys]
    do {
      return Array(try encoder.encode(userInfo))
    } catch {
      throw StoreError(.io, "the userInfo of the snapshot cannot be encoded: \(error)")
    }
  }

  /// Writes a snapshot's record.
  private mutating func put(_ value: SnapshotValue, _ name: String) throws(StoreError) {
    let key = Array(name.utf8)
    let bytes = value.encoded(seed: ValueEnvelope.seed(tableCode: .snapshots, key: key))
    try storage.put(schema.tables.snapshots, key.span.bytes, bytes.span.bytes)
    changes.isEmpty = false
  }

  /// The snapshot with a name, and, where it is known, of an epoch: another one may have the name by now.
  borrowing func existingSnapshot(_ name: String, epoch: UInt64? = nil) throws(StoreError) -> SnapshotValue {
    guard let value = try Snapshots.find(storage, schema.tables, name), epoch == nil || epoch == value.epoch else {
      throw Snapshots.notFound(name)
    }
    return value
  }

  /// Forbids the deletion of a snapshot, in somebody's name. Who holds it already may do so again.
  mutating func hold(_ name: String, epoch: UInt64?, tag: String) throws(StoreError) {
    try SnapshotName.checkTag(tag)
    var value = try existingSnapshot(name, epoch: epoch)
    if value.holds.contains(tag) { return }
    value.holds.append(tag)
    value.holds.sort()
    try put(value, name)
  }

  /// Ends a hold.
  ///
  /// - Throws: `snapshotNotHeld`.
  mutating func releaseHold(_ name: String, epoch: UInt64?, tag: String) throws(StoreError) {
    var value = try existingSnapshot(name, epoch: epoch)
    guard let index = value.holds.firstIndex(of: tag) else {
      throw StoreError(
        .snapshotNotHeld,
        "the snapshot \(name) has no hold \(tag); `snapshot list` shows its holds")
    }
    value.holds.remove(at: index)
    try put(value, name)
  }
}
