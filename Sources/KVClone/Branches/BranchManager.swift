#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
import KVCloneBranches
package import KVCloneCore
import KVCloneLMDB
import KVCloneModel
import KVCloneRecords

/// Creates and deletes the branches of a store in a write transaction of the store.
package struct BranchManager: ~Copyable, SessionOwner {
  var session: Session

  package init(_ session: consuming Session) {
    self.session = session
  }

  package consuming func finish() -> Session { session }

  // MARK: Creating

  mutating func create(_ name: String, from snapshot: Snapshot?, expires: Date?) throws(StoreError)
    -> (record: BranchValue, tables: BranchTables)
  {
    try SnapshotName.checkBranch(name)
    let tables = try BranchTables(creatingIn: &session.storage, session.schema.tables)
    guard try BranchRecords.find(session.storage, tables, name) == nil else {
      throw StoreError(.branchExists, "the branch \(name) already exists; delete it, or choose another name")
    }
    let number = try nextNumbers(2)
    let (base, counts) = try makeBase(snapshot, layer: number + 1)
    let record = BranchValue(
      number: number, created: Date().timeIntervalSinceReferenceDate,
      expires: expires?.timeIntervalSinceReferenceDate, lastCommit: base.value.commit,
      layers: [.init(code: number + 1, baseEpoch: base.value.epoch, baseName: base.name)], objectCounts: counts)
    try BranchRecords.put(record, name, tables, in: &session.storage)
    try beginHistory(number, tables)
    try session.raiseFormat(to: FormatLimits.branchFormatVersion)
    session.changes.isEmpty = false
    return (record, tables)
  }

  /// Assigns numbers to a branch or layers, and returns the first one.
  mutating func nextNumbers(_ count: UInt32) throws(StoreError) -> UInt32 {
    let last = try session.counter(MetadataKey.layer)
    guard let end = UInt32(exactly: last + UInt64(count)), end < .max else {
      throw StoreError(.limitExceeded, "the store has used all numbers of branches; dump it, and load the dump")
    }
    try Metadata.put(&session.storage, session.schema.tables.metadata, MetadataKey.layer, CounterValue(UInt64(end)))
    return end - count + 1
  }

  /// Makes a snapshot the base of a new layer, and returns it with the numbers of its objects.
  mutating func makeBase(_ snapshot: Snapshot?, layer: UInt32) throws(StoreError)
    -> (base: (name: String, value: SnapshotValue), counts: [BranchValue.ObjectCount])
  {
    guard let snapshot else {
      let name = SnapshotName.ofBase(layer: layer)
      let value = try SnapshotManager.own(&session) { (snapshots) throws(StoreError) in
        try snapshots.create(name, expires: nil, userInfo: [:], isAutomatic: false, base: .ofLayer).value
      }
      return ((name, value), try SnapshotObjectCounts.present(in: session))
    }
    let epoch = snapshot.info.epoch
    let value = try Snapshots.existing(session.storage, session.schema.tables, snapshot.name, epoch: epoch)
    if value.isUnfinished {
      throw StoreError(
        .unsupportedOnBranch,
        "the snapshot \(snapshot.name) was created within a transaction with changes, which no commit has validated; "
          + "create the branch from another snapshot")
    }
    let past = try StoreSnapshots(snapshot.store).schemas.schema(of: value, session.storage, session.schema)
    guard past.model.modelHash == session.schema.model.modelHash else {
      throw StoreError(
        .incompatibleModel,
        "the snapshot \(snapshot.name) has model version “\(past.model.versionIdentifier)”, and the store has "
          + "“\(session.schema.model.versionIdentifier)”; create the branch from a snapshot of the present version")
    }
    try session.schema.requireReading(past, of: snapshot.name)
    let counts = try SnapshotObjectCounts.of(value, in: session)
    try SnapshotManager.own(&session) { (snapshots) throws(StoreError) in
      try snapshots.addLayer(snapshot.name, epoch: epoch)
    }
    return ((snapshot.name, value), counts)
  }

  /// Makes the history of a branch begin with its creation, if the store has a history.
  private mutating func beginHistory(_ number: UInt32, _ tables: BranchTables) throws(StoreError) {
    if try HistoryWriter.start(in: session) == nil { return }
    let start = CounterValue(session.commit).encoded(
      seed: ValueEnvelope.seed(tableCode: .metadata, key: MetadataKey.historyKey))
    let key = OverlayKey.encode(layer: number, table: .metadata, key: MetadataKey.historyKey.bytes)
    let value = PreimageView.encode(start.span.bytes, seed: ValueEnvelope.seed(tableCode: .overlays, key: key))
    try session.storage.put(tables.overlays, key.span.bytes, value.span.bytes)
  }

  // MARK: Deleting

  /// Deletes a branch, with its entries and what only its base retains.
  package mutating func delete(_ name: String) throws(StoreError) {
    let tables = try BranchTables(creatingIn: &session.storage, session.schema.tables)
    let record = try BranchRecords.existing(session.storage, tables, name)
    let key = Array(name.utf8)
    try session.storage.delete(tables.branches, key.span.bytes)
    try LayerKeys(tables, layer: record.number).deleteEntries(in: &session)
    for layer in record.layers { try drop(layer, tables) }
    session.changes.isEmpty = false
  }

  /// Deletes a layer that no record of a branch has anymore, with what only its base retains.
  mutating func drop(_ layer: BranchValue.Layer, _ tables: BranchTables) throws(StoreError) {
    try LayerKeys(tables, layer: layer.code).deleteEntries(in: &session)
    try SnapshotManager.own(&session) { (snapshots) throws(StoreError) in
      try snapshots.removeLayer(layer.baseName, epoch: layer.baseEpoch)
    }
  }
}

extension SnapshotName {
  /// Checks the name of a branch.
  ///
  /// - Throws: `invalidBranchName`.
  static func checkBranch(_ name: String) throws(StoreError) {
    do throws(StoreError) {
      try checkForm(name, "the name of a branch")
    } catch {
      throw StoreError(.invalidBranchName, error.message)
    }
  }
}
