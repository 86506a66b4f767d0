#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif
import KVCloneRecords

/// Named snapshots: what the store showed at a time, for as long as they are not deleted, across restarts and crashes.
extension ObjectStore {
  /// Makes a snapshot of what the store shows now: one small record, however large the store is. From then on, what is changed
  /// is saved before it changes for the first time; what is new costs nothing.
  ///
  /// - Parameters:
  ///   - name: 1 to 128 characters out of A-Z, a-z, 0-9, point, underscore and hyphen; not beginning with `auto-`.
  ///   - expires: when it may go, see `deleteExpiredSnapshots()`; nil: it stays until it is deleted.
  ///   - userInfo: whatever is to be known of it.
  /// - Throws: `invalidSnapshotName`, `snapshotExists`, `busy`, `diskFull` …
  @available(*, noasync, message: "use the asynchronous form")
  @discardableResult
  public func createSnapshot(named name: String, expiresAt expires: Date? = nil, userInfo: [String: String] = [:])
    throws
    -> Snapshot
  {
    try makeSnapshot(name, expires, userInfo)
  }

  /// Makes a snapshot, from asynchronous code.
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

  /// Makes a snapshot that the store names itself, and deletes those of this kind that
  /// ``StoreOptions/snapshotRetention`` does not want any more, in the same transaction.
  @available(*, noasync, message: "use the asynchronous form")
  @discardableResult
  public func createAutomaticSnapshot(userInfo: [String: String] = [:]) throws -> Snapshot {
    try makeAutomaticSnapshot(userInfo)
  }

  /// Makes a snapshot that the store names itself, from asynchronous code.
  @discardableResult
  public func createAutomaticSnapshot(userInfo: [String: String] = [:]) async throws -> Snapshot {
    try await onWriterQueue { try self.makeAutomaticSnapshot(userInfo) }
  }

  private func makeAutomaticSnapshot(_ userInfo: [String: String]) throws -> Snapshot {
    let retention = options.snapshotRetention
    let info = try onceMoreIfMapFull {
      try runWrite(label: "snapshot", timeout: nil) { tx in
        try tx.changeObjects { (session) throws(StoreError) in
          let info = try session.createAutomaticSnapshot("", userInfo: userInfo)
          try session.deleteSuperfluousSnapshots(retention)
          return info
        }
      }
    }
    return Snapshot(info, self)
  }

  /// All named snapshots, in the order in which they were made.
  public func snapshots() throws(StoreError) -> [SnapshotInfo] {
    let session = try readSession()
    var infos: [SnapshotInfo] = []
    for (name, value) in try Snapshots.all(session.storage, session.schema.tables) {
      infos.append(SnapshotInfo(name, value, modelVersion: try modelVersion(of: value, session)))
    }
    return infos
  }

  /// The snapshot with a name.
  ///
  /// - Throws: `snapshotNotFound`.
  public func snapshot(named name: String) throws(StoreError) -> Snapshot {
    let session = try readSession()
    let value = try session.existingSnapshot(name)
    return Snapshot(SnapshotInfo(name, value, modelVersion: try modelVersion(of: value, session)), self)
  }

  private func modelVersion(of value: SnapshotValue, _ session: borrowing Session) throws(StoreError) -> String? {
    try snapshotSchemas.schema(of: value, session.storage, schema).model.versionIdentifier
  }

  /// Deletes snapshots, all or none, with the previous states that they alone need. Time and room follow what those are, and
  /// not the store's size. A name that is given twice is one snapshot.
  ///
  /// - Throws: `snapshotNotFound`, `snapshotHeld`, `busy`, `diskFull` …
  @available(*, noasync, message: "use the asynchronous form")
  public func deleteSnapshots(named names: [String]) throws { try drop(names) }

  /// Deletes snapshots, from asynchronous code.
  public func deleteSnapshots(named names: [String]) async throws { try await onWriterQueue { try self.drop(names) } }

  /// Deletes a snapshot; see `deleteSnapshots(named:)`.
  @available(*, noasync, message: "use the asynchronous form")
  public func deleteSnapshot(named name: String) throws { try drop([name]) }

