import KVCloneBranches
public import KVCloneCore
import KVCloneTracing

/// A read-only view of a named snapshot, with fetch requests, indexes, relationships and blobs.
///
/// ```swift
/// try store.createSnapshot(named: "before-import")
/// …
/// let before = try store.snapshot(named: "before-import")
/// let notes = try before.read { tx in try tx.fetch(FetchRequest("Note")) }
/// ```
///
/// Each read is a separate read transaction, and all reads show the same content. After the snapshot is deleted, new
/// reads throw `snapshotNotFound`, even if another snapshot has its name. A running read completes.
public final class Snapshot: Sendable {
  /// The description of the snapshot at the time of the lookup.
  public let info: SnapshotInfo
  /// The name of the snapshot.
  public var name: String { info.name }
  package let store: ObjectStore

  package init(_ info: SnapshotInfo, _ store: ObjectStore) {
    self.info = info
    self.store = store
  }

  /// Runs `body` in a read transaction of the snapshot, on this thread.
  ///
  /// - Returns: the result of `body`.
  /// - Throws: `snapshotNotFound`; errors of `body`.
  @available(*, noasync, message: "use the asynchronous form")
  public func read<R>(_ body: (borrowing ReadTransaction) throws -> R) throws -> R { try run(body) }

  /// Runs `body` in a read transaction of the snapshot, on the executor of the caller, or, for a store in a cluster,
  /// on a thread for reads. Reads never wait for writers.
  public func read<R: Sendable>(_ body: @Sendable (borrowing ReadTransaction) throws -> R) async throws -> R {
    guard let network = store.engine.network else { return try run(body) }
    return try await network.readThreads.run { try run(body) }
  }

  /// Begins a transaction that sees the snapshot; see ``StoreSnapshots/session(of:byPresentModel:)``.
  package func session(byPresentModel: Bool = false) throws(StoreError) -> Session {
    try StoreSnapshots(store).session(of: self, byPresentModel: byPresentModel)
  }

  private func run<R>(_ body: (borrowing ReadTransaction) throws -> R) throws -> R {
    try StoreSpan(.read, of: store.engine).run {
      let session = try session()
      let past = session.schema
      let transaction = ReadTransaction(session)
      do {
        return try body(transaction)
      } catch let error as StoreError where past.catalogNumber != store.schema.catalogNumber {
        throw error.naming(info, model: past.model, present: store.schema.model)
      }
    }
  }

  /// Returns the number of bytes that deleting the snapshot would free: preimages and blobs that only it needs.
  ///
  /// The duration is linear in the changes between the snapshot and the next one. For the oldest snapshot, it is nearly
  /// constant.
  ///
  /// - Throws: `snapshotNotFound`, `corrupted`.
  public func retainedBytes() throws(StoreError) -> UInt64 { try retainedBytes(isCancelled: { false }) }

  /// - Throws: also `cancelled`.
  package func retainedBytes(isCancelled: () -> Bool) throws(StoreError) -> UInt64 {
    var session = try store.readSession()
    try session.storage.showLayer(ofSnapshot: info.name)
    let value = try Snapshots.existing(session.storage, session.schema.tables, info.name, epoch: info.epoch)
    let all = try Snapshots.all(session.storage, session.schema.tables)
    return try PreimageSweeper(session).retainedByteCount(
      of: [value.epoch], among: all.map(\.value), isCancelled: isCancelled)
  }

  /// Adds a hold, which prevents the deletion of the snapshot until it is released. Repeating a hold with the same tag
  /// has no effect.
  ///
  /// - Parameter tag: the name of the hold: 1 to 128 characters from `A-Z`, `a-z`, `0-9`, `.`, `_` and `-`.
  /// - Throws: `invalidSnapshotName`, `snapshotNotFound`, `busy` and other errors of a write transaction.
  @available(*, noasync, message: "use the asynchronous form")
  public func hold(tag: String) throws { try setHold(tag) }

  /// Adds a hold from asynchronous code.
  public func hold(tag: String) async throws { try await store.onWriterQueue { try self.setHold(tag) } }

  /// Releases a hold.
  ///
  /// - Throws: `snapshotNotHeld`, `snapshotNotFound`, `busy` and other errors of a write transaction.
  @available(*, noasync, message: "use the asynchronous form")
  public func release(tag: String) throws { try endHold(tag) }

  /// Releases a hold from asynchronous code.
  public func release(tag: String) async throws { try await store.onWriterQueue { try self.endHold(tag) } }

  private func setHold(_ tag: String) throws {
    try StoreSnapshots(store).change { (snapshots) throws(StoreError) in
      try snapshots.hold(info.name, epoch: info.epoch, tag: tag)
    }
  }

  private func endHold(_ tag: String) throws {
    try StoreSnapshots(store).change { (snapshots) throws(StoreError) in
      try snapshots.releaseHold(info.name, epoch: info.epoch, tag: tag)
    }
  }
}
