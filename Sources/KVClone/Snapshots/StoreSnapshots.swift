#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
import KVCloneBranches
import KVCloneCore
import KVCloneModel
import KVCloneRecords

/// The named snapshots of a store.
struct StoreSnapshots {
  private let store: ObjectStore

  init(_ store: ObjectStore) {
    self.store = store
  }

  /// The schemas of the model versions of snapshots.
  var schemas: SnapshotSchemas { store.attachments.value(of: SnapshotSchemas.self) }

  func create(_ name: String, _ expires: Date?, _ userInfo: [String: String]) throws -> Snapshot {
    let info = try change { (snapshots) throws(StoreError) in
      try snapshots.create(name, expires: expires, userInfo: userInfo, isAutomatic: false).info
    }
    return Snapshot(info, store)
  }

  /// Creates an automatic snapshot, and deletes those that the options no longer keep.
  func createAutomatic(_ userInfo: [String: String]) throws -> Snapshot {
    let retention = store.options.snapshotRetention
    let info = try change { (snapshots) throws(StoreError) in
      let info = try snapshots.createAutomatic("", userInfo: userInfo).info
      try snapshots.deleteSuperfluous(retention)
      return info
    }
    return Snapshot(info, store)
  }

  /// Returns the descriptions of all snapshots, in the order of creation.
  func all() throws(StoreError) -> [SnapshotInfo] {
    let session = try store.readSession()
    let shown = try Snapshots.ofAllLayers(session.storage, session.schema.tables)
      .filter { !$0.value.isHidden }
    return try shown.map { (name, value) throws(StoreError) in
      SnapshotInfo(name, value, modelVersion: try modelVersion(of: value, session))
    }
  }

  /// Returns the descriptions of the hidden bases of branches and drafts, in the order of creation.
  func bases() throws(StoreError) -> [SnapshotInfo] {
    let session = try store.readSession()
    let hidden = try Snapshots.all(session.storage, session.schema.tables).filter(\.value.isHidden)
    return try hidden.map { (name, value) throws(StoreError) in
      SnapshotInfo(name, value, modelVersion: try modelVersion(of: value, session))
    }
  }

  func named(_ name: String) throws(StoreError) -> Snapshot {
    let session = try store.readSession()
    let value = try Snapshots.existing(session.storage, store.schema.tables, name)
    if value.isHidden { throw Snapshots.notFound(name) }
    return Snapshot(SnapshotInfo(name, value, modelVersion: try modelVersion(of: value, session)), store)
  }

  private func modelVersion(of value: SnapshotValue, _ session: borrowing Session) throws(StoreError) -> String? {
    try schemas.schema(of: value, session.storage, store.schema).model.versionIdentifier
  }

  func delete(_ names: [String]) throws {
    try change { (snapshots) throws(StoreError) in
      snapshots.markDeleteOnly()
      try snapshots.delete(names)
    }
  }

  func deleteExpired() throws -> [String] {
    // Usually none is expired, so the write lock is not needed.
    let isNeeded = try all().contains { $0.isExpired() && $0.holds.isEmpty && !$0.isBase }
    guard try isNeeded || !CloneBase.namesOfOver(in: store.readSession()).isEmpty else { return [] }
    return try change { (snapshots) throws(StoreError) in
      snapshots.markDeleteOnly()
      return try snapshots.deleteExpired()
    }
  }

  /// Runs `body` in a separate write transaction that changes snapshots.
  func change<R>(_ body: (inout SnapshotManager) throws(StoreError) -> R) throws -> R {
    try retryIfMapFull {
      try store.runWrite(label: "snapshot", timeout: nil) { tx in try SnapshotManager.change(in: &tx, body) }
    }
  }

  // MARK: Reading

  /// Begins a transaction that sees the content of a snapshot.
  ///
  /// - Parameter byPresentModel: whether to use the store's own model, which has the same hash, instead of the
  ///   snapshot's.
  func session(of snapshot: Snapshot, byPresentModel: Bool = false) throws(StoreError) -> Session {
    let present = store.schema
    var storage = StorageTransaction(try store.engine.beginRead())
    try storage.showLayer(ofSnapshot: snapshot.name)
    let value = try Snapshots.existing(storage, present.tables, snapshot.name, epoch: snapshot.info.epoch)
    let own = try schemas.schema(of: value, storage, present)
    if byPresentModel { try present.requireReading(own, of: snapshot.name) }
    let schema = byPresentModel ? present : own
    // By the store's own model, as for the writer.
    let horizon = SnapshotHorizon(value, present.orderedLists)
    storage.interpose { SnapshotBackend($0, preimages: schema.tables.preimages, horizon) }
    var session = store.context.session(storage, schema)
    // If the snapshot shows only a part of its last commit, the one before is the last that is fully visible.
    session.shownCommit = value.isUnfinished ? value.commit - min(1, value.commit) : value.commit
    session.trustFetchIndexes(schema.codes.fetchIndexes == own.codes.fetchIndexes)
    return session
  }

  /// Begins a transaction that sees the content of a snapshot, or of the base of a branch.
  func session(ofTarget snapshot: Snapshot?) throws(StoreError) -> Session {
    if let snapshot { return try session(of: snapshot) }
    var session = try store.readSession()
    guard let branch = session.storage.branch else { throw Snapshots.notFound("of the base") }
    session.storage.interpose { _ in branch.base }
    return session
  }

  /// - Throws: `snapshotNotFound` for a snapshot of another store; this store may have one with the same name.
  func requireOwn(_ snapshot: Snapshot) throws(StoreError) {
    let number = (store.engine as? BranchEngine)?.number
    if snapshot.store.uuid == store.uuid, (snapshot.store.engine as? BranchEngine)?.number == number { return }
    throw StoreError(
      .snapshotNotFound, "the snapshot \(snapshot.name) belongs to another store or branch; use a snapshot of this one")
  }
}
