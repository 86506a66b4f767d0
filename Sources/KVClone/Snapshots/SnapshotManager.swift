#if canImport(FoundationEssentials)
  package import FoundationEssentials
#else
  package import Foundation
#endif
import KVCloneBranches
package import KVCloneCore
import KVCloneModel
package import KVCloneRecords

/// Creates, holds and deletes the snapshots of a store in a write transaction.
package struct SnapshotManager: ~Copyable, SessionOwner {
  var session: Session

  package init(_ session: consuming Session) {
    self.session = session
  }

  package consuming func finish() -> Session { session }

  // MARK: Creating

  /// The uses of a hidden snapshot.
  package enum BaseUse {
    /// Of a layer of a branch.
    case ofLayer
    /// Of clones that can be merged into their sources.
    case ofClones
  }

  /// Creates a snapshot of the current state of this transaction, and ends an epoch: later changes, in this transaction
  /// too, first save preimages.
  ///
  /// - Parameter base: the use as a hidden base, with a name that no other snapshot can have; nil for others.
  package mutating func create(
    _ name: String, expires: Date?, userInfo: [String: String], isAutomatic: Bool, base: BaseUse? = nil
  ) throws(StoreError) -> (info: SnapshotInfo, value: SnapshotValue) {
    if base == nil { try SnapshotName.check(name, isAutomatic: isAutomatic) }
    guard try !isTaken(name) else {
      throw StoreError(
        .snapshotExists, "the snapshot \(name) already exists; delete it, or choose another name")
    }
    let hasChanges = !session.changes.isEmpty
    try DerivedRefresh.refreshAll(in: &session)
    try session.settle()
    let table = session.schema.tables.metadata
    var value = SnapshotValue(
      epoch: try session.counter(MetadataKey.epoch) + 1, commit: hasChanges ? session.commit : session.commit - 1,
      created: Date().timeIntervalSinceReferenceDate, expires: expires?.timeIntervalSinceReferenceDate,
      objectCount: 0, nextBlobSerial: try coming(session.changes.nextBlobSerial, MetadataKey.blobSerial),
      modelNumber: UInt16(truncatingIfNeeded: try session.counter(MetadataKey.catalog)),
      nextLayoutID: session.schema.codes.lastLayout &+ 1, nextIndexID: session.schema.codes.lastIndex &+ 1,
      nextEntityCode: session.schema.codes.lastEntity &+ 1, watermarks: [])
    value.isAutomatic = isAutomatic
    // A base is made at the commit, after hooks and validation.
    value.isUnfinished = hasChanges && base == nil
    value.isHidden = base != nil
    value.layerCount = base == .ofLayer ? 1 : 0
    value.isDraft = base == .ofClones
    for rootCode in session.schema.rootCodes {
      let next = try coming(session.changes.nextSerials[rootCode], MetadataKey.serial(rootCode: rootCode))
      value.watermarks.append(.init(rootCode: rootCode, nextSerial: next))
      if let table = session.schema.objectTable(rootCode: rootCode) {
        value.objectCount += try session.storage.entryCount(table)
      }
    }
    if !userInfo.isEmpty { value.userInfo = try Self.encode(userInfo) }
    try put(value, name)
    try Metadata.put(&session.storage, table, MetadataKey.epoch, CounterValue(value.epoch))
    try Metadata.put(&session.storage, table, MetadataKey.youngestSnapshot, BytesValue(Array(name.utf8)))
    try session.raiseFormat(to: FormatLimits.snapshotFormatVersion)
    try Self.beginEpoch(value, &session, isNew: true)
    session.changes.isEmpty = false
    return (SnapshotInfo(name, value, modelVersion: session.schema.model.versionIdentifier), value)
  }

  /// Creates a snapshot with a generated name that contains the time and the purpose.
  ///
  /// - Parameter purpose: a word, or empty.
  package mutating func createAutomatic(_ purpose: String, userInfo: [String: String]) throws(StoreError)
    -> (info: SnapshotInfo, value: SnapshotValue)
  {
    let time = Date().formatted(.iso8601.dateSeparator(.omitted).timeSeparator(.omitted))
    // Two names of the same second differ by the commit, or by a number if one commit creates several.
    var name = SnapshotName.automaticPrefix + (purpose.isEmpty ? "" : purpose + "-") + "\(time)-\(session.commit)"
    if try isTaken(name) {
      name += "-\(try session.counter(MetadataKey.epoch))"
    }
    return try create(name, expires: nil, userInfo: userInfo, isAutomatic: true)
  }

  /// Whether a snapshot has a name; on a branch, in any layer.
  private borrowing func isTaken(_ name: String) throws(StoreError) -> Bool {
    let tables = session.schema.tables
    if try Snapshots.find(session.storage, tables, name) != nil { return true }
    return try Snapshots.findInLayers(session.storage, tables, name) != nil
  }

  /// Returns the next number of a counter, whether or not this transaction has read it before.
  private borrowing func coming(_ known: UInt64?, _ name: String) throws(StoreError) -> UInt64 {
    if let known { return known }
    return max(1, try session.counter(name))
  }

  /// Starts to save preimages for a snapshot; stops if it is nil.
  ///
  /// - Parameter isNew: whether this transaction has just created it.
  static func beginEpoch(
    _ snapshot: SnapshotValue?, _ session: inout Session, isNew: Bool = false
  ) throws(StoreError) {
    let horizon = snapshot.map { SnapshotHorizon($0, session.schema.orderedLists) }
    if let recorder = session.storage.recorder { return try recorder.begin(horizon, isNew: isNew) }
    let (preimages, commit) = (session.schema.tables.preimages, session.commit)
    session.storage.interpose { PreimageRecorder($0, preimages: preimages, commit: commit, horizon, isNew: isNew) }
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
    try session.storage.put(session.schema.tables.snapshots, key.span.bytes, bytes.span.bytes)
    session.changes.isEmpty = false
  }

  /// Sets an entry of the userInfo of a base of clones.
  mutating func note(_ text: String, as key: String, inBase name: String) throws(StoreError) {
    var value = try Snapshots.existing(session.storage, session.schema.tables, name, epoch: nil)
    var userInfo = (try? JSONDecoder().decode([String: String].self, from: Data(value.userInfo))) ?? [:]
    userInfo[key] = text
    value.userInfo = try Self.encode(userInfo)
    try put(value, name)
  }

  // MARK: Holding

  /// Adds a hold, which prevents the deletion of a snapshot. Repeating a hold with the same tag has no effect.
  mutating func hold(_ name: String, epoch: UInt64?, tag: String) throws(StoreError) {
    try SnapshotName.checkTag(tag)
    if try inEarlierLayer(name, { (own) throws(StoreError) in try own.hold(name, epoch: epoch, tag: tag) }) { return }
    var value = try Snapshots.existing(session.storage, session.schema.tables, name, epoch: epoch)
    if value.holds.contains(tag) { return }
    value.holds.append(tag)
    value.holds.sort()
    try put(value, name)
  }

  /// Ends a hold.
  ///
  /// - Throws: `snapshotNotHeld`.
  mutating func releaseHold(_ name: String, epoch: UInt64?, tag: String) throws(StoreError) {
    if try inEarlierLayer(name, { (own) throws(StoreError) in try own.releaseHold(name, epoch: epoch, tag: tag) }) {
      return
    }
    var value = try Snapshots.existing(session.storage, session.schema.tables, name, epoch: epoch)
    guard let index = value.holds.firstIndex(of: tag) else {
      throw StoreError(
        .snapshotNotHeld,
        "the snapshot \(name) has no hold \(tag); `snapshot list` shows its holds")
    }
    value.holds.remove(at: index)
    try put(value, name)
  }

  // MARK: Bases of branches

  /// Makes a snapshot the base of one more layer of a branch.
  mutating func addLayer(_ name: String, epoch: UInt64) throws(StoreError) {
    var value = try Snapshots.existing(session.storage, session.schema.tables, name, epoch: epoch)
    value.layerCount += 1
    try put(value, name)
  }

  /// Ends the use of a snapshot as the base of a layer. A hidden one is deleted with its last layer.
  ///
  /// A corrupted or missing one stays as it is, and `check` reports it: its branch can be deleted nevertheless.
  mutating func removeLayer(_ name: String, epoch: UInt64) throws(StoreError) {
    var value: SnapshotValue
    do throws(StoreError) {
      value = try Snapshots.existing(session.storage, session.schema.tables, name, epoch: epoch)
    } catch {
      guard error.kind == .corrupted || error.kind == .snapshotNotFound else { throw error }
      return
    }
    value.layerCount -= min(1, value.layerCount)
    try put(value, name)
    if value.isHidden, value.layerCount == 0 { try delete([name]) }
  }

  // MARK: Deleting

  /// Deletes snapshots. The preimages since the youngest deleted one then belong to the youngest remaining one.
  ///
  /// - Throws: `snapshotNotFound`, `snapshotHeld`, `snapshotInUse`; nothing is deleted then.
  mutating func delete(_ names: [String]) throws(StoreError) {
    let names = try deleteInEarlierLayers(names)
    if names.isEmpty { return }
    let all = try Snapshots.all(session.storage, session.schema.tables)
    var doomed: Set<UInt64> = []
    for name in names {
      guard let found = all.first(where: { $0.name == name }) else { throw Snapshots.notFound(name) }
      if !found.value.holds.isEmpty {
        throw StoreError(
          .snapshotHeld,
          "the snapshot \(name) has the holds \(found.value.holds.joined(separator: ", ")); release them first")
      }
      if found.value.layerCount > 0 {
        throw StoreError(
          .snapshotInUse,
          "the snapshot \(name) is the base of a branch; delete the branch first (`branch list` shows it)")
      }
      if found.value.isDraft, try !CloneBase.namesOfOver(in: session).contains(name) {
        throw StoreError(
          .snapshotInUse,
          "the snapshot \(name) is the base of a draft; merge or delete the draft first (`merge --list` shows it)")
      }
      doomed.insert(found.value.epoch)
    }
    try delete(doomed, Set(names), of: all)
  }

  /// Deletes the base of clones.
  mutating func deleteBase(_ name: String) throws(StoreError) {
    let all = try Snapshots.all(session.storage, session.schema.tables)
    guard let found = all.first(where: { $0.name == name }) else { return }
    try delete([found.value.epoch], [name], of: all)
  }

  private mutating func delete(
    _ doomed: Set<UInt64>, _ names: Set<String>, of all: [(name: String, value: SnapshotValue)]
  ) throws(StoreError) {
    if doomed.isEmpty { return }
    session.changes.isEmpty = false
    try session.storage.recorder?.flush()
    for name in names {
      let key = Array(name.utf8)
      try session.storage.delete(session.schema.tables.snapshots, key.span.bytes)
    }
    try PreimageSweeper.own(&session) { (sweeper) throws(StoreError) in
      try sweeper.sweep(doomed, among: all.map(\.value))
    }
    try nameYoungest(all.last { !doomed.contains($0.value.epoch) })
    let left = all.filter { !doomed.contains($0.value.epoch) }.map(\.value.modelNumber)
    try RetiredObjectPurge.own(&session) { (purge) throws(StoreError) in try purge.purge(shownBy: left) }
  }

  /// Deletes the expired snapshots without holds, and returns their names.
  mutating func deleteExpired() throws(StoreError) -> [String] {
    let now = Date().timeIntervalSinceReferenceDate
    let expired = try Snapshots.ofAllLayers(session.storage, session.schema.tables)
      .filter { $0.value.isDeletable && ($0.value.expires ?? .infinity) <= now }.map(\.name)
    try delete(expired)
    for base in try CloneBase.namesOfOver(in: session) { try deleteBase(base) }
    return expired
  }

  /// Allows the commit to use the disk space that is reserved for transactions that only delete.
  mutating func markDeleteOnly() { session.storage.markDeleteOnly() }

  /// Deletes the automatic snapshots that a retention policy no longer keeps.
  mutating func deleteSuperfluous(
    _ retention: SnapshotRetention, sparing kept: String? = nil
  ) throws(StoreError) {
    let automatic = try Snapshots.ofAllLayers(session.storage, session.schema.tables).filter {
      $0.value.isAutomatic && !$0.name.hasPrefix(Self.mergePrefix)
    }
    let superfluous = Set(retention.superfluous(automatic.map { ($0.name, $0.value.created) }))
    // Snapshots with holds and bases of branches stay, and so does the one that was just created.
    let youngest = automatic.last?.name
    try delete(
      automatic.filter {
        superfluous.contains($0.name) && $0.value.isDeletable && $0.name != youngest && $0.name != kept
      }.map(\.name))
  }

  /// Creates the snapshot of the state before a merge, and deletes the oldest of other merges.
  ///
  /// - Parameter limit: the number of snapshots of merges to keep: they do not count for the retention of others.
  /// - Returns: the name.
  package mutating func createBeforeMerge(userInfo: [String: String], keeping limit: Int) throws(StoreError) -> String {
    let name = try createAutomatic(Self.mergePurpose, userInfo: userInfo).info.name
    let all = try Snapshots.ofAllLayers(session.storage, session.schema.tables).filter {
      $0.value.isAutomatic && $0.name.hasPrefix(Self.mergePrefix)
    }
    let superfluous = all.dropLast(max(1, limit)).filter { $0.value.isDeletable && $0.name != name }
    try delete(superfluous.map(\.name))
    return name
  }

  private static let mergePurpose = "merge"
  private static let mergePrefix = SnapshotName.automaticPrefix + mergePurpose + "-"

  private mutating func nameYoungest(_ youngest: (name: String, value: SnapshotValue)?) throws(StoreError) {
    let table = session.schema.tables.metadata
    if let youngest {
      try Metadata.put(&session.storage, table, MetadataKey.youngestSnapshot, BytesValue(Array(youngest.name.utf8)))
    } else {
      try session.storage.delete(table, MetadataKey.youngestSnapshotKey.bytes)
    }
    try Self.beginEpoch(youngest?.value, &session)
  }
}

extension SnapshotValue {
  /// Whether nothing prevents the deletion: neither a hold nor a branch nor a draft.
  var isDeletable: Bool { holds.isEmpty && layerCount == 0 && !isDraft }
}
