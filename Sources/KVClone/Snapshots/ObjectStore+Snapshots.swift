#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif
public import KVCloneCore
import KVCloneModel
import KVCloneRecords

/// Named snapshots: what the store showed at a time, for as long as they are not deleted, across restarts and crashes.
extension ObjectStore {
  /// The schemas of model versions by which snapshots are read.
  var snapshotSchemas: SnapshotSchemas { attachments.value(of: SnapshotSchemas.self) }

  /// Creates a named snapshot of the current state. It writes one small record, regardless of the size of the store.
  ///
  /// Afterwards, the first change of each existing entry also writes its preimage. New entries have no extra cost.
  ///
  /// - Parameters:
  ///   - name: 1 to 128 characters from `A-Z`, `a-z`, `0-9`, `.`, `_` and `-`, without the prefix `auto-`.
  ///   - expires: the time after which `deleteExpiredSnapshots()` deletes it; nil if it stays until it is deleted by
  ///     name.
  ///   - userInfo: key-value pairs for the description of the snapshot.
  /// - Returns: the snapshot.
  /// - Throws: `invalidSnapshotName`, `snapshotExists`, `busy`, `diskFull` and other errors of a write transaction.
  @available(*, noasync, message: "use the asynchronous form")
  @discardableResult
  public func createSnapshot(named name: String, expiresAt expires: Date? = nil, userInfo: [String: String] = [:])
    throws
    -> Snapshot
  {
    try makeSnapshot(name, expires, userInfo)
  }

  /// Creates a named snapshot from asynchronous code.
  @discardableResult
  public func createSnapshot(named name: String, expiresAt expires: Date? = nil, userInfo: [String: String] = [:])
    async throws -> Snapshot
  {
    try await onWriterQueue { try self.makeSnapshot(name, expires, userInfo) }
  }

  private func makeSnapshot(_ name: String, _ expires: Date?, _ userInfo: [String: String]) throws -> Snapshot {
    let info = try onceMoreIfMapFull {
      try runWrite(label: "snapshot", timeout: nil) { tx in
        try tx.createSnapshot(named: name, expiresAt: expires, userInfo: userInfo)
      }
    }
    return Snapshot(info, self)
  }

  /// Creates an automatic snapshot with a generated name, and deletes automatic snapshots that
  /// ``StoreOptions/snapshotRetention`` no longer keeps, in the same transaction.
  ///
  /// - Throws: `busy`, `diskFull` and other errors of a write transaction.
  @available(*, noasync, message: "use the asynchronous form")
  @discardableResult
  public func createAutomaticSnapshot(userInfo: [String: String] = [:]) throws -> Snapshot {
    try makeAutomaticSnapshot(userInfo)
  }

  /// Creates an automatic snapshot from asynchronous code.
  @discardableResult
  public func createAutomaticSnapshot(userInfo: [String: String] = [:]) async throws -> Snapshot {
    try await onWriterQueue { try self.makeAutomaticSnapshot(userInfo) }
  }

  private func makeAutomaticSnapshot(_ userInfo: [String: String]) throws -> Snapshot {
    let retention = options.snapshotRetention
    let info = try onceMoreIfMapFull {
      try runWrite(label: "snapshot", timeout: nil) { tx in
        try tx.changeSnapshots { (snapshots) throws(StoreError) in
          let info = try snapshots.createAutomatic("", userInfo: userInfo).info
          try snapshots.deleteSuperfluous(retention)
          return info
        }
      }
    }
    return Snapshot(info, self)
  }

  /// Returns the descriptions of all named snapshots, in the order of creation.
  public func snapshots() throws(StoreError) -> [SnapshotInfo] {
    let session = try readSession()
    var infos: [SnapshotInfo] = []
    for (name, value) in try Snapshots.all(session.storage, session.schema.tables) {
      infos.append(SnapshotInfo(name, value, modelVersion: try modelVersion(of: value, session)))
    }
    return infos
  }

