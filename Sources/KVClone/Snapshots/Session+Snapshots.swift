#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
package import KVCloneCore
import KVCloneModel
package import KVCloneRecords

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
  package borrowing func existingSnapshot(_ name: String, epoch: UInt64? = nil) throws(StoreError) -> SnapshotValue {
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
