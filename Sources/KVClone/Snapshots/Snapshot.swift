import KVCloneRecords

/// A named snapshot, to be read like the store: fetch requests with their indexes, relationships, large values.
///
/// ```swift
/// try store.createSnapshot(named: "before-import")
/// …
/// let before = try store.snapshot(named: "before-import")
/// let notes = try before.read { tx in try tx.fetch(FetchRequest("Note")) }
/// ```
///
/// Each read is a transaction of its own. They all see the same, until the snapshot is deleted: then they throw
/// `snapshotNotFound`, even if another one has its name by then. A read that has begun goes on.
public final class Snapshot: Sendable {
  /// What the store knew of it when it was asked for.
  public let info: SnapshotInfo
  /// Its name.
  public var name: String { info.name }
  let store: ObjectStore

  init(_ info: SnapshotInfo, _ store: ObjectStore) {
    self.info = info
    self.store = store
  }

  /// Reads what the snapshot shows. `body` runs on this thread.
  ///
  /// - Throws: `snapshotNotFound`; what `body` throws.
  @available(*, noasync, message: "use the asynchronous form")
  public func read<R>(_ body: (borrowing ReadTransaction) throws -> R) throws -> R { try run(body) }

  /// Reads what the snapshot shows, on the caller's own executor, because a read never waits.
  public func read<R: Sendable>(_ body: @Sendable (borrowing ReadTransaction) throws -> R) async throws -> R {
    try run(body)
  }

  private func run<R>(_ body: (borrowing ReadTransaction) throws -> R) throws -> R {
    let session = try store.snapshotSession(info.name, epoch: info.epoch)
    let past = session.schema
    let transaction = ReadTransaction(session)
    do {
      return try body(transaction)
    } catch let error as StoreError where past.catalogNumber != store.schema.catalogNumber {
      throw error.naming(info, model: past.model, present: store.schema.model)
    }
  }

  /// Bytes that deleting it would give back for new data: previous states that no other snapshot needs, and large values that no
  /// object has any more. Takes time linear in what was changed until the next snapshot; of the oldest one, hardly any.
  public func retainedBytes() throws(StoreError) -> UInt64 {
    let session = try store.readSession()
    let value = try session.existingSnapshot(info.name, epoch: info.epoch)
    let all = try Snapshots.all(session.storage, session.schema.tables)
    return try session.retainedByteCount(of: value, among: all.map(\.value))
  }

  /// Forbids its deletion, by anybody, until it is released. Who holds it already may do so again.
  ///
  /// - Parameter tag: in whose name: 1 to 128 characters out of A-Z, a-z, 0-9, point, underscore and hyphen.
  /// - Throws: `invalidSnapshotName`, `snapshotNotFound`, `busy` …
  @available(*, noasync, message: "use the asynchronous form")
  public func hold(tag: String) throws { try setHold(tag) }

  /// Forbids its deletion, from asynchronous code.
  public func hold(tag: String) async throws { try await store.onWriterQueue { try self.setHold(tag) } }

  /// Ends a hold.
  ///
  /// - Throws: `snapshotNotHeld`, `snapshotNotFound`, `busy` …
  @available(*, noasync, message: "use the asynchronous form")
  public func release(tag: String) throws { try endHold(tag) }

  /// Ends a hold, from asynchronous code.
  public func release(tag: String) async throws { try await store.onWriterQueue { try self.endHold(tag) } }

  private func setHold(_ tag: String) throws {
    try change { (session) throws(StoreError) in try session.hold(info.name, epoch: info.epoch, tag: tag) }
  }

  private func endHold(_ tag: String) throws {
    try change { (session) throws(StoreError) in try session.releaseHold(info.name, epoch: info.epoch, tag: tag) }
  }

  private func change(_ body: (inout Session) throws(StoreError) -> Void) throws {
    try onceMoreIfMapFull {
      try store.runWrite(label: "snapshot", timeout: nil) { tx in
        try tx.changeObjects { (session) throws(StoreError) in try body(&session) }
      }
    }
  }
}

extension ObjectStore {
  /// A transaction that sees what a snapshot shows.
  ///
  /// - Parameters:
  ///   - epoch: nil: whatever snapshot has the name.
  ///   - byPresentModel: it is read by the store's own model, which has the same hash, and not by its own.
  func snapshotSession(_ name: String, epoch: UInt64?, byPresentModel: Bool = false) throws(StoreError) -> Session {
    var storage = StorageTransaction(try engine.beginRead())
    guard let value = try Snapshots.find(storage, schema.tables, name), epoch == nil || epoch == value.epoch else {
      throw Snapshots.notFound(name)
    }
    let own = try snapshotSchemas.schema(of: value, storage, schema)
    if byPresentModel { try schema.requireReading(own, of: name) }
    let schema = byPresentModel ? schema : own
    // By the store's own, as the writer does.
    let horizon = SnapshotHorizon(value, self.schema.orderedLists)
    storage.interpose { SnapshotBackend($0, preimages: schema.tables.preimages, horizon) }
    var session = Session(
      storage: storage, schema: schema, commit: 0, storeUUID: uuid, serialFloor: serialFloor, engine: engine)
    // Of the last commit that it shows only a part, where that went on afterwards.
    session.shownCommit = value.isUnfinished ? value.commit - min(1, value.commit) : value.commit
    session.trustFetchIndexes(schema.codes.fetchIndexes == own.codes.fetchIndexes)
    return session
  }
}