  /// Returns the snapshot with a name.
  ///
  /// - Throws: `snapshotNotFound`.
  public func snapshot(named name: String) throws(StoreError) -> Snapshot {
    let session = try readSession()
    let value = try Snapshots.existing(session.storage, schema.tables, name)
    return Snapshot(SnapshotInfo(name, value, modelVersion: try modelVersion(of: value, session)), self)
  }

  private func modelVersion(of value: SnapshotValue, _ session: borrowing Session) throws(StoreError) -> String? {
    try snapshotSchemas.schema(of: value, session.storage, schema).model.versionIdentifier
  }

  /// Deletes named snapshots, and the preimages that only they need. Deletes either all of them or none.
  ///
  /// Time and space depend on the number of these preimages, not on the size of the store. A name that occurs twice
  /// counts once.
  ///
  /// - Throws: `snapshotNotFound`, `snapshotHeld`, `busy`, `diskFull` and other errors of a write transaction.
  @available(*, noasync, message: "use the asynchronous form")
  public func deleteSnapshots(named names: [String]) throws { try drop(names) }

  /// Deletes named snapshots from asynchronous code.
  public func deleteSnapshots(named names: [String]) async throws { try await onWriterQueue { try self.drop(names) } }

  /// Deletes a named snapshot; see `deleteSnapshots(named:)`.
  @available(*, noasync, message: "use the asynchronous form")
  public func deleteSnapshot(named name: String) throws { try drop([name]) }

  /// Deletes a named snapshot from asynchronous code.
  public func deleteSnapshot(named name: String) async throws { try await onWriterQueue { try self.drop([name]) } }

  private func drop(_ names: [String]) throws {
    try onceMoreIfMapFull {
      try runWrite(label: "snapshot", timeout: nil) { tx in
        try tx.changeSnapshots { (snapshots) throws(StoreError) in
          try snapshots.delete(names)
          snapshots.markDeleteOnly()
        }
      }
    }
  }

  /// Deletes the expired snapshots without holds, and returns their names. A store never does this automatically.
  @available(*, noasync, message: "use the asynchronous form")
  @discardableResult
  public func deleteExpiredSnapshots() throws -> [String] { try dropExpired() }

  /// Deletes the expired snapshots without holds, from asynchronous code.
  @discardableResult
  public func deleteExpiredSnapshots() async throws -> [String] { try await onWriterQueue { try self.dropExpired() } }

  private func dropExpired() throws -> [String] {
    // Most of the time there is none, and no need to keep others from writing.
    guard try snapshots().contains(where: { $0.isExpired() && $0.holds.isEmpty }) else { return [] }
    return try onceMoreIfMapFull {
      try runWrite(label: "snapshot", timeout: nil) { tx in
        try tx.changeSnapshots { (snapshots) throws(StoreError) in
          let expired = try snapshots.deleteExpired()
          snapshots.markDeleteOnly()
          return expired
        }
      }
    }
  }
}

extension WriteTransaction {
  /// Creates a named snapshot of the current state of this transaction; see
  /// `ObjectStore.createSnapshot(named:expiresAt:userInfo:)`.
  ///
  /// It contains the earlier changes of the transaction, but not the later ones. The rules of the model are validated
  /// at the commit, and only for the final state.
  ///
  /// - Throws: `invalidSnapshotName`, `snapshotExists` and other ``StoreError``.
  @discardableResult
  public mutating func createSnapshot(
    named name: String, expiresAt expires: Date? = nil, userInfo: [String: String] = [:]
  ) throws(StoreError) -> SnapshotInfo {
    try changeSnapshots { (snapshots) throws(StoreError) in
      try snapshots.create(name, expires: expires, userInfo: userInfo, isAutomatic: false).info
    }
  }

  /// Changes the snapshots of the store; like `changeObjects`.
  mutating func changeSnapshots<R>(_ body: (inout SnapshotManager) throws(StoreError) -> R) throws(StoreError) -> R {
    try changeObjects { (session) throws(StoreError) in try SnapshotManager.own(&session, body) }
  }
}