  /// Deletes a snapshot, from asynchronous code.
  public func deleteSnapshot(named name: String) async throws { try await onWriterQueue { try self.drop([name]) } }

  private func drop(_ names: [String]) throws {
    try onceMoreIfMapFull {
      try runWrite(label: "snapshot", timeout: nil) { tx in
        try tx.changeObjects { (session) throws(StoreError) in
          try session.deleteSnapshots(names)
          session.storage.markDeleteOnly()
        }
      }
    }
  }

  /// Deletes the snapshots whose time is over and that nobody holds; their names. A store does not do so by itself.
  @available(*, noasync, message: "use the asynchronous form")
  @discardableResult
  public func deleteExpiredSnapshots() throws -> [String] { try dropExpired() }

  /// Deletes the snapshots whose time is over, from asynchronous code.
  @discardableResult
  public func deleteExpiredSnapshots() async throws -> [String] { try await onWriterQueue { try self.dropExpired() } }

  private func dropExpired() throws -> [String] {
    // Most of the time there is none, and no need to keep others from writing.
    guard try snapshots().contains(where: { $0.isExpired() && $0.holds.isEmpty }) else { return [] }
    return try onceMoreIfMapFull {
      try runWrite(label: "snapshot", timeout: nil) { tx in
        try tx.changeObjects { (session) throws(StoreError) in
          let now = Date().timeIntervalSinceReferenceDate
          let expired = try Snapshots.all(session.storage, session.schema.tables)
            .filter { $0.value.holds.isEmpty && ($0.value.expires ?? .infinity) <= now }.map(\.name)
          try session.deleteSnapshots(expired)
          session.storage.markDeleteOnly()
          return expired
        }
      }
    }
  }
}

extension WriteTransaction {
  /// Makes a snapshot of what this transaction sees now; see `ObjectStore.createSnapshot(named:expiresAt:userInfo:)`. What the
  /// transaction has changed before is in it, what it changes afterwards is not. The rules of the model are checked when
  /// the transaction commits, and so for its end alone.
  @discardableResult
  public mutating func createSnapshot(
    named name: String, expiresAt expires: Date? = nil, userInfo: [String: String] = [:]
  ) throws(StoreError) -> SnapshotInfo {
    try changeObjects { (session) throws(StoreError) in
      let value = try session.createSnapshot(name, expires: expires, userInfo: userInfo, isAutomatic: false)
      return SnapshotInfo(name, value, modelVersion: session.schema.model.versionIdentifier)
    }
  }
}

extension Session {
  /// Makes a snapshot with a name that tells when and why.
  ///
  /// - Parameter purpose: a word, or nothing.
  mutating func createAutomaticSnapshot(_ purpose: String, userInfo: [String: String]) throws(StoreError)
    -> SnapshotInfo
  {
    let time = Date().formatted(.iso8601.dateSeparator(.omitted).timeSeparator(.omitted))
    // Two in one second are of different commits, or of one that has made more than one.
    var name = SnapshotName.automaticPrefix + (purpose.isEmpty ? "" : purpose + "-") + "\(time)-\(commit)"
    if try Snapshots.find(storage, schema.tables, name) != nil { name += "-\(try counter(MetadataKey.epoch))" }
    let value = try createSnapshot(name, expires: nil, userInfo: userInfo, isAutomatic: true)
    return SnapshotInfo(name, value, modelVersion: schema.model.versionIdentifier)
  }

  /// Deletes the automatic snapshots that a policy does not want any more.
  mutating func deleteSuperfluousSnapshots(
    _ retention: SnapshotRetention, sparing kept: String? = nil
  ) throws(StoreError) {
    let automatic = try Snapshots.all(storage, schema.tables).filter(\.value.isAutomatic)
    let superfluous = Set(retention.superfluous(automatic.map { ($0.name, $0.value.created) }))
    // What is held stays, and what was made just now.
    let youngest = automatic.last?.name
    try deleteSnapshots(
      automatic.filter {
        superfluous.contains($0.name) && $0.value.holds.isEmpty && $0.name != youngest && $0.name != kept
      }.map(\.name))
  }
}
